"""Collectives of a compiled program: their bytes, and the time that they take on the wires.

A collective's payload is the array of one group: of an all-gather what a chip has afterwards, of the others what it has
before.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence

import numpy as np

from tars_jax.training.planning.chips import Slice
from tars_jax.training.planning.hlo import Computation, Instruction, Program

KINDS = ("all-gather", "reduce-scatter", "all-reduce", "all-to-all", "ragged-all-to-all", "collective-permute")


@dataclasses.dataclass(frozen=True)
class Collective:
    """One collective of the program's text."""

    kind: str
    group: tuple[int, ...]  # devices of the first group, as numbered by the mesh
    payload: float  # bytes
    runs: int


@dataclasses.dataclass(frozen=True)
class Wires:
    """Layout of a group on the grid: one entry for each direction of the grid in which its chips differ."""

    lengths: tuple[int, ...]  # chips
    bandwidths: tuple[float, ...]  # bytes/s into one chip

    @property
    def bandwidth(self) -> float:
        return sum(self.bandwidths)


def find_collectives(program: Program, devices: int) -> tuple[Collective, ...]:
    """Each collective of more than one chip once, though the compiler cuts some into pieces among other work."""
    found = []
    for computation, instruction, runs in program.instructions():
        kind = _kind(computation, instruction)
        if kind is None or _continues(computation):
            continue
        payload = sum(shape.bytes for shape in computation.shapes(instruction))
        group = replica_group(instruction.attributes, devices)
        if kind == "all-gather":
            payload *= len(group)
        if len(group) > 1:
            found.append(Collective(kind, group, payload, runs))
    return tuple(found)


def is_collective(computation: Computation, instruction: Instruction) -> bool:
    """Whether an instruction outside of fusions does nothing but send and receive."""
    inner = (callee for _, callee in instruction.called if instruction.opcode == "fusion")
    return _kind(computation, instruction) is not None or any(name.startswith("all-reduce-scatter") for name in inner)


def _continues(computation: Computation) -> bool:
    """Whether a fusion holds a later piece of a collective, whose first piece is the fusion that starts it."""
    targets = (each.attributes for each in computation.instructions.values() if each.opcode == "custom-call")
    return computation.name.startswith("async_collective_fusion") or any("AsyncCollectiveDone" in it for it in targets)


def _kind(computation: Computation, instruction: Instruction) -> str | None:
    kind = instruction.opcode.removesuffix("-start")
    if kind == "all-reduce" and computation.name.startswith("all-reduce-scatter"):
        return "reduce-scatter"  # the TPU compiler's form of it: an all-reduce and a slice in one fusion
    return kind if kind in KINDS else None


def replica_group(attributes: str, devices: int) -> tuple[int, ...]:
    """The first group of devices that a collective joins, from any of the forms that the text has for it."""
    if found := re.search(r"source_target_pairs=\{\{(\d+),(\d+)\}", attributes):
        return int(found.group(1)), int(found.group(2))
    if found := re.search(r"replica_groups=\{\{([\d,]+)\}", attributes):
        return tuple(map(int, found.group(1).split(",")))
    if found := re.search(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", attributes):
        groups = _numbers(found.group(1))[0]
        return tuple(_counted(found.group(2), found.group(3)).reshape(groups, -1)[0].tolist())
    ids = r"(?:, device_ids=\(\[([\d,]+)\](?:T\(([\d,]+)\))?\))?"
    if found := re.search(r"replica_groups=mesh\[([^\]]*)\]" + ids + r" \{([^}]*)\}", attributes):
        mesh, sizes, order, axes = found.groups()
        return _mesh_group(mesh, axes, _counted(sizes or str(devices), order))
    if re.search(r"replica_groups=(?!\{\})", attributes):
        raise ValueError(f"groups of a form that is not known here: {attributes[:300]}")
    return tuple(range(devices))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _counted(sizes: str, order: str | None) -> np.ndarray:
    """Devices in turn in an array of these sizes, with its axes in another order: [2,3]T(1,0)."""
    ids = np.arange(math.prod(_numbers(sizes))).reshape(_numbers(sizes))
    return ids.transpose(_numbers(order)) if order else ids


def _mesh_group(mesh: str, axes: str, ids: np.ndarray) -> tuple[int, ...]:
    """Parses a group of the form mesh['a'=2,'b'=4] {'b'}; an axis may be split, 'b':(1)2 being its first half."""
    sizes = {name: int(size) for name, size in re.findall(r"'(\w+)'=(\d+)", mesh)}
    wanted = {name: (before, size) for name, before, size in re.findall(r"'(\w+)'(?::\((\d+)\)(\d+))?", axes)}
    shape: list[int] = []
    chosen: list[bool] = []
    for name, size in sizes.items():
        before, part = wanted.get(name, ("", ""))
        split = (int(before), int(part), size // int(before) // int(part)) if part else (1, size, 1)
        chosen += [False, name in wanted, False]
        shape += split
    ids = ids.reshape(shape)
    return tuple(ids[tuple(slice(None) if keep else 0 for keep in chosen)].ravel().tolist())


def wires(group: Sequence[int], places: np.ndarray, slice_: Slice) -> Wires:
    """Finds how a group of devices lies on the grid; `places` [devices, dimensions] in the order of the mesh."""
    at = places[list(group)]
    lengths, bandwidths = [], []
    for dimension, side in enumerate(slice_.sides):
        values = np.unique(at[:, dimension])
        if values.size > 1:
            # A group that fills a side which closes to a ring hears from both neighbors. Groups whose chips do not
            # stand beside each other share the wires between them.
            ring = values.size == side and side % slice_.chip.ring_multiple == 0
            lengths.append(values.size)
            bandwidths.append(slice_.chip.link_bandwidth * (2 if ring else 1) / int(np.diff(values).min()))
    return Wires(tuple(lengths), tuple(bandwidths))


def seconds(kind: str, payload: float, size: int, on: Wires) -> float:
    """Seconds of one collective of `size` chips, limited by bandwidth alone.

    all-gather, reduce-scatter: V (n - 1) / n bytes enter each chip. all-reduce: one after the other.
    all-to-all: in the longest direction of n chips, half of V crosses the middle, n V / 4 bytes a wire on a line and
    half of that on a ring, which has twice the bandwidth: V n / (4 W) in both cases.
    collective-permute: V over one wire.
    """
    if not on.lengths:
        return 0.0
    if kind == "collective-permute":
        return payload / min(on.bandwidths)
    if kind.endswith("all-to-all"):
        return max(payload * n / (4 * w) for n, w in zip(on.lengths, on.bandwidths, strict=True))
    return payload * (size - 1) / size / on.bandwidth * (2 if kind == "all-reduce" else 1)
