"""A compiled program to what it costs on a slice."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jax.sharding import Mesh

from tars_jax.training.planning.chips import Slice
from tars_jax.training.planning.collectives import find_collectives
from tars_jax.training.planning.compiled import ChipMemory, Compiled
from tars_jax.training.planning.hlo import parse
from tars_jax.training.planning.operations import count_flops, count_seconds, count_traffic, silent_kernels
from tars_jax.training.planning.roofline import Assumptions, CollectiveSum, Roofline, roofline, sum_collectives


@dataclasses.dataclass(frozen=True)
class ProgramPlan:
    """One program on one slice; quantities are those of one chip and one run."""

    name: str
    compile_seconds: float
    useful_flops: float  # of all chips
    tokens: int  # of all chips
    refused: str = ""  # what the compiler says when the program does not fit; nothing below is known then
    memory: ChipMemory | None = None
    flops: float = 0.0
    traffic: float = 0.0
    collectives: tuple[CollectiveSum, ...] = ()
    roofline: Roofline | None = None
    notes: tuple[str, ...] = ()

    @property
    def learns(self) -> bool:
        """Whether it is the learner's; else the engine's."""
        return self.name.endswith("update")


def plan_program(
    name: str,
    compiled: Compiled,
    mesh: Mesh,
    slice_: Slice,
    assumptions: Assumptions,
    *,
    useful_flops: float,
    tokens: int,
    rounds: int = 1,
) -> ProgramPlan:
    """Reads what the compiler made of a program; `rounds` are those of a loop that says its length when it runs."""
    if compiled.refused:
        return ProgramPlan(name, compiled.seconds, useful_flops, tokens, compiled.refused)
    program, chip = parse(compiled.text, rounds), slice_.chip
    flops, traffic = count_flops(program), count_traffic(program)
    busy = count_seconds(program, chip.peak_flops * assumptions.matmul_efficiency, chip.hbm_bandwidth)
    collectives = sum_collectives(find_collectives(program, len(slice_.devices)), mesh, slice_)
    return ProgramPlan(
        name,
        compiled.seconds,
        useful_flops,
        tokens,
        memory=compiled.memory,
        flops=flops,
        traffic=traffic,
        collectives=collectives,
        roofline=roofline(flops, traffic, busy, collectives, useful_flops, slice_, assumptions),
        notes=_notes(program.unknown_loops, rounds, silent_kernels(program)),
    )


def _notes(unknown_loops: int, rounds: int, silent: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if unknown_loops:
        notes.append(f"{unknown_loops} loops of unknown length are counted as {rounds} round{'s'[: rounds > 1]}")
    if silent:
        notes.append(f"kernels that state no cost are not counted: {', '.join(silent)}")
    return tuple(notes)
