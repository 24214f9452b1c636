"""Episodes of which their judge cannot say whether they were solved: masked, counted, and too many of them refused."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any, Self

from tars_jax import InputError
from tars_jax.judges.judge import MOST_UNJUDGED
from tars_jax.trajectory import Trajectory

LEAST = 5  # episodes of a task that show it
LEAST_OF_SET = 20  # episodes of all tasks together that show it
EPISODES, CANNOT_SAY = "episodes", "cannot_say"

Tally = dict[str, dict[str, int]]  # judge -> {"episodes": ..., "cannot_say": ...}


class Unjudged:
    """Counts the episodes of tasks, and those that could not be judged. What the infrastructure lost is neither."""

    def __init__(self) -> None:
        self._episodes: collections.Counter[tuple[str, str]] = collections.Counter()
        self._unjudged: collections.Counter[tuple[str, str]] = collections.Counter()
        self._by_judge: dict[str, dict[str, int]] = {}
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
            judge = self._by_judge.setdefault(str(trajectory.metadata.get("judge", "")), {EPISODES: 0, CANNOT_SAY: 0})
            judge[EPISODES] += 1
            judge[CANNOT_SAY] += bool(reason)
            self._reason = reason or self._reason

    def drops(self, task: Mapping[str, Any]) -> bool:
        """Whether a fifth or more of the task's episodes, five or more, could not be judged."""
        episodes = self._episodes[_key(task)]
        return episodes >= LEAST and self._unjudged[_key(task)] >= MOST_UNJUDGED * episodes

    @property
    def dropped(self) -> list[str]:
        """The ids of such tasks."""
        return [id for environment, id in self._episodes if self.drops({"environment": environment, "id": id})]

    @property
    def tally(self) -> Tally:
        """Episodes of each judge, and of how many it cannot say; under "" those that no judge was asked about."""
        return {judge: dict(counts) for judge, counts in self._by_judge.items()}

    def require_admitted(self) -> None:
        """Raises InputError where a fifth or more of all episodes could not be judged."""
        episodes, unjudged = self._episodes.total(), self._unjudged.total()
        if episodes >= LEAST_OF_SET and unjudged >= MOST_UNJUDGED * episodes:
            raise InputError(
                f"task.judge must be able to tell these tasks; it could not say of {unjudged} of {episodes} episodes, "
                f"of the last one because {self._reason:.300}; a judge with an endpoint may"
            )


def loss_of(trajectory: Trajectory) -> str:
    """The failure of an episode, by the last attempt at it; empty: it has not failed."""
    if trajectory.outcome.carries_reward:
        return ""
    return trajectory.cannot_say or "; ".join(trajectory.metadata.get("infrastructure_failures", [])[-1:])


def judged_of(tally: Tally) -> dict[str, Any]:
    """Fields of a stage's record about judging; empty where no judge was asked."""
    judged = {judge: counts for judge, counts in tally.items() if judge}
    return {"judged": judged} if judged else {}


def merged_tallies(tallies: Iterable[Tally]) -> Tally:
    """Sums the tallies of several processes, each of which has played its own episodes."""
    total: Tally = {}
    for tally in tallies:
        for judge, counts in tally.items():
            before = total.get(judge, {})
            total[judge] = {name: count + before.get(name, 0) for name, count in counts.items()}
    return total


def metrics_of(tally: Tally) -> dict[str, float]:
    """Metrics of an update about judging; empty where every episode was judged."""
    episodes, unjudged = (sum(counts[name] for counts in tally.values()) for name in (EPISODES, CANNOT_SAY))
    return {"cannot_say": unjudged, "cannot_say_share": unjudged / episodes} if unjudged else {}


def _key(task: Mapping[str, Any]) -> tuple[str, str]:
    return str(task.get("environment", "")), str(task.get("id", ""))
