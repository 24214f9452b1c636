"""The partially filled rollout pool: finished episodes wait here, on disk, until an update takes them.

Episodes are numbered 0, 1, 2, ...; what a number means is decided outside. `group_size` numbers in a row are a group,
episodes of one task, and a batch takes whole groups: those whose members have all ended. A number is at any time in one
place only:

    requeued or never claimed -> in flight -> ready -> consumed
                                     |          +-> filtered (its group's rewards were equal; never in a batch)
                                     +-> failed (kept and counted, never in a batch)

Filtering is dynamic sampling (DAPO, arXiv 2503.14476): a group whose returns are all equal teaches a comparison of its
members nothing, so the pool goes on without it until a batch is full. For one batch it filters at most `MOST_FILTERED`
groups for each of the batch's; after these it takes groups as they come. So an update ends, and does nothing, when all
is solved or nothing is.

Which batch a group gets into is decided by when it was complete: an update does not wait for long episodes, and a batch
holds more of the short ones than are played. In a pool that is `in_order` it is decided by when the group began: what a
batch holds says nothing of how long episodes last, and no token is learned from that is more than `max_staleness`
versions old, as those that began no later find room in the batches until then (`claim`).

An episode has finished when `INDEX.trajectory` stands in the folder: that file, not memory, is the event. What was
consumed is kept by the learner's checkpoint, as the pool's ledger, so that weights and consumption can never disagree.
A process killed at any moment resumes with every finished trajectory either in the ledger or ready, never both.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import pathlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.rollout.config import WHOLE, PoolConfig
from tars_jax.rollout.ledger import read_kept, stored_numbers, trajectory_path, write_arrivals
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.files import load_outline, load_trajectory, save_trajectory

MOST_FILTERED = 9  # verl's max_num_gen_batches of 10 counts the batch itself


class RolloutPool:
    """Thread-safe. `changed` is notified whenever an episode finishes, fails, is abandoned or is taken."""

    stride = 1  # between the numbers of two groups whose tasks are drawn alike

    def __init__(
        self,
        folder: pathlib.Path,
        config: PoolConfig,
        ledger: Mapping[str, Any] | None = None,
        changed: threading.Condition | None = None,
    ) -> None:
        """The pool in `folder`, as of the checkpoint that kept `ledger` (None: there is none yet).

        Trajectories on disk that the ledger does not name are ready again, in the order in which they arrived; numbers
        that were in flight are claimed again first. The ledger may be that of several processes, also of another number
        of them. Raises InputError that names a trajectory file that is missing or damaged, or what is wrong with the
        ledger. `changed`: one that several pools share.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.config = config
        share = config.share
        self._arrivals = folder / ("arrivals.txt" if share == WHOLE else f"arrivals-{share.number:04d}.txt")
        self.groups = config.groups  # of the next batch
        self.changed = changed or threading.Condition()
        self._next = share.number * config.group_size
        self._requeued: list[int] = []  # ascending
        self._in_flight: set[int] = set()
        self._ready: collections.OrderedDict[int, Trajectory] = collections.OrderedDict()  # in the order of arrival
        self._complete: collections.OrderedDict[int, None] = collections.OrderedDict()  # groups, in order of completion
        self._started: collections.Counter[int] = collections.Counter()  # of each group the numbers with a place in it
        self._begun: dict[int, int] = {}  # of each group that has started: the version that its first number met
        self._failed: set[int] = set()
        self._tasks: dict[int, dict[str, Any]] = {}  # of groups that no batch has taken
        self._consumed: list[list[int]] = []  # one list for each batch
        self._groups_taken = 0
        self._filtered: list[list[int]] = []  # one list for each batch: those that it went without
        self._aside: dict[int, Trajectory] = {}  # those that the next batch goes without
        self._left_out: list[Trajectory] = []
        self._restore(ledger)

    def _restore(self, ledger: Mapping[str, Any] | None) -> None:
        group, ours = self.config.group, self.config.share
        kept = read_kept(self.folder, self._arrivals, ledger, self.config.is_ours)
        waiting = {index: load_trajectory(trajectory_path(self.folder, index)) for index in kept.waiting}
        used = [index for batch in kept.consumed for index in batch]
        self._consumed, self._filtered = kept.consumed, kept.filtered
        self._groups_taken = len(set(map(group, used)))
        drawn = {} if ledger is None else {int(number): task for number, task in ledger.get("tasks", {}).items()}
        drawn |= {group(index): trajectory.task for index, trajectory in waiting.items()}
        settled = set(map(group, kept.settled))
        self._tasks = {number: task for number, task in drawn.items() if number not in settled and ours.has(number)}
        self._started.update(map(group, [*used, *waiting]))
        for index, trajectory in waiting.items():
            oldest = int(-staleness(trajectory, 0).max(initial=-len(self._consumed)))
            self._begun[group(index)] = min(oldest, self._begun.get(group(index), oldest))
        for index, trajectory in waiting.items():
            self._admit(index, trajectory)
        while self._next <= max(kept.arrived, default=-1):
            if self._next not in kept.arrived:
                self._requeued.append(self._next)
            self._next = self.config.after(self._next)
        write_arrivals(self._arrivals, kept.arrived)

    # The workers' side

    def claim(self, version: int, begins: bool | None = None) -> int | None:
        """The number of the next episode to play, or None while one more could become staler than allowed. `begins`: a
        new group may begin all the same, or none may; None: while there is room.

        `version` counts the updates made. As in AReaL (arXiv 2505.24298, section 5.1), an episode may start while
        started < (version + max_staleness + 1) * min_batch, counted in whole groups: a group that has started goes on.
        Failed episodes do not count as started. None, too, while no update will take another episode.

        A batch that was taken counts as one on both sides, whatever part of it was this process's: a run that goes on
        with other shares lacks nothing for its next one.
        """
        with self.changed:
            batches = version + self.config.max_staleness + 1
            if self.config.updates is not None:
                batches = min(batches, self.config.updates)
            ahead = (batches - len(self._consumed)) * self.groups
            room = len(self._started) - self._groups_taken < ahead if begins is None else begins
            candidates = [*self._requeued, self._next]
            index = next((index for index in candidates if room or self.config.group(index) in self._started), None)
            if index is None:
                return None
            if index == self._next:
                self._next = self.config.after(index)
            else:
                self._requeued.remove(index)
            self._in_flight.add(index)
            self._started[self.config.group(index)] += 1
            self._begun.setdefault(self.config.group(index), version)
            return index

    def task(self, index: int, draw: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
        """The task of `index`: what was drawn when the first number of its group asked, also before a resume.

        `draw` takes the number of the group and may depend on what the learner has seen since.
        """
        group = self.config.group(index)
        with self.changed:
            if group not in self._tasks:
                self._tasks[group] = draw(group)
            return self._tasks[group]

    def finish(self, index: int, trajectory: Trajectory) -> None:
        """Keep a finished episode, a failed one too. When this returns it survives the death of the process.

        Raises ValueError if `index` is not in flight, and what `save_trajectory` raises: the number is then still in
        flight, to be finished again or abandoned.
        """
        self._require_in_flight(index)
        save_trajectory(trajectory_path(self.folder, index), trajectory)  # outside the lock: it waits for the disk
        with self.changed:
            # On a disk that is just full it has finished all the same, and loses its place in the queue at a resume.
            with contextlib.suppress(OSError), open(self._arrivals, "a", encoding="ascii") as arrivals:
                arrivals.write(f"{index}\n")
            self._in_flight.remove(index)
            self._admit(index, trajectory)
            self.changed.notify_all()

    def abandon(self, index: int) -> None:
        """Give a number back whose episode was cut off before its end; it is claimed again first."""
        self._require_in_flight(index)
        with self.changed:
            self._in_flight.remove(index)
            self._withdraw(index)
            self._requeued = sorted([*self._requeued, index])
            self.changed.notify_all()

    # The learner's side

    def ready(self) -> int:
        """Number of trajectories that wait to be taken, or for the rest of their group."""
        with self.changed:
            return len(self._ready)

    def arrived(self) -> list[int]:
        """The numbers of the trajectories that are `ready`, in the order in which they arrived."""
        with self.changed:
            return list(self._ready)

    def has_batch(self) -> bool:
        with self.changed:
            return self._next_batch() is not None

    def complete(self) -> int:
        """Number of groups that a batch could take, whatever the size of a batch."""
        with self.changed:
            if not self.config.in_order:
                return len(self._complete)
            return sum(1 for _ in itertools.takewhile(self._complete.__contains__, self._in_order()))

    def ahead(self) -> tuple[bool, float]:
        """Returns (every started group is fully claimed, started-but-untaken groups per batch). The pool with the lower
        ratio needs episodes more."""
        with self.changed:
            begun = any(self.config.group(index) in self._started for index in (*self._requeued, self._next))
            return not begun, (len(self._started) - self._groups_taken) / max(self.groups, 1)

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks until a batch can be taken, at most `timeout` seconds; whether it can."""
        with self.changed:
            return self.changed.wait_for(self.has_batch, timeout)

    def take(self) -> list[Trajectory] | None:
        """The `min_batch` trajectories of the groups that were complete first, or began first where the pool is
        `in_order`; in that order, or None while these are not complete. Failed members are left out: with groups a
        batch can be smaller by them, and it is never empty.

        They leave memory here, and are used up as soon as a checkpoint keeps the ledger; their files stay.
        """
        with self.changed:
            if (groups := self._next_batch()) is None:
                return None
            for group in groups:
                del self._complete[group], self._begun[group]
                self._tasks.pop(group, None)
            members = [index for group in groups for index in self._members(group) if index in self._ready]
            batch = [(index, self._ready.pop(index)) for index in members]
            self._consumed.append([index for index, _ in batch])
            self._groups_taken += len(groups)
            self._filtered.append(list(self._aside))
            self._left_out, self._aside = list(self._aside.values()), {}
            self.changed.notify_all()
            return [trajectory for _, trajectory in batch]

    def resize(self, groups: int) -> None:
        """Groups that the next batches are made of. Where these are fewer than before, some of what has started waits
        an update longer."""
        with self.changed:
            self.groups = groups
            self.changed.notify_all()

    def left_out(self) -> list[Trajectory]:
        """Trajectories that were filtered while the last taken batch filled up: nobody learns from them, a curriculum
        may."""
        with self.changed:
            return self._left_out

    def ledger(self) -> dict[str, Any]:
        """The episodes that were taken and the tasks that were drawn for the rest, as JSON: {"consumed": [[index, ...]
        for each batch], "filtered": [[index, ...] for each batch], "tasks": {group: task}}. Belongs into the same
        checkpoint as the weights that were made of it. What was filtered since the last batch is not in it: a resume
        filters it again, in the same order."""
        with self.changed:
            return {
                "consumed": [list(batch) for batch in self._consumed],
                "filtered": [list(batch) for batch in self._filtered],
                "tasks": {str(group): task for group, task in self._tasks.items()},
            }

    def counts(self) -> dict[str, int]:
        """Number of episodes in each state."""
        with self.changed:
            return {
                "requeued": len(self._requeued),
                "in_flight": len(self._in_flight),
                "ready": len(self._ready),
                "consumed": sum(map(len, self._consumed)),
                "filtered": sum(map(len, self._filtered)) + len(self._aside),
                "failed": len(self._failed),
            }

    def outlines(self) -> Iterator[Trajectory]:
        """All episodes of this process that have finished, failed and taken ones, too, without steps and windows."""
        for index in sorted(filter(self.config.is_ours, stored_numbers(self.folder))):
            yield load_outline(trajectory_path(self.folder, index))

    def _admit(self, index: int, trajectory: Trajectory) -> None:
        if trajectory.outcome is Outcome.FAILED:
            self._failed.add(index)
            self._withdraw(index)
        else:
            self._ready[index] = trajectory
        group = self.config.group(index)
        members = self._members(group)
        if all(member in self._ready or member in self._failed for member in members):
            ended = [member for member in members if member in self._ready]
            if ended and not self._filters(ended):
                self._complete[group] = None
                return
            for member in ended:
                self._aside[member] = self._ready.pop(member)
                self._withdraw(member)
            self._tasks.pop(group, None)

    def _filters(self, members: Sequence[int]) -> bool:
        """Whether a group is kept out of the batch that is being filled."""
        if not self.config.dynamic_sampling or len({self._ready[member].reward for member in members}) > 1:
            return False
        groups = len({self.config.group(member) for member in self._aside})
        return groups < MOST_FILTERED * self.groups

    def _next_batch(self) -> list[int] | None:
        """The groups of the next batch, None while it has to wait."""
        chosen = (self._in_order() if self.config.in_order else list(self._complete))[: self.groups]
        return chosen if len(chosen) == self.groups and all(group in self._complete for group in chosen) else None

    def _in_order(self) -> list[int]:
        """The groups that have begun. What was cut off begins anew, under a later version than its number says."""
        return sorted(self._begun, key=lambda group: (self._begun[group], group))

    def _members(self, group: int) -> range:
        return range(group * self.config.group_size, (group + 1) * self.config.group_size)

    def _withdraw(self, index: int) -> None:
        """Takes a number out of its group; a group without any number has not started."""
        group = self.config.group(index)
        self._started[group] -= 1
        if not self._started[group]:
            del self._started[group]
            self._begun.pop(group, None)

    def _require_in_flight(self, index: int) -> None:
        with self.changed:
            if index not in self._in_flight:
                raise ValueError(f"task {index} is not in flight")


def staleness(trajectory: Trajectory, version: int) -> np.ndarray:
    """[N] int32: for each action token, in order, how many updates before `version` it was sampled."""
    tokens = [version - window.versions[window.action_mask] for window in trajectory.windows]
    return np.concatenate([np.zeros(0, np.int32), *tokens]).astype(np.int32)
