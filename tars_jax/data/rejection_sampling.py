"""Rejection sampling: of many attempts at each task, the few that are worth imitating.

Several verified solutions of a task are kept where they differ, at most a few of each task, so that easy tasks do not
crowd out hard ones. Sources: RFT (arXiv 2308.01825), distinct reasoning paths; ReST-EM (arXiv 2312.06585), at most so
many solutions of a problem; UI-TARS-2, 2.3, "rejection sampling (RFT)" with V(s) = 1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tars_jax.rules import at_least, field, one_of
from tars_jax.trajectory import Trajectory

PREFERENCES = ("first", "shortest")


@dataclasses.dataclass(frozen=True)
class KeepRule:
    """The attempts at a task that are kept."""

    at_most: int = field(
        2, "most solutions kept of each task: verified, well-formed, with different actions", at_least(1)
    )
    prefer: str = field(
        "shortest", "solutions that are kept first: shortest, or first (as sampled)", one_of(*PREFERENCES)
    )


@dataclasses.dataclass(frozen=True)
class Attempts:
    """Counts of tasks that were solved by none, some or all of their attempts."""

    none: int
    some: int
    every: int


def by_task(trajectories: Sequence[Trajectory]) -> list[list[Trajectory]]:
    """Attempts at the same task together, in the order in which tasks appear first."""
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(trajectory.task["id"], []).append(trajectory)
    return list(groups.values())


def select_successes(attempts: Sequence[Trajectory], rule: KeepRule) -> list[Trajectory]:
    """Keeps, of the attempts at one task, those with V = 1 whose every response was well-formed and whose actions
    differ."""
    order = sorted(attempts, key=lambda each: len(each.steps)) if rule.prefer == "shortest" else attempts
    distinct: dict[tuple[str, ...], Trajectory] = {}
    for trajectory in order:
        if trajectory.succeeded and all(step.valid for step in trajectory.steps):
            distinct.setdefault(tuple(step.action for step in trajectory.steps), trajectory)
    return list(distinct.values())[: rule.at_most]


def count_attempts(groups: Sequence[Sequence[Trajectory]]) -> Attempts:
    solved = [[each.succeeded for each in group] for group in groups]
    none, every = sum(not any(group) for group in solved), sum(all(group) for group in solved)
    return Attempts(none, len(solved) - none - every, every)
