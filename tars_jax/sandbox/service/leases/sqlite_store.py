"""Leases of one manager, in memory and in a SQLite file.

An operation is done in memory and answered when it is on the disk. All that came while the disk wrote the last batch is
the next one: one transaction, one flush, however many they are. A batch goes to SQLite as one JSON text and one
statement, as a thread that took up Python's lock again for each row would wait for the event loop each time.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import fcntl
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeVar

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.leases.lease import Lease, require_claim, require_id, require_renewal
from tars_jax.sandbox.service.leases.table import LeaseTable, Record

T = TypeVar("T")
GRACE_S = 10.0  # that a lease has at least when a manager has started: nobody could renew it while there was none
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS leases (id TEXT PRIMARY KEY, record TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_WRITE = "INSERT OR REPLACE INTO leases SELECT value ->> 0, value ->> 1 FROM json_each(?)"
_FORGET = "DELETE FROM leases WHERE id IN (SELECT value FROM json_each(?))"
_FACT = "INSERT OR REPLACE INTO facts VALUES (?, ?)"


def clock() -> float:
    """Seconds since the machine started: whoever sets the time of day moves no lease."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class _Batch:
    """What is written together, and who waits for it."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.written.add_done_callback(lambda done: done.exception())  # nobody may be waiting


class SqliteLeases:
    """The `Leases` of a file, which one process at a time has."""

    def __init__(self, file: Path, now: Callable[[], float] = clock) -> None:
        self._file, self._now = file, now
        self._table = LeaseTable()
        self._writing: _Batch | None = None
        self._next: _Batch | None = None
        self.commits = 0

    async def __aenter__(self) -> Self:
        """Raises InputError where the file cannot be had."""
        with contextlib.ExitStack() as stack:
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context(open(f"{self._file}.lock", "w"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                connection = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
                self._connection = stack.enter_context(contextlib.closing(connection))
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.executescript(_SCHEMA)
                self._load(started=True)
            except BlockingIOError as error:
                raise InputError(f"leases must have a file of their own; another manager has {self._file}") from error
            except (OSError, sqlite3.Error, ValueError, TypeError) as error:
                raise InputError(f"{self._file} must be a file of leases that can be written; got {error}") from error
            self._thread = concurrent.futures.ThreadPoolExecutor(1, "leases")
            stack.callback(self._thread.shutdown)
            self._waiting = asyncio.Event()
            self._writer = asyncio.create_task(self._write_batches())
            self._sweeper = asyncio.create_task(self._sweep())
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sweeper.cancel()
        while batch := self._next or self._writing:
            await asyncio.wait([batch.written])
        self._writer.cancel()
        await asyncio.gather(self._writer, self._sweeper, return_exceptions=True)
        self._open.close()

    def __len__(self) -> int:
        """The leases that have not ended."""
        return len(self._table)

    async def claim(
        self, id: str, holder: str, seconds: float, *, place: str = "", once: str = "", data: str = ""
    ) -> Lease:
        require_claim(id, seconds, holder=holder, place=place, once=once, data=data)
        return await self._do(id, lambda table, now: table.claim(now, id, holder, seconds, place, once, data))

    async def renew(self, id: str, fence: int, seconds: float | None = None, data: str | None = None) -> Lease:
        require_renewal(id, seconds, data)
        return await self._do(id, lambda table, now: table.renew(now, id, fence, seconds, data))

    async def release(self, id: str, fence: int) -> bool:
        require_id(id)
        return await self._do(id, lambda table, now: table.release(now, id, fence))

    async def look_up(self, id: str) -> Lease:
        require_id(id)
        return await self._do(id, lambda table, now: table.look_up(now, id))

    async def list(self, prefix: str = "") -> list[Lease]:
        return await self._do("", lambda table, now: table.list(now, prefix))

    async def _do(self, id: str, operation: Callable[[LeaseTable, float], T]) -> T:
        """Answers, a refusal too, when all that is known of `id` is on the disk; of "", whatever is known."""
        try:
            return operation(self._table, self._now())
        finally:
            if self._table.changed:
                self._gather()
            for batch in (self._next, self._writing):
                if batch is not None and (id in batch.ids or not id):
                    await asyncio.shield(batch.written)
                    break

    def _gather(self) -> None:
        if self._next is None:
            self._next = _Batch()
            self._waiting.set()
        self._next.ids.update(self._table.changed)

    async def _sweep(self) -> None:
        while True:
            due = self._table.sweep(now := self._now())
            if self._table.changed:
                self._gather()
            await asyncio.sleep(0.5 if due is None else min(0.5, max(0.02, due - now)))

    async def _write_batches(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            batch, self._next = self._next, None
            if batch is None:
                continue
            self._writing = batch
            changed, self._table.changed = self._table.changed, {}
            kept = [(id, _to_text(record)) for id, record in changed.items() if record is not None]
            forgotten = [id for id, record in changed.items() if record is None]
            try:
                work = (json.dumps(kept), json.dumps(forgotten) if forgotten else "", self._table.fence)
                await loop.run_in_executor(self._thread, self._write, *work)
            except sqlite3.Error as error:
                await self._fail(error)
            else:
                batch.written.set_result(None)
                self.commits += 1
            self._writing = None

    def _write(self, kept: str, forgotten: str, fence: int) -> None:
        """In the thread. Raises sqlite3.Error, and nothing was written."""
        connection = self._connection
        connection.execute("BEGIN")
        try:
            connection.execute(_WRITE, (kept,))
            if forgotten:
                connection.execute(_FORGET, (forgotten,))
            connection.execute(_FACT, ("fence", str(fence)))
            connection.execute("COMMIT")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

    async def _fail(self, error: sqlite3.Error) -> None:
        """Nobody was answered since the last batch that was written: what is known is again what the file says."""
        while True:
            failure = SandboxFailure("storage", f"leases cannot be written: {error}")
            for batch in (self._writing, self._next):
                if batch is not None and not batch.written.done():
                    batch.written.set_exception(failure)
            self._next = None
            try:
                self._load(started=False)
                return
            except sqlite3.Error as unreadable:  # nor read, for now
                error = unreadable
                await asyncio.sleep(1.0)

    def _load(self, *, started: bool) -> None:
        now, fence = self._now(), self._table.fence
        facts = dict(self._connection.execute("SELECT name, value FROM facts"))
        records = [Record(*json.loads(text)) for (text,) in self._connection.execute("SELECT record FROM leases")]
        if started:
            boot = _boot()
            for record in records:
                if facts.get("boot", boot) != boot:  # that clock began anew
                    record.until = now + (0.0 if record.ended else record.seconds)
                elif not record.ended:
                    record.until = max(record.until, now + min(GRACE_S, record.seconds))
            self._connection.execute(_FACT, ("boot", boot))
        self._table = LeaseTable(records, max(fence, int(facts.get("fence", 0))))


def _to_text(record: Record) -> str:
    return json.dumps(list(vars(record).values()))


def _boot() -> str:
    """Which start of the machine the clock counts from."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
