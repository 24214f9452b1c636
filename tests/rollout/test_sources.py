"""Tasks of a list and of a pool, handed out and taken back."""

import errno
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.players import Player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.rollout_workers import EpisodeRunner, Record, RolloutWorkers
from tars_jax.rollout.sources import Assignment, ListSource, PoolSource
from tars_jax.trajectory import Outcome, Trajectory

TASKS = [Task(name, "maze_path_of_light", number, {}, 3) for number, name in enumerate("ab")]


def episode(assignment: Assignment) -> Trajectory:
    return Trajectory(f"{assignment.task.id}{assignment.member}", {}, (), (), Outcome.FINISHED, 0.0)


def test_every_sample_of_every_task_is_played_once_also_after_a_restart(tmp_path: Path) -> None:
    source = ListSource(TASKS, tmp_path, lambda done, trajectory: None, samples=3)
    claimed = [source.claim() for _ in range(4)]
    assert [each and (each.index, each.task.id, each.member) for each in claimed] == [
        (0, "a", 0), (1, "a", 1), (2, "a", 2), (3, "b", 0),
    ]  # fmt: skip
    for assignment in claimed[1:]:
        assert assignment is not None
        source.finish(assignment.index, episode(assignment))

    again = ListSource(TASKS, tmp_path, lambda done, trajectory: None, samples=3)
    while (assignment := again.claim()) is not None:
        assert assignment.index in (0, 4, 5)
        again.finish(assignment.index, episode(assignment))
    assert again.exhausted() and sorted(again.done) == list(range(6))
    assert [again.done[index].id for index in range(6)] == ["a0", "a1", "a2", "b0", "b1", "b2"]


def lost(assignment: Assignment) -> Trajectory:
    reasons = {"infrastructure_failures": ["browser: slow", "page: no maze of size 6"]}
    return Trajectory("lost", assignment.task.to_json(), (), (), Outcome.FAILED, 0.0, reasons)


class Played(RolloutWorkers):
    """Seats without sandboxes, whose episodes end as `ending` says."""

    def __init__(self, ending: Any, activity: Activity | None = None) -> None:
        super().__init__(activity)
        self._ending = ending

    async def _open(self) -> Sequence[EpisodeRunner]:
        return [self, self]

    async def _close(self) -> None:
        pass

    async def _rest(self) -> None:
        pass

    async def ready(self) -> None:
        pass

    async def episode(self, assignment: Assignment, player: Player, record: Record) -> Trajectory:
        return self._ending(assignment)


def player(*_: Any) -> Any:
    raise AssertionError("nobody is asked")


def test_a_stage_whose_every_episode_is_lost_knows_why(tmp_path: Path) -> None:
    with Played(lost) as crew:
        assert crew.play(TASKS[:1], player, tmp_path) == [] and "no maze of size 6" in crew.last_loss


def test_a_list_whose_first_episodes_are_all_lost_is_not_played_to_its_end(tmp_path: Path) -> None:
    with Played(lost) as crew, pytest.raises(ExceptionGroup) as error:
        crew.play(TASKS[:1] * 200, player, tmp_path)
    sentence = error.value.exceptions[0]
    assert isinstance(sentence, InputError) and "no maze of size 6" in str(sentence)
    assert 64 <= len(list(tmp_path.glob("*.trajectory"))) < 70


def test_a_stream_whose_every_episode_is_lost_ends_and_says_why(tmp_path: Path) -> None:
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=0))
    with Played(lost) as crew, crew.streaming(pool, lambda group: TASKS[0], player, lambda: 0) as running:
        error = running.exception(30)
    assert isinstance(error, ExceptionGroup) and error.subgroup(InputError)
    assert "64 episodes in a row were lost;" in str(error.exceptions[0])
    assert "page: no maze of size 6" in str(error.exceptions[0])
    assert pool.counts() == {"requeued": 0, "in_flight": 0, "ready": 0, "consumed": 0, "filtered": 0, "failed": 64}


def test_episodes_that_are_lost_now_and_then_end_no_stream(tmp_path: Path) -> None:
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=1, max_staleness=99))
    source = PoolSource(pool, lambda group: TASKS[0], lambda: 0, most_lost=3)
    for number in range(40):
        assignment = source.claim()
        assert assignment is not None
        source.finish(assignment.index, (lost if number % 3 else episode)(assignment))
    assert pool.ready() == 14


def test_a_number_whose_task_cannot_be_drawn_is_played_later(tmp_path: Path) -> None:
    def draw(group: int) -> Task:
        raise InputError("no such level")

    pool = RolloutPool(tmp_path, PoolConfig(min_batch=1, max_staleness=0))
    with pytest.raises(InputError, match="no such level"):
        PoolSource(pool, draw, lambda: 0).claim()
    found = PoolSource(pool, lambda group: TASKS[group], lambda: 0).claim()
    assert found is not None and (found.index, found.task) == (0, TASKS[0])


def test_a_timeline_that_cannot_be_written_is_the_error_of_its_stream(tmp_path: Path) -> None:
    class Full(Activity):
        def add(self, *_: Any, **__: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    pool = RolloutPool(tmp_path, PoolConfig(min_batch=2, max_staleness=0))
    with Played(episode, Full()) as crew, crew.streaming(pool, lambda group: TASKS[0], player, lambda: 0) as running:
        error = running.exception(30)
    assert isinstance(error, ExceptionGroup) and error.split(OSError)[1] is None
    assert pool.counts()["in_flight"] == 0 and pool.ready() >= 1
