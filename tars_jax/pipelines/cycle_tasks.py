"""Tasks of one cycle: fresh ones to train on, and always the same ones to be measured by."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from tars_jax.environment import Task
from tars_jax.pipelines.mixture import Mixture, mixture_in
from tars_jax.pipelines.task_provider import TaskProvider, TaskStream
from tars_jax.trajectory import Step, Trajectory

APART = 1_000_000  # training tasks of two cycles, in the stream that PPO takes them from


class CycleTasks:
    """A `TaskProvider` of cycle `cycle`, 0 being the cold start: its tasks are those of the source that no earlier
    cycle had. The held-out ones stay: the first are reported, those after them choose between models.
    """

    def __init__(self, source: TaskProvider, cycle: int, held_out: Sequence[Task], reported: int) -> None:
        self._source, self._cycle, self._held_out, self._reported = source, cycle, held_out, reported

    @property
    def mixture(self) -> Mixture | None:
        return mixture_in(self._source)

    @property
    def has_reference(self) -> bool:
        return self._source.has_reference

    def demonstrations(self, count: int) -> list[Task]:
        return self._source.demonstrations(count)

    def value_episodes(self, count: int) -> list[Task]:
        return self._source.value_episodes((self._cycle + 1) * count)[-count:]

    def practice(self, count: int) -> list[Task]:
        return self._source.practice(max(1, self._cycle) * count)[-count:]

    def held_out(self, count: int) -> list[Task]:
        """The reported ones, whatever `count`: all stages are measured by the same."""
        return list(self._held_out[: self._reported])

    def training(self, state: Mapping[str, Any] | None) -> TaskStream:
        parts = 1 if self.mixture is None else len(self.mixture.names)
        return _Later(self._source.training(state), self._cycle * APART * parts)  # of the same part as without

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        return self._source.known(task, step)

    def validating(self) -> ValidationTasks:
        return ValidationTasks(self._source, self._cycle, self._held_out, self._reported)


class ValidationTasks(CycleTasks):
    """Tasks of a cycle whose held-out ones choose between models."""

    def held_out(self, count: int) -> list[Task]:
        return list(self._held_out[self._reported :])


@dataclasses.dataclass(frozen=True)
class _Later:
    """A stream from a later index on."""

    stream: TaskStream
    start: int

    @property
    def picks(self) -> str:
        return self.stream.picks

    def task(self, index: int) -> Task:
        return self.stream.task(self.start + index)

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        return self.stream.update(trajectories)

    def state(self) -> dict[str, Any]:
        return self.stream.state()
