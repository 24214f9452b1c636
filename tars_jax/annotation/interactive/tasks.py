"""Tasks for annotators: leased to one at a time, the policy's recent failures first."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence

from tars_jax.annotation.interactive.core import Conflict
from tars_jax.environment import Task

RECENT = 0.5  # what a failure counts after one more episode of its task


@dataclasses.dataclass
class Row:
    """A task, with what is known of it."""

    task: Task
    failures: float = 0.0  # of the policy: recent ones count more
    done: int = 0  # episodes that annotators have ended
    session: str | None = None  # that is open, or kept unfinished
    owner: str | None = None  # who had that session last
    leased_by: str | None = None
    expires: float = 0.0  # of the lease, on the service's clock
    streams: int = 0  # tabs that watch the session
    opening: int = 0  # who wait for the session: a lease does not run out meanwhile
    one_opens: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)

    def leased(self, now: float) -> str | None:
        return self.leased_by if self.opening or now < self.expires else None


class TaskBoard:
    """All tasks. Times are seconds of any clock that does not go back."""

    def __init__(self, tasks: Sequence[Task], failures: Mapping[str, float], lease_seconds: float) -> None:
        self.rows = {task.id: Row(task, failures.get(task.id, 0.0)) for task in tasks}
        self.lease_seconds = lease_seconds

    def row(self, task: str) -> Row:
        if task not in self.rows:
            raise Conflict(f"task must be one of the {len(self.rows)} that there are; got {task[:80]!r}")
        return self.rows[task]

    def of_session(self, session: str) -> Row | None:
        return next((row for row in self.rows.values() if row.session == session), None)

    def lease(self, task: str, name: str, now: float) -> Row:
        """Raises Conflict where somebody else has it, or the same person in another tab."""
        row = self.row(task)
        holder = row.leased(now)
        if holder is not None and holder != name:
            raise Conflict(f"task {task} is being annotated by {holder}; its lease ends in {row.expires - now:.0f} s")
        if holder == name and row.streams:
            raise Conflict(f"task {task} is open in another tab of yours; close that one, or go on there")
        row.leased_by, row.expires = name, now + self.lease_seconds
        return row

    def next_for(self, name: str, now: float) -> Row:
        """The annotator's own session that no tab shows, also one of before a crash; else the task that the policy has
        failed most, that has been annotated least. Raises Conflict where none is free."""
        quiet = [row for row in self.rows.values() if not row.streams]
        own = [row for row in quiet if row.leased(now) == name and (row.session or row.opening)]
        own += [row for row in quiet if row.leased(now) is None and row.session and row.owner == name]
        free = [row for row in self.rows.values() if row.leased(now) is None]
        if not own and not free:
            raise Conflict(f"a task must be free; all {len(self.rows)} are being annotated")
        order = sorted(free, key=lambda row: (row.done > 0, row.session is None, -row.failures, row.done))
        return self.lease((own or order)[0].task.id, name, now)

    def renew(self, row: Row, now: float) -> None:
        if row.leased(now) is not None:
            row.expires = now + self.lease_seconds

    def release(self, row: Row) -> None:
        row.leased_by, row.expires, row.streams = None, 0.0, 0

    def ended(self, row: Row, *, failed: bool) -> None:
        """An episode of the task is over; `failed`: the policy would not have done it alone."""
        row.done, row.session, row.owner = row.done + 1, None, None
        row.failures = RECENT * row.failures + float(failed)
        self.release(row)
