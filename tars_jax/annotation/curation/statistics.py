"""Statistics of a curated data set: counts, lengths, applications, actions."""

from __future__ import annotations

import collections
import dataclasses
import re
import statistics
from collections.abc import Sequence
from typing import Any

from tars_jax.trajectory import Trajectory

_DASH = re.compile(r"\s[-–—|]\s")
_FUNCTION = re.compile(r"[A-Za-z_][\w.-]*(?=\()")


@dataclasses.dataclass(frozen=True)
class Spread:
    """Spread of a count over trajectories or steps."""

    least: float
    median: float
    mean: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if not values:
            return cls(0.0, 0.0, 0.0, 0.0)
        return cls(min(values), statistics.median(values), statistics.fmean(values), max(values))


@dataclasses.dataclass(frozen=True)
class DatasetStatistics:
    trajectories: int
    solved: int
    judged: int  # of which somebody has said whether they were solved
    steps: int
    with_thought: int  # steps
    tracks: dict[str, int]
    applications: dict[str, tuple[int, int]]  # trajectories and steps
    actions: dict[str, int]  # calls by function
    lengths: Spread  # steps of a trajectory
    instruction_words: Spread
    thought_words: Spread  # of a step that has one

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def statistics_of(trajectories: Sequence[Trajectory]) -> DatasetStatistics:
    steps = [step for each in trajectories for step in each.steps]
    applications: dict[str, tuple[int, int]] = {}
    for each in trajectories:
        name = application_of(each)
        count, length = applications.get(name, (0, 0))
        applications[name] = (count + 1, length + len(each.steps))
    actions = collections.Counter(
        found[0] for step in steps for call in step.action.split("\n\n") if (found := _FUNCTION.match(call.strip()))
    )
    tracks = collections.Counter(str(each.metadata.get("track") or "unknown") for each in trajectories)
    return DatasetStatistics(
        trajectories=len(trajectories),
        solved=sum(each.succeeded for each in trajectories),
        judged=sum(each.success is not None for each in trajectories),
        steps=len(steps),
        with_thought=sum(bool(step.thought.strip()) for step in steps),
        tracks=dict(tracks.most_common()),
        applications=dict(sorted(applications.items(), key=lambda each: (-each[1][0], each[0]))),
        actions=dict(actions.most_common()),
        lengths=Spread.of([len(each.steps) for each in trajectories]),
        instruction_words=Spread.of([len(told.split()) for each in trajectories if (told := instruction_in(each))]),
        thought_words=Spread.of([len(step.thought.split()) for step in steps if step.thought.strip()]),
    )


def application_of(trajectory: Trajectory) -> str:
    """The application of a trajectory, by its metadata; else by the titles of the windows that its steps were in, which
    end with the application's name behind a dash; else its environment."""
    given = trajectory.metadata.get("application") or trajectory.metadata.get("applications")
    if not given:
        titles = [title for step in trajectory.steps if (title := step.info.get("window"))]
        given = dict.fromkeys(_DASH.split(str(title))[-1] for title in titles)
    if not isinstance(given, str):
        given = ", ".join(map(str, given))
    return given or str(trajectory.task.get("environment") or "unknown")


def instruction_in(trajectory: Trajectory) -> str:
    """Instruction in the trajectory itself; empty: there is none."""
    return str(trajectory.metadata.get("instruction") or trajectory.task.get("instruction") or "")
