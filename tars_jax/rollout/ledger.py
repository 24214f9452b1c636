"""Recovery of a pool whose process has died: the ledger of a checkpoint, and the episodes' files."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.files import write_atomic

Batches = list[list[int]]  # numbers of episodes, one list for each batch


@dataclasses.dataclass(frozen=True)
class KeptEpisodes:
    """State of a process's episodes, as read back."""

    arrived: list[int]  # all that have a file, in the order of arrival
    consumed: Batches
    filtered: Batches

    @property
    def settled(self) -> set[int]:
        """Episodes that no batch will take any more."""
        return {index for batch in self.consumed + self.filtered for index in batch}

    @property
    def waiting(self) -> list[int]:
        settled = self.settled
        return [index for index in self.arrived if index not in settled]


def read_kept(
    folder: pathlib.Path,
    arrivals: pathlib.Path,
    ledger: Mapping[str, Any] | None,
    is_ours: Callable[[int], bool],
) -> KeptEpisodes:
    """The numbers that are this process's, as of the checkpoint that kept `ledger` (None: there was none).

    Raises InputError that says what is wrong with the ledger, or names a file that it counts on.
    """
    consumed, filtered = read_ledger(ledger)
    stored = stored_numbers(folder)
    for index in {index for batch in consumed + filtered for index in batch} - stored:
        missing = trajectory_path(folder, index)
        raise InputError(f"{missing} is missing, and the checkpoint's ledger says that it was used or filtered.")
    # The others' files had to be there, too; from here on it is about this process's numbers alone.
    consumed, filtered = ([list(filter(is_ours, batch)) for batch in each] for each in (consumed, filtered))
    stored = set(filter(is_ours, stored))
    arrived = [index for index in read_arrivals(arrivals) if index in stored]
    late = sorted(stored - set(arrived))  # killed between the file and its line
    return KeptEpisodes([*arrived, *late], consumed, filtered)


def stored_numbers(folder: pathlib.Path) -> set[int]:
    """The numbers of all episodes that have finished."""
    return {int(path.stem) for path in folder.glob("*.trajectory") if path.stem.isdecimal()}


def trajectory_path(folder: pathlib.Path, index: int) -> pathlib.Path:
    """Path at which the pool in `folder` keeps the episode of task `index`."""
    return folder / f"{index:08d}.trajectory"


def read_ledger(ledger: Mapping[str, Any] | None) -> tuple[Batches, Batches]:
    """Reads which episodes each batch consumed, and which were filtered while it filled up. None: nothing yet.

    Raises InputError that says which field is wrong.
    """
    if ledger is None:
        return [], []
    tasks = ledger.get("tasks", {})
    if not isinstance(tasks, dict) or not all(group.isdecimal() for group in tasks):
        raise InputError(f"the pool's ledger: field tasks must be an object of groups and tasks; got {tasks!r:.60}")
    consumed = _batches("consumed", ledger.get("consumed"))
    filtered = _batches("filtered", ledger.get("filtered", [[] for _ in consumed]))
    if len(filtered) != len(consumed):
        raise InputError(
            f"the pool's ledger: field filtered must have {len(consumed)} lists, as consumed has; got {len(filtered)}"
        )
    seen = collections.Counter(index for batch in consumed + filtered for index in batch)
    twice = next((index for index, count in seen.items() if count > 1), None)
    if twice is not None:
        raise InputError(
            f"the pool's ledger: fields consumed and filtered must name a task once; got task {twice} twice"
        )
    return consumed, filtered


def _batches(field: str, batches: Any) -> Batches:
    if not isinstance(batches, list) or not all(isinstance(batch, list) for batch in batches):
        raise InputError(f"the pool's ledger: field {field} must be a list of lists of numbers; got {batches!r:.60}")
    if not all(type(index) is int and index >= 0 for batch in batches for index in batch):
        raise InputError(f"the pool's ledger: field {field} must hold numbers of tasks, 0 or more; got {batches!r:.60}")
    return [list(batch) for batch in batches]


# The order of arrival: one number a line, appended when an episode has finished. It is an order, never a record of what
# exists: a line lost with the power costs a place in the queue, and nothing more.


def read_arrivals(path: pathlib.Path) -> list[int]:
    """The numbers in order, each once; what is torn or no number is dropped."""
    with contextlib.suppress(FileNotFoundError):
        lines = path.read_bytes().split(b"\n")[:-1]  # after the last line break nothing, or a torn line
        return list(dict.fromkeys(int(line) for line in lines if line.isdigit()))
    return []


def write_arrivals(path: pathlib.Path, indices: Iterable[int]) -> None:
    write_atomic(path, "".join(f"{index}\n" for index in indices).encode())
