"""Programs compiled for a topology, kept on disk: what a large one says takes many minutes to get and is read again for
other assumptions."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import importlib.metadata
import json
import pathlib
import re
import time

import jax

from tars_jax.files import write_atomic


@dataclasses.dataclass(frozen=True)
class ChipMemory:
    """Bytes on one chip, as the compiler lays the program out."""

    arguments: float  # parameters, optimizer, batch
    outputs: float  # beyond those that take the arguments' place
    temporaries: float  # activations, gradients, gathered parameters
    code: float
    host: float = 0.0  # not of the chip: temporaries in the memory of its host

    @property
    def total(self) -> float:
        """Total bytes of memory on the chip."""
        return self.arguments + self.outputs + self.temporaries + self.code


@dataclasses.dataclass(frozen=True)
class Compiled:
    """A compiled program, or the reason why the compiler failed."""

    seconds: float  # that it took, when it was compiled
    text: str = ""
    memory: ChipMemory | None = None
    refused: str = ""  # its sentence when the program does not fit; nothing else is known then


def compile_program(lowered: jax.stages.Lowered, topology: str, store: pathlib.Path | None) -> Compiled:
    """Compiles, or takes what `store` holds of the same program, topology and compiler."""
    path = None if store is None else store / f"{_fingerprint(lowered, topology)}.json.gz"
    if path is not None and path.exists():
        kept = json.loads(gzip.decompress(path.read_bytes()))
        memory = kept["memory"] and ChipMemory(**kept["memory"])
        return Compiled(kept["seconds"], kept["text"], memory, kept["refused"])
    start = time.monotonic()
    try:
        program = lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        if (refused := out_of_memory(str(error))) is None:
            raise
        found = Compiled(time.monotonic() - start, refused=refused)
    else:
        seconds = time.monotonic() - start
        found = Compiled(seconds, str(program.as_text()), _memory(program.memory_analysis()))
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, gzip.compress(json.dumps(dataclasses.asdict(found)).encode()))
    return found


def out_of_memory(message: str) -> str | None:
    """The compiler's sentence on memory of the chip or of its host that does not suffice; None for another error."""
    found = re.search(r"Ran out of memory (in memory space (hbm|host)|on HBM)[^\n]*", message)
    return found.group() if found else None


def _fingerprint(lowered: jax.stages.Lowered, topology: str) -> str:
    whole = "\n".join([topology, importlib.metadata.version("libtpu"), lowered.as_text()])
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def _memory(analysis: object) -> ChipMemory:
    def size(name: str) -> float:
        return float(getattr(analysis, f"{name}_size_in_bytes"))

    outputs = size("output") - size("alias")
    return ChipMemory(size("argument"), outputs, size("temp"), size("generated_code"), size("host_temp"))
