"""Pools of a mixture: exact shares, each part by itself, and what becomes of a batch when a part is away."""

from __future__ import annotations

import collections
import json
import random
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.rollout.config import PoolConfig, Share
from tars_jax.rollout.mixed_pool import LOST_OF_PART, MixedPool, shares
from tars_jax.rollout.pool import MOST_FILTERED
from tars_jax.rollout.rollout_workers import EpisodeRunner
from tars_jax.rollout.sources import Assignment
from tars_jax.trajectory import Outcome, Trajectory
from tests.rollout.test_sources import Played, player

WEIGHTS = {"clicks": 2.0, "calls": 1.0}
ROOMY = dict.fromkeys(("clicks", "calls"), 1.0)


def pool_in(
    folder: Path, min_batch: int = 12, group_size: int = 2, ledger: Any = None, weights: Any = None, tell: Any = None,
    **options: Any,
) -> MixedPool:  # fmt: skip
    config = PoolConfig(min_batch, options.pop("max_staleness", 1), group_size, **options)
    return MixedPool(folder, config, ledger, weights or WEIGHTS, tell or (lambda line: None))


def episode(index: int, reward: float = 0.0, outcome: Outcome = Outcome.FINISHED) -> Trajectory:
    why = {"infrastructure_failures": ["browser: gone"]} if outcome is Outcome.FAILED else {}
    return Trajectory(str(index), {"id": str(index)}, (), (), outcome, reward, why)


def claimed(pool: MixedPool, version: int = 0) -> list[int]:
    return list(iter(lambda: pool.claim(version), None))


def taken(pool: MixedPool) -> list[int] | None:
    batch = pool.take()
    return None if batch is None else [int(each.id) for each in batch]


def parts(pool: MixedPool, indices: Sequence[int]) -> dict[int, int]:
    return dict(collections.Counter(map(pool.part, indices)))


@pytest.mark.parametrize(
    ("groups", "weights", "wanted"),
    [
        (6, (2, 1), [4, 2]),
        (8, (2, 1), [5, 3]),
        (7, (1, 1), [4, 3]),
        (10, (0.3, 0.2, 0.5), [3, 2, 5]),
        (8, (100, 1), [7, 1]),
        (5, (0, 1, 1), [0, 3, 2]),
    ],
)
def test_groups_are_divided_by_largest_remainder(groups: int, weights: Sequence[float], wanted: list[int]) -> None:
    assert shares(groups, weights) == wanted


@pytest.mark.parametrize("in_order", [False, True])
def test_every_batch_holds_the_parts_by_their_weights_whoever_is_quick(tmp_path: Path, in_order: bool) -> None:
    pool, generator = pool_in(tmp_path, in_order=in_order), random.Random(0)
    waiting: list[int] = []
    for version in range(6):
        batch = None
        while batch is None:
            waiting += claimed(pool, version)
            quick = [index for index in waiting if pool.part(index) == 1] or waiting  # calls end before any click
            index = generator.choice(quick)
            waiting.remove(index)
            pool.finish(index, episode(index))
            batch = taken(pool)
        assert parts(pool, batch) == {0: 8, 1: 4} and len(set(batch)) == 12
    ahead = {part: count for part, count in parts(pool, waiting).items()}
    assert ahead.get(0, 0) <= 16 and ahead.get(1, 0) <= 8  # each within its own bound


def test_a_resumed_pool_makes_the_same_batches(tmp_path: Path) -> None:
    """Killed behind a checkpoint, with episodes of both parts on the disk that no batch has taken."""
    pool = pool_in(tmp_path)
    first = claimed(pool)
    for index in first[2:]:
        pool.finish(index, episode(index))
    assert parts(pool, taken(pool) or []) == {0: 8, 1: 4}
    kept = json.loads(json.dumps(pool.ledger()))
    again = pool_in(tmp_path, ledger=kept)
    assert again.counts() == pool.counts() | {"requeued": 2, "in_flight": 0}
    assert [again.claim(1), again.claim(1)] == first[:2]
    for index in first[:2]:
        pool.finish(index, episode(index))
        again.finish(index, episode(index))
    assert taken(again) == taken(pool) is not None
    assert again.ledger()["consumed"] == pool.ledger()["consumed"] and claimed(again, 2) == claimed(pool, 2)


