"""The rollout pool: who may start, in which order batches leave, and that nothing is lost or used twice."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib
import threading

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.ledger import trajectory_path
from tars_jax.rollout.pool import RolloutPool, staleness
from tars_jax.trajectory import ContextWindow, Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory, save_trajectory
from tests.waiting import PATIENCE_S


def episode(index: int, outcome: Outcome = Outcome.FINISHED, attempt: int = 0) -> Trajectory:
    window = ContextWindow(
        tokens=np.arange(4, dtype=np.int32),
        action_mask=np.array([False, True, False, True]),
        log_probs=np.zeros(4, np.float32),
        versions=np.array([-1, 2, -1, 5], np.int32),
        steps=np.full(4, -1, np.int32),
        images=(),
    )
    return Trajectory(str(index), {}, (window, window), (), outcome, 1.0, {"attempt": attempt})


def pool_in(
    folder: pathlib.Path, ledger: dict | None = None, min_batch: int = 2, max_staleness: int = 1
) -> RolloutPool:
    return RolloutPool(folder, PoolConfig(min_batch, max_staleness), ledger)


def taken(pool: RolloutPool) -> list[int] | None:
    batch = pool.take()
    return None if batch is None else [int(trajectory.id) for trajectory in batch]


def test_claims_stop_at_the_staleness_bound(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, min_batch=2, max_staleness=1)
    # started < (version + 1 + 1) * 2: four episodes at version 0, two more for each update
    assert [pool.claim(0) for _ in range(5)] == [0, 1, 2, 3, None]
    assert [pool.claim(1) for _ in range(3)] == [4, 5, None]
    for index in (3, 0):
        pool.finish(index, episode(index))
    assert pool.claim(1) is None  # finished and consumed episodes have started, too
    assert taken(pool) == [3, 0]
    assert pool.claim(1) is None
    assert pool.claim(2) == 6


def test_a_pool_in_order_takes_what_began_first(tmp_path: pathlib.Path) -> None:
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=1, in_order=True))
    assert [pool.claim(0) for _ in range(4)] == [0, 1, 2, 3]
    for index in (3, 2, 1):
        pool.finish(index, episode(index))
    assert pool.take() is None and not pool.wait(0)  # the first one lasts
    pool.abandon(0)
    assert taken(pool) == [1, 2]  # what was cut off begins again
    assert [pool.claim(1) for _ in range(3)] == [0, 4, 5]
    pool.finish(5, episode(5))
    assert pool.take() is None
    pool.finish(0, episode(0, Outcome.FAILED))  # makes room for another one
    pool.finish(4, episode(4))
    assert taken(pool) == [3, 4]
    assert pool.claim(1) == 6


def test_batches_in_order_hold_as_many_long_episodes_as_are_begun(tmp_path: pathlib.Path) -> None:
    """Every fourth one takes four times as long as the others."""

    def long_ones(in_order: bool) -> list[int]:
        pool = RolloutPool(tmp_path / str(in_order), PoolConfig(min_batch=4, max_staleness=1, in_order=in_order))
        playing: dict[int, int] = {}
        found = list[int]()
        for moment in itertools.count():
            while (index := pool.claim(len(found))) is not None:
                playing[index] = moment + (4 if index % 4 == 0 else 1)
            for index in [index for index, end in playing.items() if end <= moment]:
                del playing[index]
                pool.finish(index, episode(index))
            if batch := taken(pool):
                found.append(sum(index % 4 == 0 for index in batch))
            if len(found) == 6:
                return found
        raise AssertionError

    assert long_ones(True) == [1] * 6
    as_they_end = long_ones(False)
    assert as_they_end[0] == 0 and max(as_they_end) > 1


@pytest.mark.slow
@hypothesis.given(
    steps=st.lists(st.tuples(st.sampled_from(["claim", "finish", "fail", "abandon", "take"]), st.integers(0, 7))),
    min_groups=st.integers(1, 3),
    group_size=st.integers(1, 2),
    max_staleness=st.integers(0, 2),
)
@hypothesis.settings(deadline=None, max_examples=150)
def test_no_token_of_a_pool_in_order_is_staler_than_allowed_and_none_is_lost(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[str, int]],
    min_groups: int,
    group_size: int,
    max_staleness: int,
) -> None:
    """Whatever is fast, slow, lost or cut off; and the pool is not at a standstill while something is in flight."""
    config = PoolConfig(min_groups * group_size, max_staleness, group_size, in_order=True)
    pool = RolloutPool(tmp_path_factory.mktemp("pool"), config)
    in_flight: dict[int, int] = {}  # number and the version that it began under
    finished: set[int] = set()
    learned: list[int] = []
    version = 0

    def claim() -> bool:
        if (index := pool.claim(version)) is not None:
            in_flight[index] = version
        return index is not None

    def finish(index: int, outcome: Outcome) -> None:
        began = in_flight.pop(index)
        window = dataclasses.replace(episode(index).windows[0], versions=np.array([-1, began, -1, version], np.int32))
        pool.finish(index, Trajectory(str(index), {}, (window,), (), outcome, 1.0))
        if outcome is Outcome.FINISHED:
            finished.add(index)

    def take() -> bool:
        nonlocal version
        batch = pool.take()
        if batch is None:
            return False
        assert max(staleness(each, version).max() for each in batch) <= max_staleness
        learned.extend(int(each.id) for each in batch)
        version += 1
        return True

    for step, choice in steps:
        index = sorted(in_flight)[choice % len(in_flight)] if in_flight else None
        if step == "claim":
            claim()
        elif step == "take":
            take()
        elif index is not None and step == "abandon":
            del in_flight[index]
            pool.abandon(index)
        elif index is not None:
            finish(index, Outcome.FAILED if step == "fail" else Outcome.FINISHED)
    goal = version + max_staleness + 2
    while version < goal:
        moved = claim()
        if in_flight and not moved:
            finish(max(in_flight), Outcome.FINISHED)  # what has just begun is always faster
        assert take() or moved or in_flight
    assert len(learned) == len(set(learned)) and set(learned) <= finished


def test_failed_episodes_are_kept_counted_and_never_handed_out(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, min_batch=1, max_staleness=0)
    for index in range(5):
        assert pool.claim(0) == index  # a failed one frees its place: the bound must not starve the learner
        pool.finish(index, episode(index, Outcome.FAILED))
    assert pool.take() is None
    assert pool.counts() == {"requeued": 0, "in_flight": 0, "ready": 0, "consumed": 0, "filtered": 0, "failed": 5}
    assert load_trajectory(trajectory_path(tmp_path, 4)).outcome is Outcome.FAILED
    again = pool_in(tmp_path, pool.ledger(), min_batch=1, max_staleness=0)
    assert again.counts() == pool.counts()
    assert again.claim(0) == 5


@pytest.mark.parametrize("outcome", [Outcome.FINISHED, Outcome.TRUNCATED, Outcome.REJECTED])
def test_every_outcome_with_a_reward_enters_a_batch(tmp_path: pathlib.Path, outcome: Outcome) -> None:
    pool = pool_in(tmp_path, min_batch=1)
    pool.finish(pool.claim(0) or 0, episode(0, outcome))
    assert taken(pool) == [0]


def test_batches_leave_in_the_order_of_arrival(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, min_batch=2, max_staleness=3)
    for _ in range(6):
        pool.claim(0)
    assert taken(pool) is None
    for index in (4, 1, 5, 0, 3):
        pool.finish(index, episode(index))
    assert (pool.ready(), taken(pool), taken(pool), taken(pool), pool.ready()) == (5, [4, 1], [5, 0], None, 1)
    assert pool.ledger() == {"consumed": [[4, 1], [5, 0]], "filtered": [[], []], "tasks": {}}
    assert json.loads(json.dumps(pool.ledger())) == pool.ledger()


def test_an_abandoned_number_is_claimed_again_first(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path)
    for _ in range(4):
        pool.claim(0)
    pool.abandon(2)
    pool.abandon(0)
    assert [pool.claim(0), pool.claim(0), pool.claim(0)] == [0, 2, None]


def test_only_what_is_in_flight_ends(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path)
    with pytest.raises(ValueError, match="task 0 is not in flight"):
        pool.finish(0, episode(0))
    pool.claim(0)
    pool.finish(0, episode(0))
    with pytest.raises(ValueError, match="task 0 is not in flight"):
        pool.finish(0, episode(0))
    with pytest.raises(ValueError, match="task 0 is not in flight"):
        pool.abandon(0)
    assert pool.ready() == 1


def test_a_full_disk_leaves_the_episode_in_flight(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = pool_in(tmp_path, min_batch=1)
    pool.claim(0)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr("os.fsync", full)
        pool.finish(0, episode(0))
    assert pool.counts()["in_flight"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["arrivals.txt"]
    pool.finish(0, episode(0))
    assert taken(pool) == [0]


def test_a_resumed_pool_knows_what_was_where(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, min_batch=2, max_staleness=4)
    for _ in range(10):
        pool.claim(0)
    for index in (7, 3):
        pool.finish(index, episode(index))
    pool.take()
    kept = pool.ledger()
    for index in (8, 1, 5, 0):
        pool.finish(index, episode(index))
    pool.take()  # an update that no checkpoint has kept: it never happened
    again = pool_in(tmp_path, kept, max_staleness=4)
    assert again.counts() == {"requeued": 3, "in_flight": 0, "ready": 4, "consumed": 2, "filtered": 0, "failed": 0}
    assert [taken(again), taken(again)] == [[8, 1], [5, 0]]
    assert [again.claim(3) for _ in range(5)] == [2, 4, 6, 9, 10]


def test_resume_without_a_ledger_makes_everything_ready(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path)
    for index in range(3):
        pool.claim(0)
        pool.finish(index, episode(index))
    pool.take()
    assert pool_in(tmp_path).ready() == 3
    assert pool_in(tmp_path / "new").claim(0) == 0


@pytest.mark.parametrize("tail", [b"", b"1", b"0\n1", b"\0\0\0", b"99\nx\n"])
def test_a_torn_order_of_arrival_costs_only_the_order(tmp_path: pathlib.Path, tail: bytes) -> None:
    pool = pool_in(tmp_path, min_batch=3)
    for _ in range(3):
        pool.claim(0)
    for index in (2, 1, 0):
        pool.finish(index, episode(index))
    (tmp_path / "arrivals.txt").write_bytes(b"2\n" + tail)
    again = pool_in(tmp_path, min_batch=3)
    order = taken(again)
    assert order in ([2, 0, 1], [2, 1, 0])
    assert taken(pool_in(tmp_path, min_batch=3)) == order  # settled for good


def test_a_missing_trajectory_that_was_used_is_named(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path)
    for index in range(2):
        pool.claim(0)
        pool.finish(index, episode(index))
    pool.take()
    trajectory_path(tmp_path, 1).unlink()
    with pytest.raises(InputError, match=r"00000001\.trajectory is missing"):
        pool_in(tmp_path, pool.ledger())


def test_a_damaged_trajectory_is_named(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path)
    pool.claim(0)
    pool.finish(0, episode(0))
    path = trajectory_path(tmp_path, 0)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"00000000\.trajectory: damaged"):
        pool_in(tmp_path)


@pytest.mark.parametrize(
    ("ledger", "message"),
    [
        ({}, "consumed must be a list of lists"),
        ({"consumed": [1]}, "list of lists"),
        ({"consumed": [["1"]]}, "must hold numbers of tasks"),
        ({"consumed": [[1, 2], [1]]}, "task 1 twice"),
        ({"consumed": [[0]], "filtered": [[0]]}, "task 0 twice"),
        ({"consumed": [[1]], "filtered": []}, "filtered must have 1 lists, .*; got 0"),
    ],
)
def test_a_bad_ledger_is_refused(tmp_path: pathlib.Path, ledger: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pool_in(tmp_path, ledger)


def test_staleness_of_each_action_token() -> None:
    assert staleness(episode(0), 6).tolist() == [4, 1, 4, 1]
    assert staleness(Trajectory("", {}, (), (), Outcome.FAILED, 0.0), 6).shape == (0,)


def test_a_learner_waits_for_workers_in_other_threads(tmp_path: pathlib.Path) -> None:
    pool = pool_in(tmp_path, min_batch=4, max_staleness=1)
    version = 0

    def work() -> None:
        while version < 5:
            index = pool.claim(version)
            if index is not None:
                pool.finish(index, episode(index))

    assert not pool.wait(timeout=0.01)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    used: list[int] = []
    for _ in range(5):
        assert pool.wait(timeout=PATIENCE_S)
        used += taken(pool) or []
        version += 1
    for thread in threads:
        thread.join()
    left = pool.counts()
    assert len(set(used)) == len(used) == left["consumed"] == 20
    assert left["in_flight"] == 0
    assert set(used) | set(pool.arrived()) == set(range(20 + left["ready"]))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["claim", "claim", "finish", "finish", "fail", "abandon", "take", "take", "checkpoint", "crash"]
        ),
        st.integers(0, 7),
        st.sampled_from(["before the file", "before the line", "within the line", "after"]),
    ),
    max_size=60,
)


@pytest.mark.slow
@hypothesis.given(steps=STEPS, min_batch=st.integers(1, 3), max_staleness=st.integers(0, 2))
@hypothesis.settings(deadline=None, max_examples=150)
def test_any_history_with_crashes_uses_every_finished_trajectory_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]], min_batch: int, max_staleness: int
) -> None:
    """A crash can come at any step, and within `finish` before or after each thing that it writes. `line` is the
    lineage of batches that a checkpoint keeps; the pool is drained at the end and the uses are counted."""
    folder = tmp_path_factory.mktemp("pool")
    pool = pool_in(folder, None, min_batch, max_staleness)
    in_flight: list[int] = []
    stored: dict[int, Trajectory] = {}  # the files
    line: list[list[int]] = []
    kept: tuple[dict, list[list[int]]] = (pool.ledger(), [])

    def crash() -> None:
        nonlocal pool, line
        ledger, line = json.loads(json.dumps(kept[0])), list(kept[1])
        pool = pool_in(folder, ledger, min_batch, max_staleness)
        in_flight.clear()
        used = {index for batch in line for index in batch}
        assert set(pool.arrived()) == {i for i, t in stored.items() if t.outcome.carries_reward} - used

    def claim() -> bool:
        started = sum(map(len, line)) + pool.ready() + len(in_flight)
        index = pool.claim(len(line))
        assert (index is not None) == (started < (len(line) + max_staleness + 1) * min_batch)
        if index is None:
            return False
        assert index not in stored
        assert index not in in_flight
        in_flight.append(index)
        return True

    def take() -> bool:
        expected = pool.arrived()[:min_batch]
        batch = pool.take()
        if batch is None:
            return False
        assert [int(trajectory.id) for trajectory in batch] == expected
        assert all(trajectory.metadata == stored[int(trajectory.id)].metadata for trajectory in batch)
        line.append(expected)
        return True

    for clock, (step, choice, moment) in enumerate(steps):
        if step == "claim":
            claim()
        elif step == "take":
            take()
        elif step == "checkpoint":
            kept = (pool.ledger(), list(line))
        elif step == "crash" and in_flight and moment != "after":  # within a finish
            index = in_flight[choice % len(in_flight)]
            if moment != "before the file":
                stored[index] = episode(index, attempt=clock)
                save_trajectory(trajectory_path(folder, index), stored[index])
            if moment == "within the line":
                with open(folder / "arrivals.txt", "a", encoding="ascii") as file:
                    file.write(str(index)[:1])
            crash()
        elif step == "crash":
            crash()
        elif in_flight:
            index = in_flight.pop(choice % len(in_flight))
            if step == "abandon":
                pool.abandon(index)
            else:
                outcome = Outcome.FAILED if step == "fail" else Outcome.FINISHED
                stored[index] = episode(index, outcome, clock)
                pool.finish(index, stored[index])

    crash()
    fill = 0
    while fill < 2 or pool.ready() >= min_batch:  # the numbers go on without a gap, and everything leaves
        if not take():
            fill += 1
            while claim():
                index = in_flight.pop()
                stored[index] = episode(index)
                pool.finish(index, stored[index])
    rest = pool.arrived()
    used = [index for batch in line for index in batch] + rest
    assert len(rest) < min_batch
    assert sorted(used) == sorted(index for index, t in stored.items() if t.outcome.carries_reward)
    assert sorted(stored) == list(range(len(stored)))
    assert pool.ledger()["consumed"] == line


def test_longer_episodes_make_smaller_batches(tmp_path: pathlib.Path) -> None:
    """Of 40 episodes, and 800 steps at most: 40 of 10 steps, 32 of 25, and never fewer than 8; whole groups of 2."""
    config = PoolConfig(40, 0, 2, batch_steps=800)
    assert [config.groups_for(steps) for steps in (10, 25, 100, 400)] == [20, 16, 4, 4]
    assert PoolConfig(40, 0, 2).groups_for(100) == 20
    pool = pool_in(tmp_path, min_batch=4, max_staleness=0)
    for _ in range(4):
        pool.finish(index := claimed(pool), episode(index))
    pool.resize(2)
    assert taken(pool) == [0, 1] and taken(pool) == [2, 3] and taken(pool) is None


def claimed(pool: RolloutPool) -> int:
    index = pool.claim(0)
    assert index is not None
    return index
