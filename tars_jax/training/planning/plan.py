"""A compiled program to what it costs, and several of them to what fits."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Sequence

import jax
from jax.sharding import Mesh

from tars_jax.training.planning.chips import Slice
from tars_jax.training.planning.collectives import find_collectives
from tars_jax.training.planning.hlo import parse
from tars_jax.training.planning.operations import count_flops, count_traffic, silent_kernels
from tars_jax.training.planning.roofline import Assumptions, CollectiveSum, Roofline, roofline, sum_collectives


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of HBM on one chip, as the compiler lays the program out."""

    arguments: float  # parameters, optimiser, batch
    outputs: float  # beyond those that take the arguments' place
    temporaries: float  # activations, gradients, gathered parameters
    code: float

    @property
    def total(self) -> float:
        return self.arguments + self.outputs + self.temporaries + self.code


@dataclasses.dataclass(frozen=True)
class ProgramPlan:
    """One program on one slice; quantities are those of one chip and one run."""

    name: str
    lower_seconds: float
    compile_seconds: float
    useful_flops: float  # of all chips
    tokens: int  # of all chips
    refused: str = ""  # what the compiler says when the program does not fit; nothing below is known then
    memory: Memory | None = None
    flops: float = 0.0
    traffic: float = 0.0
    collectives: tuple[CollectiveSum, ...] = ()
    roofline: Roofline | None = None
    notes: tuple[str, ...] = ()


def plan_program(
    name: str,
    lowered: jax.stages.Lowered,
    lower_seconds: float,
    mesh: Mesh,
    slice_: Slice,
    assumptions: Assumptions,
    *,
    useful_flops: float,
    tokens: int,
    keep_text: bool = False,
) -> tuple[ProgramPlan, str]:
    """Compiles, and reads what came out. Also returns the program's text, if it is to be kept."""
    start = time.monotonic()
    try:
        compiled = lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        if (refused := out_of_memory(str(error))) is None:
            raise
        seconds = time.monotonic() - start
        return ProgramPlan(name, lower_seconds, seconds, useful_flops, tokens, refused), ""
    compile_seconds = time.monotonic() - start
    text = str(compiled.as_text())
    program = parse(text)
    flops, traffic = count_flops(program), count_traffic(program)
    collectives = sum_collectives(find_collectives(program, len(slice_.devices)), mesh, slice_)
    plan = ProgramPlan(
        name,
        lower_seconds,
        compile_seconds,
        useful_flops,
        tokens,
        memory=_memory(compiled.memory_analysis()),
        flops=flops,
        traffic=traffic,
        collectives=collectives,
        roofline=roofline(flops, traffic, collectives, useful_flops, slice_, assumptions),
        notes=_notes(program.unknown_loops, silent_kernels(program)),
    )
    return plan, text if keep_text else ""


def out_of_memory(message: str) -> str | None:
    """The compiler's sentence on HBM that does not suffice; None for another error."""
    found = re.search(r"Ran out of memory in memory space hbm[^\n]*", message)
    return found.group() if found else None


def _memory(analysis: object) -> Memory:
    def size(name: str) -> float:
        return float(getattr(analysis, f"{name}_size_in_bytes"))

    return Memory(size("argument"), size("output") - size("alias"), size("temp"), size("generated_code"))


def _notes(unknown_loops: int, silent: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if unknown_loops:
        notes.append(f"{unknown_loops} loops of unknown length are counted as one round")
    if silent:
        notes.append(f"kernels that state no cost are not counted: {', '.join(silent)}")
    return tuple(notes)