def test_a_part_whose_groups_tell_nothing_is_refilled_by_that_part(tmp_path: Path) -> None:
    pool = pool_in(tmp_path, max_staleness=0, dynamic_sampling=True)
    played: collections.Counter[int] = collections.Counter()
    batch = None
    while batch is None:
        indices = claimed(pool)
        for index in indices:
            played[pool.part(index)] += 1
            pool.finish(index, episode(index, reward=float(index % 2) if pool.part(index) == 0 else 1.0))
        batch = taken(pool)
    assert parts(pool, batch) == {0: 8, 1: 4}  # though no group of the second part tells anything
    assert played[0] == 8 and played[1] == 4 * (MOST_FILTERED + 1)
    assert {pool.part(int(each.id)) for each in pool.left_out()} == {1} and pool.counts()["filtered"] == 36


def test_several_processes_fill_one_folder(tmp_path: Path) -> None:
    pools = [pool_in(tmp_path, share=Share(number, 2)) for number in range(2)]
    numbers = [claimed(pool) for pool in pools]
    assert not set(numbers[0]) & set(numbers[1])
    for pool, own in zip(pools, numbers, strict=True):
        for index in own:
            pool.finish(index, episode(index))
        assert parts(pool, taken(pool) or []) == {0: 8, 1: 4}


class Crew(Played):
    """Three seats without sandboxes. Episodes of parts that are `down` are lost."""

    def __init__(self, pool: MixedPool, down: set[int]) -> None:
        super().__init__(self._end)
        self._pool, self.down, self.tried = pool, down, list[int]()

    async def _open(self) -> Sequence[EpisodeRunner]:
        return [self, self, self]

    def _end(self, assignment: Assignment) -> Trajectory:
        lost = self._pool.part(assignment.index) in self.down
        if lost:
            self.tried.append(assignment.index)
        return episode(assignment.index, outcome=Outcome.FAILED if lost else Outcome.FINISHED)


def batches(pool: MixedPool, crew: Crew, version: list[int]) -> Generator[dict[int, int]]:
    """What batches are made of, while a learner takes one after the other."""
    with (
        crew,
        crew.streaming(pool, lambda group: Task(str(group), "e", group, {}, 1), player, lambda: version[0]) as end,
    ):
        while True:
            pool.wait(0.2)
            if end.done():
                end.result()
            if (batch := taken(pool)) is not None:
                version[0] += 1
                yield parts(pool, batch)


def test_a_part_that_is_down_holds_up_nobody_and_comes_back(tmp_path: Path) -> None:
    told: list[str] = []
    pool = pool_in(tmp_path, 6, 1, tell=told.append)
    crew, version = Crew(pool, {1}), [0]
    made = batches(pool, crew, version)
    assert [next(made) for _ in range(12)] == [{0: 6}] * 12
    assert [line.partition(";") for line in told] == [
        (f"calls is away, as {LOST_OF_PART} of its episodes in a row were lost, the last one: browser: gone", ";",
         " a batch holds clicks 100%, calls 0%"),
    ]  # fmt: skip
    assert 0 < len(crew.tried) - LOST_OF_PART <= 12  # from time to time, not all the time
    crew.down.clear()
    found = [next(made) for _ in range(40)]
    assert found[-1] == {0: 4, 1: 2} and [sum(each.values()) for each in found] == [6] * 40
    assert told[1:] == ["calls is back; a batch holds clicks 67%, calls 33%"]
    made.close()


def test_what_a_part_had_finished_is_used_up_when_it_is_away(tmp_path: Path) -> None:
    """Or it would be older than allowed when the part is back."""
    pool = pool_in(tmp_path, weights=ROOMY, max_staleness=0, group_size=1)
    waiting = claimed(pool)
    for index in [index for index in waiting if pool.part(index) == 1][:2]:
        pool.finish(index, episode(index))
        waiting.remove(index)
    for _ in range(LOST_OF_PART):
        index = next(index for index in waiting if pool.part(index) == 1)
        pool.finish(index, episode(index, outcome=Outcome.FAILED))
        waiting = [other for other in waiting if other != index] + claimed(pool)
    for index in waiting:
        pool.finish(index, episode(index, outcome=Outcome.FAILED if pool.part(index) == 1 else Outcome.FINISHED))
    assert parts(pool, taken(pool) or []) == {0: 10, 1: 2}


def test_where_all_parts_are_down_the_stream_ends_and_says_why(tmp_path: Path) -> None:
    told: list[str] = []
    pool = pool_in(tmp_path, tell=told.append)
    with pytest.raises(ExceptionGroup) as caught:
        next(batches(pool, Crew(pool, {0, 1}), [0]))
    (error,) = caught.value.exceptions[:1]
    assert isinstance(error, InputError) and "episodes in a row were lost" in str(error) and "gone" in str(error)
    assert "a batch holds clicks 67%, calls 33%" in told[-1]  # nobody is left to take a place
