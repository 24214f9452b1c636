"""Episodes that wait for the others of their group, where reward functions look at all of them.

Nobody is kept waiting: whoever brings the last member has the group judged, and hands in all of it. Until then a member
lies in `ungraded/` below the folder of its stage, so that a run that was killed plays it no second time.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tars_jax.environment import Task
from tars_jax.judges import JudgeFailure
from tars_jax.judges.rewards import PENDING, judged_together
from tars_jax.rollout.ledger import trajectory_path
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory, save_trajectory

FOLDER = "ungraded"


class Groups:
    """Groups of the episodes in one folder; `size` consecutive numbers are a group."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._waiting, self._size = folder, folder / FOLDER, size
        self._held: dict[int, Trajectory] = {}

    def kept(self, index: int, task: Task) -> Trajectory | None:
        """The episode of the task that was played before a resume and has waited since."""
        path = trajectory_path(self._waiting, index)
        if not path.exists():
            return None
        found = load_trajectory(path)
        return found if found.task["id"] == task.id else None  # another one may have been drawn for the group

    async def ended(self, index: int, trajectory: Trajectory) -> list[tuple[int, Trajectory]]:
        """The episodes that are whole now, the one of `index` last where it is among them.

        Raises InputError where a function over the group returns what it must not.
        """
        done: list[tuple[int, Trajectory]] = []
        if PENDING in trajectory.metadata and trajectory.outcome.carries_reward:
            self._waiting.mkdir(exist_ok=True)
            save_trajectory(trajectory_path(self._waiting, index), trajectory)
            self._held[index] = trajectory
        else:
            done = [(index, trajectory)]
        first = index - index % self._size
        members = range(first, first + self._size)
        held = {member: self._held[member] for member in members if member in self._held}
        before = [member for member in members if member not in held and member != index]
        if held and all(trajectory_path(self._folder, member).exists() for member in before):
            for member in held:
                del self._held[member]
            done += await self._judged(held, before)
        return sorted(done, key=lambda each: (each[0] == index, each[0]))

    def forget(self, index: int) -> None:
        """Forgets an episode that lies with the finished ones now."""
        trajectory_path(self._waiting, index).unlink(missing_ok=True)

    async def _judged(self, held: dict[int, Trajectory], before: list[int]) -> list[tuple[int, Trajectory]]:
        """`before`: members that are finished already, which are compared with."""
        members = held | {member: load_trajectory(trajectory_path(self._folder, member)) for member in before}
        order = sorted(members)
        try:
            told = await judged_together([members[member] for member in order])
        except JudgeFailure as failure:
            told = [_lost(members[member], str(failure)) for member in order]
        return [(member, each) for member, each in zip(order, told, strict=True) if member in held]


def _lost(trajectory: Trajectory, why: str) -> Trajectory:
    """An episode that failed with its infrastructure: it carries no reward."""
    failures = [*trajectory.metadata.get("infrastructure_failures", []), f"judge: {why}"]
    return dataclasses.replace(
        trajectory,
        windows=(),
        steps=(),
        outcome=Outcome.FAILED,
        reward=0.0,
        success=None,
        metadata={"infrastructure_failures": failures},
    )
