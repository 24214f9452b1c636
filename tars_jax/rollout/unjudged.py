"""Episodes of which their judge cannot say whether they were solved: masked, counted, and too many of them refused."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any, Self

from tars_jax import InputError
from tars_jax.trajectory import Trajectory

MOST = 0.2  # the share from which on a task, or a set of tasks, is not for this judge
LEAST = 5  # episodes of a task that show it
LEAST_OF_SET = 20  # episodes of all tasks together that show it


class Unjudged:
    """Counts the episodes of tasks, and those that could not be judged. What the infrastructure lost is neither."""

    def __init__(self) -> None:
        self._episodes: collections.Counter[tuple[str, str]] = collections.Counter()
        self._unjudged: collections.Counter[tuple[str, str]] = collections.Counter()
        self._reason = ""

    @classmethod
    def of(cls, trajectories: Iterable[Trajectory]) -> Self:
        found = cls()
        for each in trajectories:
            found.add(each)
        return found

    def add(self, trajectory: Trajectory) -> None:
        reason = trajectory.cannot_say
        if reason or trajectory.outcome.carries_reward:
            self._episodes[_key(trajectory.task)] += 1
            self._unjudged[_key(trajectory.task)] += bool(reason)
            self._reason = reason or self._reason

    def drops(self, task: Mapping[str, Any]) -> bool:
        """Whether a fifth or more of the task's episodes, five or more, could not be judged."""
        episodes = self._episodes[_key(task)]
        return episodes >= LEAST and self._unjudged[_key(task)] >= MOST * episodes

    @property
    def dropped(self) -> list[str]:
        """The ids of such tasks."""
        return [id for environment, id in self._episodes if self.drops({"environment": environment, "id": id})]

    def to_json(self) -> dict[str, float]:
        """What a stage's record and an update's metrics say: none where every episode was judged."""
        episodes, unjudged = self._episodes.total(), self._unjudged.total()
        return {"cannot_say": unjudged, "cannot_say_share": unjudged / episodes} if unjudged else {}

    def require_admitted(self) -> None:
        """Raises InputError where a fifth or more of all episodes could not be judged."""
        episodes, unjudged = self._episodes.total(), self._unjudged.total()
        if episodes >= LEAST_OF_SET and unjudged >= MOST * episodes:
            raise InputError(
                f"task.judge must be able to tell these tasks; it could not say of {unjudged} of {episodes} episodes, "
                f"of the last one because {self._reason:.300}; a judge with an endpoint may"
            )


def _key(task: Mapping[str, Any]) -> tuple[str, str]:
    return str(task.get("environment", "")), str(task.get("id", ""))
