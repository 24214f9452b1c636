"""What an agent is to learn, as the stages ask for it: the tasks of each, and what the simulator knows of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

from tars_jax.tasks.task import Task
from tars_jax.trajectory import Step, Trajectory

# Streams of tasks that no two sets share.
DEMONSTRATIONS, HELD_OUT, VALUE, TRAINING, PRACTICE = range(5)


class TaskStream(Protocol):
    """The training tasks of PPO: which come next depends on how recent ones went.

    `task` is called from the rollouts' thread, the rest from the learner's.
    """

    def task(self, index: int) -> Task: ...

    def saw(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """Counts the episodes of an update; the stream's metrics of that update."""
        ...

    def state(self) -> dict[str, Any]:
        """All that was seen, as JSON."""
        ...


class Work(Protocol):
    """What an agent is to learn. No two of its sets of tasks share a level."""

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
        """What the simulator knows of a step's outcome, besides the remaining steps: the value model's yardstick."""
        ...
