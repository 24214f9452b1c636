"""A list of tasks, handed out and taken back."""

from pathlib import Path

from tars_jax.rollout.sources import Assignment, ListSource
from tars_jax.tasks.task import Task
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
