"""The process that measures: entries on its standard input, a line of JSON in a file for each when it is done.

An error is a line, too. After one of the device's (out of memory, a fault of a kernel) the process ends, since nothing
is known of the device then; whoever started it starts another for the rest.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import pathlib
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import jax

from experiments.gpu.entries import Entry
from experiments.gpu.layers import Row, measure_attention, measure_copy, measure_experts, measure_matmul
from experiments.gpu.policies import measure_decode, measure_update
from experiments.gpu.timing import Patience

MEASURE: dict[str, Callable[[Any, Entry, Patience], Row]] = {
    "matmul": measure_matmul,
    "copy": measure_copy,
    "attention": measure_attention,
    "experts": measure_experts,
    "update": measure_update,
    "decode": measure_decode,
}
DEVICE_FAILED = 3  # exit code
LONGEST_MESSAGE = 300


def main() -> int:
    request = json.load(sys.stdin)
    return work(request["config"], [Entry(**each) for each in request["entries"]], pathlib.Path(request["rows"]))


def work(config: Any, entries: Sequence[Entry], path: pathlib.Path) -> int:
    """Measures the entries in order, and appends to the file at `path`."""
    patience = Patience(config["warmups"], config["repeats"], config["seconds"])
    device = describe_device()
    parent = os.getppid()
    for entry in entries:
        if os.getppid() != parent:
            return 0  # nobody waits for this any more
        row: Row = {"name": entry.name, **{key: value for key, value in vars(entry).items() if value}}
        failed = False
        try:
            row |= MEASURE[entry.kind](config, entry, patience)
        except Exception as error:
            traceback.print_exc()
            failed = isinstance(error, jax.errors.JaxRuntimeError)
            row |= {"error": brief(error)}
        with path.open("a") as file:
            file.write(json.dumps({**row, "device": device}) + "\n")
        if failed:
            return DEVICE_FAILED
        gc.collect()
    return 0


def brief(error: Exception) -> str:
    """One line of an error's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:LONGEST_MESSAGE]


def describe_device() -> dict[str, Any]:
    device = jax.local_devices()[0]
    packages = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda13-plugin", "flax", "tokamax", "qwix")
    return {
        "kind": device.device_kind,
        "platform": device.platform,
        "client": device.client.platform_version.splitlines()[0],
        "memory_bytes": (device.memory_stats() or {}).get("bytes_limit", 0),
        "packages": {name: version for name in packages if (version := _version(name))},
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
