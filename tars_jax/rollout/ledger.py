"""What a pool reads back when its process has died: the ledger of a checkpoint, and the order of arrival beside it."""

from __future__ import annotations

import collections
import contextlib
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.trajectory import write_atomic

Batches = list[list[int]]  # numbers of episodes, one list for each batch


def read_ledger(ledger: Mapping[str, Any] | None) -> tuple[Batches, Batches]:
    """What each batch consumed, and what was filtered while it filled up. None: nothing yet.

    Raises InputError that says which field is wrong.
    """
    if ledger is None:
        return [], []
    tasks = ledger.get("tasks", {})
    if not isinstance(tasks, dict) or not all(group.isdecimal() for group in tasks):
        raise InputError(f"the pool's ledger: field tasks is {tasks!r:.60}, it takes an object of groups and tasks.")
    consumed = _batches("consumed", ledger.get("consumed"))
    filtered = _batches("filtered", ledger.get("filtered", [[] for _ in consumed]))
    if len(filtered) != len(consumed):
        raise InputError(
            f"the pool's ledger: field filtered has {len(filtered)} lists, it takes {len(consumed)}, as consumed has."
        )
    seen = collections.Counter(index for batch in consumed + filtered for index in batch)
    twice = next((index for index, count in seen.items() if count > 1), None)
    if twice is not None:
        raise InputError(f"the pool's ledger: fields consumed and filtered name task {twice} twice.")
    return consumed, filtered


def _batches(field: str, batches: Any) -> Batches:
    if not isinstance(batches, list) or not all(isinstance(batch, list) for batch in batches):
        raise InputError(f"the pool's ledger: field {field} is {batches!r:.60}, it takes a list of lists of numbers.")
    if not all(type(index) is int and index >= 0 for batch in batches for index in batch):
        raise InputError(f"the pool's ledger: field {field} holds something that is no task number.")
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
