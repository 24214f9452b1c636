"""Roofline: the least time of a compiled program, and the share of the chips' peak that is then useful work."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from jax.sharding import Mesh

from tars_jax.training.planning.chips import Slice
from tars_jax.training.planning.collectives import Collective, seconds, wires


@dataclasses.dataclass(frozen=True)
class Assumptions:
    """Assumptions that the text of a program does not contain."""

    matmul_efficiency: float = 0.8  # share of the peak that matrix products reach; assumed, not measured


@dataclasses.dataclass(frozen=True)
class CollectiveSum:
    """All collectives of one kind over the same axes of the mesh."""

    kind: str
    axes: tuple[str, ...]  # of the mesh
    chips: int  # in a group
    count: int  # in one run of the program
    payload: float  # bytes, in one run of the program
    seconds: float


@dataclasses.dataclass(frozen=True)
class Roofline:
    """Seconds of one run. Utilization is useful operations over what all chips could do in that time."""

    compute: float  # all operations
    memory: float  # all traffic with HBM
    busy: float  # instructions one after the other, each the longer of its compute and its memory
    wires: float  # collectives, one after the other
    overlapped: float  # the longest of compute, memory and wires: the roofline
    serial: float  # nothing hides behind anything else: busy, then the collectives
    utilization_overlapped: float
    utilization: float  # of the serial time: the one to plan with


def sum_collectives(collectives: Sequence[Collective], mesh: Mesh, slice_: Slice) -> tuple[CollectiveSum, ...]:
    """Sums collectives by kind and mesh axes, the slowest first."""
    dimensions = len(slice_.sides)
    places = np.array([device.coords[:dimensions] for device in mesh.devices.flat])
    sums: dict[tuple[str, tuple[str, ...], int], np.ndarray] = defaultdict(lambda: np.zeros(3))
    for each in collectives:
        on = wires(each.group, places, slice_)
        one = seconds(each.kind, each.payload, len(each.group), on)
        key = (each.kind, mesh_axes(each.group, mesh), len(each.group))
        sums[key] += each.runs * np.array([1, each.payload, one])
    found = (CollectiveSum(*key, int(count), payload, time) for key, (count, payload, time) in sums.items())
    return tuple(sorted(found, key=lambda each: -each.seconds))


def mesh_axes(group: Sequence[int], mesh: Mesh) -> tuple[str, ...]:
    """The axes along which the devices of a group differ."""
    at = np.array(np.unravel_index(list(group), mesh.devices.shape))
    return tuple(name for name, line in zip(mesh.axis_names, at, strict=True) if np.unique(line).size > 1)


def roofline(
    flops: float,
    traffic: float,
    busy: float,
    collectives: Sequence[CollectiveSum],
    useful_flops: float,
    slice_: Slice,
    assumptions: Assumptions,
) -> Roofline:
    """`flops`, `traffic` (bytes) and `busy` (seconds) are those of one chip, `useful_flops` of all chips."""
    chip = slice_.chip
    compute = flops / (chip.peak_flops * assumptions.matmul_efficiency)
    memory = traffic / chip.hbm_bandwidth
    wires_ = sum(each.seconds for each in collectives)
    overlapped, serial = max(compute, memory, wires_), busy + wires_
    possible = chip.peak_flops * len(slice_.devices)
    return Roofline(
        compute,
        memory,
        busy,
        wires_,
        overlapped,
        serial,
        useful_flops / (possible * overlapped) if overlapped else 0.0,
        useful_flops / (possible * serial) if serial else 0.0,
    )
