"""The partially filled rollout pool: finished episodes wait here, on disk, until an update takes them.

Tasks are numbered 0, 1, 2, ...; what a number means is decided outside, by a pure function. A number is at any time
in one place only:

    requeued or never claimed -> in flight -> ready -> consumed
                                     +-> failed (kept and counted, never in a batch)

An episode has finished when `INDEX.trajectory` stands in the folder: that file, not memory, is the event. What was
consumed is kept by the learner's checkpoint, as the pool's ledger, so that weights and consumption can never disagree.
A process killed at any moment resumes with every finished trajectory either in the ledger or ready, never both.
"""

from __future__ import annotations

import collections
import contextlib
import pathlib
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from tars_jax import InputError
from tars_jax.trajectory import Outcome, Trajectory, load_trajectory, save_trajectory, write_atomic

_ARRIVALS = "arrivals.txt"


class RolloutPool:
    """Thread-safe. `changed` is notified whenever an episode finishes, fails, is abandoned or is taken."""

    def __init__(self, folder: pathlib.Path, *, min_batch: int, max_staleness: int) -> None:
        """A fresh pool. Raises InputError for impossible numbers and for a folder that already holds trajectories."""
        self._set_up(folder, min_batch, max_staleness)
        for path in folder.glob("*.trajectory"):
            raise InputError(
                f"{folder} holds {path.name}; a fresh pool takes an empty folder, RolloutPool.resume this."
            )

    def _set_up(self, folder: pathlib.Path, min_batch: int, max_staleness: int) -> None:
        if min_batch < 1:
            raise InputError(f"min_batch is {min_batch}, it takes at least 1.")
        if max_staleness < 0:
            raise InputError(f"max_staleness is {max_staleness}, it takes at least 0.")
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.min_batch = min_batch
        self.max_staleness = max_staleness
        self.changed = threading.Condition()
        self._next = 0
        self._requeued: list[int] = []  # ascending
        self._in_flight: set[int] = set()
        self._ready: collections.OrderedDict[int, Trajectory] = collections.OrderedDict()  # in the order of arrival
        self._failed: set[int] = set()
        self._consumed: list[list[int]] = []  # one list for each batch

    @classmethod
    def resume(
        cls, folder: pathlib.Path, ledger: Mapping[str, Any] | None, *, min_batch: int, max_staleness: int
    ) -> Self:
        """The pool of a process that died, as of the checkpoint that kept `ledger` (None: died before the first one).

        Trajectories on disk that the ledger does not name are ready again, in the order in which they arrived; numbers
        that were in flight are claimed again first. Raises InputError that names a trajectory file that is missing or
        damaged, or what is wrong with the ledger.
        """
        pool = cls.__new__(cls)
        pool._set_up(folder, min_batch, max_staleness)
        consumed = _read_ledger(ledger)
        stored = {int(path.stem): path for path in folder.glob("*.trajectory") if path.stem.isdecimal()}
        used = {index for batch in consumed for index in batch}
        for index in used - stored.keys():
            missing = trajectory_path(folder, index)
            raise InputError(f"{missing} is missing, and the checkpoint's ledger says that it was used.")
        arrived = _read_arrivals(folder / _ARRIVALS)
        order = [index for index in arrived if index in stored]
        late = sorted(stored.keys() - set(order))  # killed between the file and its line
        trajectories = {index: load_trajectory(stored[index]) for index in [*order, *late] if index not in used}

        pool._consumed = consumed
        for index, trajectory in trajectories.items():
            pool._admit(index, trajectory)
        pool._next = max(stored, default=-1) + 1
        pool._requeued = [index for index in range(pool._next) if index not in stored]
        _write_arrivals(folder / _ARRIVALS, [*order, *late])
        return pool

    # The workers' side

    def claim(self, version: int) -> int | None:
        """The number of the next task to play, or None while one more episode could become staler than allowed.

        `version` counts the updates made. As in AReaL (arXiv 2505.24298, section 5.1), an episode may start while
        started < (version + max_staleness + 1) * min_batch; failed episodes do not count as started.
        """
        with self.changed:
            started = sum(map(len, self._consumed)) + len(self._ready) + len(self._in_flight)
            if started >= (version + self.max_staleness + 1) * self.min_batch:
                return None
            if self._requeued:
                index = self._requeued.pop(0)
            else:
                index, self._next = self._next, self._next + 1
            self._in_flight.add(index)
            return index

    def finish(self, index: int, trajectory: Trajectory) -> None:
        """Keep a finished episode, a failed one too. When this returns it survives the death of the process.

        Raises ValueError if `index` is not in flight, and what `save_trajectory` raises: the number is then still in
        flight, to be finished again or abandoned.
        """
        self._require_in_flight(index)
        save_trajectory(trajectory_path(self.folder, index), trajectory)  # outside the lock: it waits for the disk
        with self.changed:
            # On a disk that is just full it has finished all the same, and loses its place in the queue at a resume.
            with contextlib.suppress(OSError), open(self.folder / _ARRIVALS, "a", encoding="ascii") as arrivals:
                arrivals.write(f"{index}\n")
            self._in_flight.remove(index)
            self._admit(index, trajectory)
            self.changed.notify_all()

    def abandon(self, index: int) -> None:
        """Give a number back whose episode was cut off before its end; it is claimed again first."""
        self._require_in_flight(index)
        with self.changed:
            self._in_flight.remove(index)
            self._requeued = sorted([*self._requeued, index])
            self.changed.notify_all()

    # The learner's side

    def ready(self) -> int:
        """How many trajectories wait to be taken."""
        with self.changed:
            return len(self._ready)

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks until a batch can be taken, at most `timeout` seconds; whether it can."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self._ready) >= self.min_batch, timeout)

    def take(self) -> list[Trajectory] | None:
        """The `min_batch` trajectories that finished first, in that order, or None while there are fewer.

        They leave memory here, and are used up as soon as a checkpoint keeps the ledger; their files stay.
        """
        with self.changed:
            if len(self._ready) < self.min_batch:
                return None
            batch = [self._ready.popitem(last=False) for _ in range(self.min_batch)]
            self._consumed.append([index for index, _ in batch])
            self.changed.notify_all()
            return [trajectory for _, trajectory in batch]

    def ledger(self) -> dict[str, Any]:
        """What has been taken, as JSON: {"consumed": [[index, ...] for each batch]}. Belongs into the same checkpoint
        as the weights that were made of it."""
        with self.changed:
            return {"consumed": [list(batch) for batch in self._consumed]}

    def counts(self) -> dict[str, int]:
        """How many numbers are in which place."""
        with self.changed:
            return {
                "requeued": len(self._requeued),
                "in_flight": len(self._in_flight),
                "ready": len(self._ready),
                "consumed": sum(map(len, self._consumed)),
                "failed": len(self._failed),
            }

    def _admit(self, index: int, trajectory: Trajectory) -> None:
        if trajectory.outcome is Outcome.FAILED:
            self._failed.add(index)
        else:
            self._ready[index] = trajectory

    def _require_in_flight(self, index: int) -> None:
        with self.changed:
            if index not in self._in_flight:
                raise ValueError(f"task {index} is not in flight")


