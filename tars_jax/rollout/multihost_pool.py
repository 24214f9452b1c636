"""The pools of several processes as one: each fills its own, with its share of the numbers, in one folder.

Every process takes a batch of its own; together they are the batch of the update, which all make. `gather` gives what
every process gave, in the order of the processes; all call these functions in the same order.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tars_jax.rollout.ledger import trajectory_path
from tars_jax.rollout.mixed_pool import MixedPool
from tars_jax.rollout.pool import RolloutPool
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory

Gather = Callable[[Any], list[Any]]


class Batch(NamedTuple):
    """Batch of all processes, in their order."""

    trajectories: list[Trajectory]
    left_out: list[Trajectory]  # filtered while the batch filled up: nobody learns from them, a curriculum may


def take(pool: RolloutPool | MixedPool, gather: Gather) -> Batch | None:
    """The next batch; None while this process has none. Who has one waits for the others.

    What others played is read from the folder, which all share. Raises InputError for a missing or damaged file.
    """
    own = pool.take()
    if own is None:
        return None
    ledger, left_out = pool.ledger(), pool.left_out()
    numbers = ledger["consumed"][-1], ledger["filtered"][-1]
    parts = gather(numbers)
    here = dict(zip(_joined(numbers), [*own, *left_out], strict=True))

    def read(numbers: Sequence[int]) -> list[Trajectory]:
        return [here[each] if each in here else load_trajectory(trajectory_path(pool.folder, each)) for each in numbers]

    consumed, filtered = (_joined(part) for part in zip(*parts, strict=True))
    return Batch(read(consumed), read(filtered))


def ledger(pool: RolloutPool | MixedPool, gather: Gather) -> dict[str, Any]:
    """Ledger of all processes, in the form of `RolloutPool.ledger`."""
    every = gather(pool.ledger())
    batches = {
        name: [_joined(batch) for batch in zip(*(each[name] for each in every), strict=True)]
        for name in ("consumed", "filtered")
    }
    return {**batches, "tasks": {group: task for each in every for group, task in each["tasks"].items()}}


def counts(pool: RolloutPool | MixedPool, gather: Gather) -> dict[str, int]:
    """Number of episodes in each state, over all processes."""
    total: collections.Counter[str] = collections.Counter()
    for each in gather(pool.counts()):
        total.update(each)
    return dict(total)


def _joined(parts: Sequence[list[int]]) -> list[int]:
    return [number for part in parts for number in part]
