"""Sources of episodes to play, which also take the finished ones: a list of tasks, or the learner's pool."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.rollout.config import WHOLE, Share
from tars_jax.rollout.ledger import trajectory_path
from tars_jax.rollout.mixed_pool import MixedPool
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.unjudged import Unjudged, loss_of
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_trajectory, save_trajectory

MOST_SKIPPED = 1000  # tasks in a row that no judge can tell
MOST_LOST = 64  # episodes in a row that a stream may lose to its sandboxes, whatever its size


@dataclasses.dataclass(frozen=True)
class Assignment:
    """One episode to play."""

    index: int
    task: Task
    member: int = 0  # which episode of its group: those of one task sample differently
    alike: int = 1  # episodes of the group that begin from copies of one prepared session; 1: each prepares its own


class Source(Protocol):
    """A source that hands out episodes and takes them back; called from the workers' loop only."""

    @property
    def folder(self) -> Path:
        """Folder of finished episodes."""
        ...

    @property
    def group_size(self) -> int:
        """Number of consecutive episodes of one task."""
        ...

    def claim(self) -> Assignment | None:
        """The next episode; None when there is none at the moment."""
        ...

    def exhausted(self) -> bool:
        """Whether there will never be another one."""
        ...

    def finish(self, index: int, trajectory: Trajectory) -> None: ...

    def abandon(self, index: int) -> None: ...


class ListSource:
    """A fixed list of tasks, each kept as a file when it is finished and not played again after a restart.

    Each task is played `samples` times: its episodes have numbers in a row and sample differently. Of several
    processes that fill one folder each plays its `share` of the tasks. Where the first MOST_LOST episodes have
    all failed, so would the others: `claim` raises InputError that says why the last one did.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        folder: Path,
        on_finish: Callable[[int, Trajectory], None],
        samples: int = 1,
        share: Share = WHOLE,
    ) -> None:
        self._tasks, self.folder, self._on_finish, self.group_size = tasks, folder, on_finish, samples
        self.done: dict[int, Trajectory] = {}
        folder.mkdir(parents=True, exist_ok=True)
        own = [index for index in range(len(tasks) * samples) if share.has(index // samples)]
        for index in own:
            if trajectory_path(folder, index).exists():
                self.done[index] = load_trajectory(trajectory_path(folder, index))
        self._open = [index for index in reversed(own) if index not in self.done]
        self._in_flight: set[int] = set()
        self._lost = 0  # in this process
        self._told = any(each.outcome.carries_reward or each.cannot_say for each in self.done.values())

    @property
    def lost(self) -> int:
        """Number of episodes that failed."""
        return sum(bool(loss_of(each)) for each in self.done.values())

    @property
    def last_loss(self) -> str:
        """The failure of the last episode that failed; empty: none has."""
        return next(filter(None, map(loss_of, reversed(self.done.values()))), "")

    def claim(self) -> Assignment | None:
        if not self._open:
            return None
        if self._lost >= MOST_LOST and not self._told:
            about = f"All of the first {self._lost} episodes were lost; see {self.folder}."
            raise InputError(f"{about} The last one: {self.last_loss:.1000}")
        index = self._open.pop()
        self._in_flight.add(index)
        return Assignment(index, self._tasks[index // self.group_size], index % self.group_size)

    def exhausted(self) -> bool:
        return not self._open and not self._in_flight  # what is in flight may come back

    def finish(self, index: int, trajectory: Trajectory) -> None:
        save_trajectory(trajectory_path(self.folder, index), trajectory)
        self.done[index] = trajectory
        if trajectory.outcome.carries_reward or trajectory.cannot_say:
            self._told = True
        else:
            self._lost += 1
        self._on_finish(len(self.done), trajectory)
        self._in_flight.remove(index)

    def abandon(self, index: int) -> None:
        self._in_flight.remove(index)
        self._open.append(index)


@dataclasses.dataclass
class PoolSource:
    """The learner's pool: endless, but never further ahead than the staleness bound allows.

    A pool puts another number in the place of one that has failed. Where every task fails, no batch would ever be full,
    so `claim` raises InputError that says why the last one did, once `most_lost` have failed in a row; it does so, too,
    where the judge cannot say of too many. A task that it cannot tell is drawn no more: the next one is, in its place.
    """

    pool: RolloutPool | MixedPool
    task_of: Callable[[int], Task]  # of the number of a group
    version: Callable[[], int]
    most_lost: int = MOST_LOST
    unjudged: Unjudged = dataclasses.field(default_factory=Unjudged)
    _lost: int = dataclasses.field(default=0, init=False)  # failed episodes since the last one that did not
    _reason: str = dataclasses.field(default="", init=False)

    @property
    def folder(self) -> Path:
        return self.pool.folder

    @property
    def group_size(self) -> int:
        return self.pool.config.group_size

    def claim(self) -> Assignment | None:
        if self._lost >= self.most_lost:
            raise InputError(
                f"The last {self._lost} episodes in a row were lost; see {self.pool.folder}. "
                f"The last one: {self._reason:.1000}"
            )
        self.unjudged.require_admitted()
        index = self.pool.claim(self.version())
        if index is None:
            return None
        try:
            task = self.pool.task(index, self._drawn)
        except BaseException:  # or nobody would ever play the number
            self.pool.abandon(index)
            raise
        config = self.pool.config
        alike = config.group_size if config.group_start == "fork" else 1
        return Assignment(index, Task.from_json(task), index % self.group_size, alike)

    def exhausted(self) -> bool:
        return False

    def finish(self, index: int, trajectory: Trajectory) -> None:
        self.pool.finish(index, trajectory)
        dropped = self.unjudged.drops(trajectory.task)
        self.unjudged.add(trajectory)
        if self.unjudged.drops(trajectory.task) and not dropped:
            print(f"task {trajectory.task['id']} is drawn no more: {trajectory.cannot_say:.200}", flush=True)
        if trajectory.cannot_say:
            return
        if trajectory.outcome is Outcome.FAILED:
            self._lost += 1
            self._reason = loss_of(trajectory)
        else:
            self._lost = 0

    def abandon(self, index: int) -> None:
        self.pool.abandon(index)

    def _drawn(self, group: int) -> dict[str, Any]:
        for number in itertools.islice(itertools.count(group, self.pool.stride), MOST_SKIPPED):
            if not self.unjudged.drops(task := self.task_of(number).to_json()):
                return task
        raise InputError(f"task.judge must be able to tell the tasks; it can tell none of {MOST_SKIPPED} in a row")
