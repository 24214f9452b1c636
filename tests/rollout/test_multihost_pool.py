"""Pools of several processes in one folder: together they are one pool, whichever of them dies, and however many come
back."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import random
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.rollout import multihost_pool
from tars_jax.rollout.config import PoolConfig, Share
from tars_jax.rollout.ledger import trajectory_path
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.sources import ListSource
from tars_jax.trajectory import Outcome
from tests.rollout.test_pool import episode
from tests.waiting import PATIENCE_S


def pools(folder: pathlib.Path, count: int, ledger: dict[str, Any] | None = None, **fields: Any) -> list[RolloutPool]:
    shares = [Share(number, count) for number in range(count)]
    return [RolloutPool(folder, PoolConfig(max_staleness=1, share=share, **fields), ledger) for share in shares]


def in_all(count: int, call: Callable[[int, multihost_pool.Gather], Any]) -> list[Any]:
    """`call(number, gather)` in a thread for each process. One of them runs at a time: processes share nothing."""
    running = threading.Lock()
    given: list[Any] = [None] * count
    found: list[Any] = [None] * count
    meeting = threading.Barrier(count)

    def process(number: int) -> None:
        def gather(value: Any) -> list[Any]:
            given[number] = value
            running.release()
            meeting.wait(timeout=PATIENCE_S)
            every = list(given)
            meeting.wait(timeout=PATIENCE_S)
            running.acquire()
            return every

        with running:
            found[number] = call(number, gather)

    threads = [threading.Thread(target=process, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def take(alive: list[RolloutPool], number: int, gather: multihost_pool.Gather) -> multihost_pool.Batch | None:
    return multihost_pool.take(alive[number], gather)


def ledger_of(alive: list[RolloutPool], number: int, gather: multihost_pool.Gather) -> dict[str, Any]:
    return multihost_pool.ledger(alive[number], gather)


def play(pool: RolloutPool, index: int) -> None:
    pool.task(index, lambda group: {"group": group})
    pool.finish(index, episode(index))


def test_each_process_numbers_its_own_groups(tmp_path: pathlib.Path) -> None:
    first, second, third = pools(tmp_path, 3, min_batch=4, group_size=2)
    assert [first.claim(0) for _ in range(9)] == [0, 1, 6, 7, 12, 13, 18, 19, None]
    assert [second.claim(0) for _ in range(4)] == [2, 3, 8, 9]
    assert [third.claim(0) for _ in range(4)] == [4, 5, 10, 11]
    second.abandon(8)
    assert second.claim(0) == 8


def test_a_pool_looks_at_its_own_share(tmp_path: pathlib.Path) -> None:
    def pool(number: int) -> RolloutPool:
        return RolloutPool(tmp_path, PoolConfig(min_batch=1, max_staleness=1, share=Share(number, 2)))

    first = pool(0)
    play(first, first.claim(0) or 0)
    assert pool(1).claim(0) == 1
    assert pool(0).claim(0) == 2


def test_all_take_the_same_batch(tmp_path: pathlib.Path) -> None:
    two = pools(tmp_path, 2, min_batch=2)
    assert multihost_pool.take(two[0], lambda value: pytest.fail("who has no batch asks nobody")) is None
    for pool in two:
        for index in [pool.claim(0) for _ in range(3)][::-1]:
            assert index is not None
            play(pool, index)
    batches = in_all(2, functools.partial(take, two))
    assert [[each.id for each in batch.trajectories] for batch in batches] == [["4", "2", "5", "3"]] * 2
    ledgers = in_all(2, functools.partial(ledger_of, two))
    tasks = {"0": {"group": 0}, "1": {"group": 1}}
    assert ledgers == [{"consumed": [[4, 2, 5, 3]], "filtered": [[]], "tasks": tasks}] * 2
    counts = in_all(2, lambda number, gather: multihost_pool.counts(two[number], gather))
    assert counts[0]["consumed"] == 4 and counts[0]["ready"] == 2 and counts[0] == counts[1]


def test_what_others_filtered_is_left_out_everywhere(tmp_path: pathlib.Path) -> None:
    """A curriculum that saw it in one process alone would draw other tasks than that of another."""
    two = pools(tmp_path, 2, min_batch=2, group_size=2, dynamic_sampling=True)
    for pool, rewards in zip(two, ((1, 1, 0, 1), (0, 1)), strict=True):
        for reward in rewards:
            index = pool.claim(0)
            assert index is not None
            pool.finish(index, dataclasses.replace(episode(index), reward=float(reward)))
    batches = in_all(2, functools.partial(take, two))
    for batch in batches:
        assert [each.id for each in batch.left_out] == ["0", "1"]
        assert [each.id for each in batch.trajectories] == ["4", "5", "2", "3"]


def test_a_missing_file_of_another_process_is_named(tmp_path: pathlib.Path) -> None:
    (pool,) = pools(tmp_path, 1, min_batch=1)
    play(pool, pool.claim(0) or 0)
    with pytest.raises(InputError, match="00000007"):
        multihost_pool.take(pool, lambda value: [value, [[7], []]])


@hypothesis.given(st.integers(0, 10_000), st.lists(st.integers(1, 4), min_size=2, max_size=4))
@hypothesis.settings(max_examples=12, deadline=None)
def test_no_episode_is_lost_or_used_twice_when_the_processes_change(seed: int, counts: list[int]) -> None:
    """Lives of so many processes each; every life plays, is killed anywhere, and comes back with the last ledger."""
    with tempfile.TemporaryDirectory() as name:
        folder, rng, ledger = pathlib.Path(name), random.Random(seed), None
        stored: set[int] = set()
        for count in counts:
            alive, version = pools(folder, count, ledger, min_batch=2), len((ledger or {"consumed": []})["consumed"])
            claimed: set[int] = set()
            for _ in range(rng.randrange(1, 30)):
                number = rng.randrange(count)
                index = alive[number].claim(version)
                if index is None:
                    if all(pool.ready() >= 2 for pool in alive):
                        batches = in_all(count, functools.partial(take, alive))
                        assert len({tuple(each.id for each in batch.trajectories) for batch in batches}) == 1
                        ledger = in_all(count, functools.partial(ledger_of, alive))[0]
                        version += 1
                    continue
                assert index not in claimed | stored, "no number twice"
                claimed.add(index)
                if rng.random() < 0.8:
                    play(alive[number], index)
                    stored.add(index)
        last = pools(folder, 1, ledger, min_batch=2)[0]
        used = [index for batch in (ledger or {"consumed": []})["consumed"] for index in batch]
        assert len(used) == len(set(used)) and set(used) <= stored
        assert last.counts()["ready"] == len(stored) - len(used)
        assert last.counts()["requeued"] == max(stored, default=-1) + 1 - len(stored)


def test_a_list_is_played_in_shares(tmp_path: pathlib.Path) -> None:
    tasks = [Task(f"t{number}", "maze_path_of_light", number, {}, 3) for number in range(5)]
    for number, expected in ((0, [0, 1, 4, 5, 8, 9]), (1, [2, 3, 6, 7])):
        source = ListSource(tasks, tmp_path, lambda done, trajectory: None, samples=2, share=Share(number, 2))
        claimed = []
        while (assignment := source.claim()) is not None:
            claimed.append(assignment.index)
            source.finish(assignment.index, episode(assignment.index))
        assert claimed == expected and source.exhausted()
    whole = ListSource(tasks, tmp_path, lambda done, trajectory: None, samples=2)
    assert whole.exhausted() and sorted(whole.done) == list(range(10))
    assert trajectory_path(tmp_path, 9).exists()


@pytest.mark.slow
@hypothesis.given(st.integers(0, 10_000), st.lists(st.integers(1, 3), min_size=2, max_size=3), st.integers(0, 2))
@hypothesis.settings(max_examples=20, deadline=None)
def test_every_process_has_its_batch_whatever_the_processes_before_have_used(
    seed: int, counts: list[int], max_staleness: int
) -> None:
    """Lives of so many processes, two updates each; an episode may fail, and any order of arrival is possible."""
    with tempfile.TemporaryDirectory() as name:
        folder, rng, ledger, version = pathlib.Path(name), random.Random(seed), None, 0
        for count in counts:
            alive = [
                RolloutPool(folder, PoolConfig(6 // count, max_staleness, updates=2 * len(counts), share=share), ledger)
                for share in [Share(number, count) for number in range(count)]
            ]
            for _ in range(2):
                for pool in alive:
                    while claims := list(iter(functools.partial(pool.claim, version), None)):
                        for index in rng.sample(claims, len(claims)):
                            pool.task(index, lambda group: {"group": group})
                            outcome = Outcome.FAILED if rng.random() < 0.2 else Outcome.FINISHED
                            pool.finish(index, episode(index, outcome))
                    assert pool.wait(0), "it would wait for ever, and the others for it"
                in_all(count, functools.partial(take, alive))
                ledger = in_all(count, functools.partial(ledger_of, alive))[0]
                version += 1
