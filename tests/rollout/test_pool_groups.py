"""Groups in the pool: whole ones in a batch, one task each, and the same after a crash."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.pool import MOST_FILTERED, RolloutPool
from tars_jax.rollout.sources import PoolSource
from tars_jax.trajectory import Outcome, Trajectory

GROUP = 3


def episode(
    index: int, outcome: Outcome = Outcome.FINISHED, task: dict[str, Any] | None = None, reward: float = 1.0
) -> Trajectory:
    return Trajectory(str(index), task or {}, (), (), outcome, 0.0 if outcome is Outcome.FAILED else reward)


def pool_in(folder: pathlib.Path, min_batch: int = 6, max_staleness: int = 0, **options: Any) -> RolloutPool:
    return RolloutPool(folder, PoolConfig(min_batch, max_staleness, GROUP, **options))


def resumed(folder: pathlib.Path, ledger: dict[str, Any] | None, max_staleness: int = 0, **options: Any) -> RolloutPool:
    kept = json.loads(json.dumps(ledger))
    return RolloutPool(folder, PoolConfig(6, max_staleness, GROUP, **options), kept)


def taken(pool: RolloutPool) -> list[int] | None:
    batch = pool.take()
    return None if batch is None else [int(trajectory.id) for trajectory in batch]


def test_a_batch_takes_the_groups_that_were_complete_first(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, max_staleness=1)
    assert [pool.claim(0) for _ in range(13)] == [*range(12), None]
    for index in (0, 1, 3, 4, 6, 7, 11, 10):  # two of each group
        pool.finish(index, episode(index))
    assert (pool.ready(), taken(pool), pool.wait(0)) == (8, None, False)
    pool.finish(9, episode(9))
    pool.finish(2, episode(2))
    assert taken(pool) == [9, 10, 11, 0, 1, 2]
    pool.finish(8, episode(8))
    pool.finish(5, episode(5))
    assert taken(pool) == [6, 7, 8, 3, 4, 5]


def test_a_group_that_has_started_goes_on_at_the_bound(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path)
    for _ in range(6):
        pool.claim(0)
    pool.abandon(4)
    pool.finish(3, episode(3))
    assert [pool.claim(0), pool.claim(0)] == [4, None]
    for index in (0, 1, 2):
        pool.abandon(index)
    assert [pool.claim(0) for _ in range(4)] == [0, 1, 2, None]


def test_failed_members_are_left_out_and_a_failed_group_frees_its_place(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path)
    for _ in range(6):
        pool.claim(0)
    for index in range(3):
        pool.finish(index, episode(index, Outcome.FAILED))
    assert [pool.claim(0) for _ in range(4)] == [6, 7, 8, None]
    pool.finish(4, episode(4, Outcome.FAILED))
    for index in (3, 5, 6, 7, 8):
        pool.finish(index, episode(index))
    assert taken(pool) == [3, 5, 6, 7, 8]
    again = resumed(tmp_path, pool.ledger())
    assert again.counts() == pool.counts() and taken(again) is None
    assert [again.claim(0), again.claim(1)] == [None, 9]


def test_no_episode_starts_that_no_update_takes(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, max_staleness=5, updates=2)
    assert [pool.claim(0) for _ in range(13)] == [*range(12), None]
    for index in range(12):
        pool.finish(index, episode(index, Outcome.FAILED if index in (3, 4, 5) else Outcome.FINISHED))
    assert [pool.claim(0) for _ in range(4)] == [12, 13, 14, None]  # in the failed group's place


def test_a_group_has_one_task_whatever_is_seen_and_whoever_dies(tmp_path: pathlib.Path) -> None:
    level = 1

    def draw(group: int) -> dict[str, Any]:
        return {"group": group, "level": level}

    def play(pool: RolloutPool, index: int) -> None:
        pool.finish(index, episode(index, task=pool.task(index, draw)))

    pool = pool_in(tmp_path, max_staleness=1)
    for _ in range(12):
        pool.claim(0)
    play(pool, 0)
    pool.task(3, draw)
    kept = pool.ledger()
    level = 2
    assert pool.task(1, draw) == {"group": 0, "level": 1}
    assert pool.task(4, draw) == {"group": 1, "level": 1}
    play(pool, 6)  # drawn and kept on disk after the checkpoint

    level = 3
    again = resumed(tmp_path, kept, max_staleness=1)
    levels = {group: again.task(group * GROUP + 2, draw)["level"] for group in range(4)}
    assert levels == {0: 1, 1: 1, 2: 2, 3: 3}
    while (index := again.claim(0)) is not None:
        play(again, index)
    again.take()
    assert again.ledger()["tasks"].keys() == {"2", "3"}  # the pool forgets what was taken
    assert resumed(tmp_path, again.ledger(), max_staleness=1).ledger()["tasks"].keys() == {"2", "3"}


def play_group(pool: RolloutPool, rewards: tuple[float, float, float], version: int = 0) -> int:
    """Claims and ends a whole group; its number."""
    indices = [pool.claim(version) for _ in range(GROUP)]
    assert indices[0] is not None
    for index, reward in zip(indices, rewards, strict=True):
        assert index is not None
        pool.finish(index, episode(index, reward=reward))
    return indices[0] // GROUP


EQUAL, MIXED = (1.0, 1.0, 1.0), (0.0, 1.0, 0.0)


def test_dynamic_sampling_goes_on_without_groups_that_teach_nothing(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, dynamic_sampling=True)
    for rewards in (MIXED, EQUAL, (0.0, 0.0, 0.0), MIXED):  # two filtered groups freed their places
        play_group(pool, rewards)
    assert pool.claim(0) is None
    assert pool.counts() == {"requeued": 0, "in_flight": 0, "ready": 6, "consumed": 0, "filtered": 6, "failed": 0}
    assert pool.left_out() == [] and taken(pool) == [0, 1, 2, 9, 10, 11]
    assert [each.id for each in pool.left_out()] == ["3", "4", "5", "6", "7", "8"]
    play_group(pool, EQUAL, version=1)  # since the last batch: filtered again by whoever resumes
    ledger = pool.ledger()
    assert (ledger["consumed"], ledger["filtered"]) == ([[0, 1, 2, 9, 10, 11]], [[3, 4, 5, 6, 7, 8]])
    again = resumed(tmp_path, ledger, dynamic_sampling=True)
    assert again.counts() == pool.counts() and again.claim(1) == 15
    assert resumed(tmp_path, None, dynamic_sampling=True).counts()["filtered"] == 9


def test_a_group_that_lost_members_is_judged_by_the_rest(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, dynamic_sampling=True)
    for index in range(6):
        pool.claim(0)
        failed = index in (1, 3)  # leaves 1, 1 and 1, 0
        pool.finish(index, episode(index, Outcome.FAILED if failed else Outcome.FINISHED, reward=float(index != 5)))
    assert pool.counts() == {"requeued": 0, "in_flight": 0, "ready": 2, "consumed": 0, "filtered": 2, "failed": 2}
    assert resumed(tmp_path, None, dynamic_sampling=True).counts() == pool.counts()


def test_filtering_ends_where_nothing_ever_varies(tmp_path: pathlib.Path) -> None:
    """Nine groups are filtered for a batch of one, then comes one as it is, and the count begins anew."""
    pool = pool_in(tmp_path, min_batch=GROUP, dynamic_sampling=True)
    for version in range(2):
        for _ in range(MOST_FILTERED + 1):
            assert pool.take() is None
            play_group(pool, EQUAL, version)
        if version:  # counted again by whoever resumes
            pool = RolloutPool(tmp_path, PoolConfig(GROUP, 0, GROUP, dynamic_sampling=True), pool.ledger())
        assert taken(pool) == [30 * version + 27 + number for number in range(GROUP)]
        assert len(pool.left_out()) == 27


def test_dynamic_sampling_takes_groups(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="pool.group_size must be at least 2 with pool.dynamic_sampling"):
        PoolConfig(min_batch=6, max_staleness=0, dynamic_sampling=True)


def test_a_batch_holds_a_whole_number_of_groups() -> None:
    with pytest.raises(InputError, match="pool.group_size must be .*; got 4"):
        PoolConfig(min_batch=6, max_staleness=0, group_size=4)


@pytest.mark.parametrize("tasks", [[], {"first": {}}])
def test_a_ledger_with_bad_tasks_is_refused(tmp_path: pathlib.Path, tasks: Any) -> None:
    with pytest.raises(InputError, match="field tasks"):
        resumed(tmp_path, {"consumed": [], "tasks": tasks})


@pytest.mark.parametrize(("seed", "dynamic_sampling"), [(seed, seed % 2 == 1) for seed in range(20)])
@pytest.mark.first(4)
def test_any_history_of_groups_ends_with_every_member_used_once(
    tmp_path: pathlib.Path, seed: int, dynamic_sampling: bool
) -> None:
    """Random claims, ends, failures, abandonments, updates, checkpoints and crashes; then the run goes to its end."""
    rng = random.Random(seed)
    folder, version, kept = tmp_path, 0, (pool_in(tmp_path).ledger(), 0)

    def again(ledger: dict[str, Any]) -> RolloutPool:
        return resumed(folder, ledger, max_staleness=1, dynamic_sampling=dynamic_sampling)

    pool = again(kept[0])
    in_flight: list[int] = []

    def take() -> None:
        nonlocal version
        batch = taken(pool)
        if batch is not None:
            version += 1
            ended = {int(path.stem) for path in folder.glob("*.trajectory")}
            groups = {index // GROUP for index in batch}
            assert len(groups) == 2 and {g * GROUP + m for g in groups for m in range(GROUP)} <= ended

    for _ in range(150):
        step = rng.choice(["claim", "claim", "claim", "end", "end", "end", "take", "keep", "crash"])
        if step == "claim" and (index := pool.claim(version)) is not None:
            in_flight.append(index)
            started = len({i // GROUP for b in pool.ledger()["consumed"] for i in b} | {i // GROUP for i in in_flight})
            assert started <= (version + 2) * 2
        elif step == "end" and in_flight:
            index = in_flight.pop(rng.randrange(len(in_flight)))
            if rng.random() < 0.2:
                pool.abandon(index)
            else:
                failed = rng.random() < 0.2
                outcome = Outcome.FAILED if failed else Outcome.FINISHED
                pool.finish(index, episode(index, outcome, reward=float(rng.random() < 0.5)))
        elif step == "take":
            take()
        elif step == "keep":
            kept = (json.loads(json.dumps(pool.ledger())), version)
        elif step == "crash" and rng.random() < 0.3:
            version = kept[1]
            pool, in_flight = again(kept[0]), []
    goal = version + 5
    while version < goal:  # nothing hangs
        progressed = False
        while (index := pool.claim(version)) is not None:
            in_flight.append(index)
        for index in in_flight:
            pool.finish(index, episode(index))
            progressed = True
        in_flight, before = [], version
        take()
        assert progressed or version > before
    ledger, counts = pool.ledger(), pool.counts()
    used, filtered = ([index for batch in ledger[field] for index in batch] for field in ("consumed", "filtered"))
    assert len(used + filtered) == len({*used, *filtered}) and (dynamic_sampling or not filtered)
    stored = {int(path.stem) for path in folder.glob("*.trajectory")}
    assert {*used, *filtered} <= stored and not counts["in_flight"]
    assert sum(counts[name] for name in ("consumed", "filtered", "ready", "failed")) == len(stored)
    resumed_counts = again(ledger).counts()
    assert resumed_counts == counts | {"requeued": resumed_counts["requeued"]}


@pytest.mark.parametrize(("group_start", "alike"), [("reset", 1), ("fork", 3)])
def test_members_of_a_group_are_told_that_they_begin_alike(
    tmp_path: pathlib.Path, group_start: str, alike: int
) -> None:
    config = PoolConfig(min_batch=3, max_staleness=0, group_size=3, group_start=group_start)
    drawn = Task("one", "maze", 1, {}, 2)
    source = PoolSource(RolloutPool(tmp_path, config), lambda group: drawn, lambda: 0)
    claimed = [source.claim() for _ in range(3)]
    assert [(each.member, each.alike) for each in claimed if each] == [(member, alike) for member in range(3)]
