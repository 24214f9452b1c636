"""The index of a store: SQLite tables that hold what the journal's events come to, and can be made again from them.

It is read without a lock (WAL) by any number of processes, and written by whoever holds the journal's. Below a mount
that can only be read it is taken as it lies there, or, where that is not all of the journal, made in memory.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tars_jax import InputError
from tars_jax.data.store.journal import INDEX as FILE
from tars_jax.data.store.journal import StoreJournal
from tars_jax.data.store.verdicts import Verdict, counted
from tars_jax.launcher import LAUNCHER

AT_A_TIME = 10_000  # episodes that are added together
WAIT_S = 60.0  # for another process that writes
COLUMNS = (
    "id", "task", "start", "environment", "seed", "source", "weights", "cycle", "parent", "run", "purpose", "outcome",
    "reward", "steps", "tokens", "time", "images", "verdict", "judged_by", "contradictory", "stage", "version",
    "played",
)  # fmt: skip
LAYOUT = 3  # of the tables: an index of another one is made anew
_SCHEMA = """
CREATE TABLE IF NOT EXISTS episodes (
    id TEXT PRIMARY KEY, task TEXT, start TEXT, environment TEXT, seed INTEGER, source TEXT, weights TEXT,
    cycle INTEGER, parent TEXT, run TEXT, purpose TEXT, outcome TEXT, reward REAL, steps INTEGER, tokens INTEGER,
    time REAL, images TEXT, verdict INTEGER, judged_by TEXT DEFAULT '', contradictory INTEGER DEFAULT 0,
    stage TEXT DEFAULT '', version INTEGER DEFAULT -1,
    played TEXT DEFAULT ''
);
CREATE INDEX IF NOT EXISTS by_cycle ON episodes (cycle, verdict);
CREATE INDEX IF NOT EXISTS by_task ON episodes (task);
CREATE INDEX IF NOT EXISTS by_played ON episodes (played);
CREATE TABLE IF NOT EXISTS verdicts (episode TEXT, number INTEGER, said TEXT, PRIMARY KEY (episode, number));
CREATE TABLE IF NOT EXISTS members (
    name TEXT, episode TEXT, batch TEXT, place INTEGER, PRIMARY KEY (name, episode)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_episode ON members (episode);
CREATE TABLE IF NOT EXISTS batches (name TEXT, batch TEXT, PRIMARY KEY (name, batch)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leavers (
    name TEXT, episode TEXT, batch TEXT, PRIMARY KEY (name, episode, batch)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS held_out (task TEXT PRIMARY KEY, start TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS applied (one INTEGER PRIMARY KEY CHECK (one = 0), bytes INTEGER);
INSERT OR IGNORE INTO applied VALUES (0, 0);
"""
TABLES = ("episodes", "verdicts", "members", "batches", "leavers", "held_out")
_ADD = f"INSERT OR IGNORE INTO episodes ({', '.join(COLUMNS)}) VALUES ({', '.join(':' + name for name in COLUMNS)})"


class Index:
    """Opens the index of a store's folder and brings it up to the journal."""

    def __init__(self, folder: Path, journal: StoreJournal) -> None:
        """Raises InputError for a file that is no index."""
        self.file, self._journal = folder / FILE, journal
        self._identity: tuple[int, int] | None = None  # of the file that is open; None: it is never written
        self._open()

    def _open(self) -> None:
        try:
            if not self._journal.is_writable:
                self.connection = self._as_it_lies() or self._in_memory()
                return
            self.connection = self._connected(str(self.file))
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.execute("PRAGMA synchronous=NORMAL")  # what a power cut takes is made again
            self._forget_other_layout()
            self.connection.executescript(_SCHEMA)
            self._identity = _identity(self.file)
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _connected(self, file: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            file, timeout=WAIT_S, isolation_level=None, check_same_thread=False, uri=file.startswith("file:")
        )
        connection.row_factory = sqlite3.Row
        return connection

    def _as_it_lies(self) -> sqlite3.Connection | None:
        """The file, of which nothing more is to come: what its write-ahead log has would be passed over."""
        log = self.file.with_name(f"{FILE}-wal")
        if not self.file.is_file() or (log.exists() and log.stat().st_size):
            return None
        connection = self._connected(f"file:{quote(str(self.file.absolute()))}?mode=ro&immutable=1")
        try:
            if _layout(connection) == LAYOUT and self._journal_has(_applied(connection)):
                return connection
        except sqlite3.Error:  # the journal is there all the same
            pass
        connection.close()
        return None

    def _journal_has(self, applied: int | None) -> bool:
        """Whether that is all of it. Raises InputError where the tables hold more: it has lost lines."""
        size = self._journal.size()
        if applied is not None and applied > size:
            raise self._journal.lost(f"{size} bytes are left of {applied}, which {FILE} holds")
        return applied == size

    def _in_memory(self) -> sqlite3.Connection:
        connection = self._connected(":memory:")
        connection.executescript(_SCHEMA)
        return connection

    def _forget_other_layout(self) -> None:
        if _layout(self.connection) == LAYOUT:
            return
        with self._transaction():
            if _layout(self.connection) != LAYOUT:  # nobody else has done it meanwhile
                if self.rows("SELECT 1 FROM sqlite_master WHERE name = 'applied'"):
                    self._journal_has(_applied(self.connection))
                for table in (*TABLES, "applied"):
                    self.connection.execute(f"DROP TABLE IF EXISTS {table}")
                self.connection.execute(f"PRAGMA user_version = {LAYOUT}")

    def close(self) -> None:
        self.connection.close()

    def is_behind(self) -> bool:
        if self._identity is not None and self._identity != _identity(self.file):  # removed, by a repair for one
            self.connection.close()
            self._open()
        return self.applied() != self._journal.size()

    def applied(self) -> int:
        """Bytes of the journal that the tables hold. Raises InputError where the file is damaged."""
        try:
            if (found := _applied(self.connection)) is not None:
                return found
        except sqlite3.Error as error:
            raise self._error(error) from error
        raise self._error("it does not say how much of the journal it holds")

    def catch_up(self) -> None:
        """Applies the journal's new lines; its lock must be held where anybody may write. Raises InputError for a
        damaged line, and where lines are lost."""
        if not self.is_behind():
            return
        if not self._journal.is_writable:
            self.connection.close()
            self.connection = self._in_memory()
        start = self.applied()
        self._journal_has(start)
        with self._transaction():
            end, added, judged = start, list[dict[str, Any]](), dict[str, None]()
            for event, after in self._journal.events(start):
                if "add" in event:
                    added.append(event["add"])
                if added and ("add" not in event or len(added) == AT_A_TIME):
                    self._add(added)
                    added = []
                judged |= dict.fromkeys(self._apply(event))
                end = after
            self._add(added)
            self._count_verdicts(judged)
            self.connection.execute("UPDATE applied SET bytes = ?", (end,))

    def clear(self) -> None:
        with self._transaction():
            for table in TABLES:
                self.connection.execute(f"DELETE FROM {table}")
            self.connection.execute("UPDATE applied SET bytes = 0")

    def rows(self, sql: str, values: Iterable[Any] = ()) -> list[sqlite3.Row]:
        """Raises InputError where the file is damaged, and for a text that has no UTF-8 form."""
        try:
            return self.connection.execute(sql, tuple(values)).fetchall()
        except sqlite3.Error as error:
            raise self._error(error) from error
        except UnicodeEncodeError as error:
            raise InputError(f"names in a store must have a UTF-8 form; got {error.object!r:.80}") from error

    def _error(self, error: sqlite3.Error | str) -> Exception:
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.file))
        return InputError(
            f"{self.file} must be a store's index; got {error}; {LAUNCHER} store --config.action=repair makes "
            "it anew from the journal"
        )

    def verdicts(self, episode: str) -> list[Verdict]:
        """Verdicts on an episode, the oldest first."""
        found = self.rows("SELECT said FROM verdicts WHERE episode = ? ORDER BY number", (episode,))
        return [Verdict.from_json(json.loads(row["said"])) for row in found]

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # some errors have rolled back already
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _apply(self, event: Mapping[str, Any]) -> list[str]:
        """Returns the episodes whose verdict is to be counted anew."""
        match event:
            case {"add": _}:  # with others
                pass
            case {"verdict": said, "episode": id}:
                self._say(id, said)
                return [id]
            case {"assign": ids, "set": name, "batch": batch}:
                self.connection.execute("INSERT OR IGNORE INTO batches VALUES (?, ?)", (name, batch))
                self.connection.executemany(
                    "INSERT OR IGNORE INTO members VALUES (?, ?, ?, ?)",
                    [(name, id, batch, place) for place, id in enumerate(ids)],
                )
            case {"leave": ids, "set": name, "batch": batch}:
                self.connection.executemany(
                    "DELETE FROM members WHERE name = ? AND episode = ?", [(name, id) for id in ids]
                )
                self.connection.executemany(
                    "INSERT OR IGNORE INTO leavers VALUES (?, ?, ?)", [(name, id, batch) for id in ids]
                )
            case {"hold_out": tasks}:
                self.connection.executemany(
                    "INSERT INTO held_out VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET start = excluded.start "
                    "WHERE excluded.start != ''",
                    [(task, start) for task, start in tasks],
                )
            case {"drop": id}:
                self.connection.execute("DELETE FROM episodes WHERE id = ?", (id,))
                for table in ("verdicts", "members", "leavers"):
                    self.connection.execute(f"DELETE FROM {table} WHERE episode = ?", (id,))
            case _:
                raise AssertionError(f"checked() lets no other event pass: {list(event)}")
        return []

    def _add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """An episode that is there already stays as it is."""
        episodes, verdicts = [], []
        for row in rows:
            value, by, contradictory = counted(Verdict.from_json(said) for said in row["verdicts"])
            own = {"verdict": value, "judged_by": by, "contradictory": contradictory}
            lacked = {"stage": "", "version": -1, "played": ""}  # by lines of earlier versions
            episodes.append({**lacked, **row, **own, "images": json.dumps(row["images"])})
            verdicts += [(row["id"], number, json.dumps(said)) for number, said in enumerate(row["verdicts"])]
        self.connection.executemany(_ADD, episodes)
        self.connection.executemany("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?)", verdicts)

    def _say(self, episode: str, said: Mapping[str, Any]) -> None:
        self.connection.execute(
            "INSERT INTO verdicts SELECT ?, COUNT(*), ? FROM verdicts WHERE episode = ?",
            (episode, json.dumps(said), episode),
        )

    def _count_verdicts(self, episodes: Iterable[str]) -> None:
        values = []
        for episode in episodes:
            value, by, contradictory = counted(self.verdicts(episode))
            values.append((None if value is None else int(value), by, int(contradictory), episode))
        self.connection.executemany(
            "UPDATE episodes SET verdict = ?, judged_by = ?, contradictory = ? WHERE id = ?", values
        )


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _layout(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _applied(connection: sqlite3.Connection) -> int | None:
    row = connection.execute("SELECT bytes FROM applied").fetchone()
    return row[0] if row is not None and type(row[0]) is int else None