def staleness(trajectory: Trajectory, version: int) -> np.ndarray:
    """[N] int32: for each action token, in order, how many updates before `version` it was sampled."""
    tokens = [version - window.versions[window.action_mask] for window in trajectory.windows]
    return np.concatenate([np.zeros(0, np.int32), *tokens]).astype(np.int32)


def trajectory_path(folder: pathlib.Path, index: int) -> pathlib.Path:
    """Where the pool in `folder` keeps the episode of task `index`."""
    return folder / f"{index:08d}.trajectory"


# The order of arrival: one number a line, appended when an episode has finished. It is an order, never a record of what
# exists: a line lost with the power costs a place in the queue, and nothing more.


def _read_arrivals(path: pathlib.Path) -> list[int]:
    """The numbers in order, each once; what is torn or no number is dropped."""
    with contextlib.suppress(FileNotFoundError):
        lines = path.read_bytes().split(b"\n")[:-1]  # after the last line break nothing, or a torn line
        return list(dict.fromkeys(int(line) for line in lines if line.isdigit()))
    return []


def _write_arrivals(path: pathlib.Path, indices: Iterable[int]) -> None:
    write_atomic(path, "".join(f"{index}\n" for index in indices).encode())


def _read_ledger(ledger: Mapping[str, Any] | None) -> list[list[int]]:
    if ledger is None:
        return []
    batches = ledger.get("consumed")
    if not isinstance(batches, list) or not all(isinstance(batch, list) for batch in batches):
        raise InputError(f"the pool's ledger: field consumed is {batches!r:.60}, it takes a list of lists of numbers.")
    indices = [index for batch in batches for index in batch]
    if not all(type(index) is int and index >= 0 for index in indices):
        raise InputError("the pool's ledger: field consumed holds something that is no task number.")
    if len(set(indices)) < len(indices):
        twice = next(index for index, count in collections.Counter(indices).items() if count > 1)
        raise InputError(f"the pool's ledger: field consumed names task {twice} twice.")
    return [list(batch) for batch in batches]
