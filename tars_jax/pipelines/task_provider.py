"""Task providers: the tasks of each stage, and what the simulator knows of them."""

from __future__ import annotations

import abc
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

from tars_jax.environment import Task
from tars_jax.trajectory import Step, Trajectory

# Streams of tasks that no two sets share.
DEMONSTRATIONS, HELD_OUT, VALUE, TRAINING, PRACTICE = range(5)


class TaskStream(Protocol):
    """The training tasks of PPO: which come next depends on how recent ones went.

    `task` is called from the rollouts' thread, the rest from the learner's.
    """

    @property
    def picks(self) -> str:
        """Effect of recent success on the next tasks, in words that follow "a curriculum picks"; empty: none."""
        ...

    def task(self, index: int) -> Task: ...

    def update(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """Counts the episodes of an update; the stream's metrics of that update."""
        ...

    def state(self) -> dict[str, Any]:
        """All that was seen, as JSON."""
        ...


class TaskProvider(Protocol):
    """Provides the tasks that an agent is to learn. No two of its sets of tasks share a level."""

    @property
    def has_reference(self) -> bool:
        """Whether reference players can demonstrate its tasks."""
        ...

    def demonstrations(self, count: int) -> list[Task]: ...

    def value_episodes(self, count: int) -> list[Task]: ...

    def practice(self, count: int) -> list[Task]:
        """Tasks that a policy attempts several times each, to learn from its best attempts."""
        ...

    def held_out(self, count: int) -> list[Task]: ...

    def training(self, state: Mapping[str, Any] | None) -> TaskStream:
        """The stream from its start, or as its `state()` left it."""
        ...

    def known(self, task: Mapping[str, Any], step: Step) -> Hashable:
        """The simulator's knowledge of a step's outcome, besides the remaining steps: the value model's yardstick."""
        ...


class EvenSets(abc.ABC):
    """The sets of a provider whose tasks are drawn alike for all of them."""

    @abc.abstractmethod
    def _even(self, split: str, stream: int, count: int) -> list[Task]:
        """The first `count` tasks of a stream."""

    def demonstrations(self, count: int) -> list[Task]:
        return self._even("train", DEMONSTRATIONS, count)

    def value_episodes(self, count: int) -> list[Task]:
        return self._even("train", VALUE, count)

    def practice(self, count: int) -> list[Task]:
        return self._even("train", PRACTICE, count)

    def held_out(self, count: int) -> list[Task]:
        return self._even("eval", HELD_OUT, count)
