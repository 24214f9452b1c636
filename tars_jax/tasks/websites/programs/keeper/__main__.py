"""Keeps the state of a site, inside its computer: saves it, puts it back, and reads it for verifiers.

    python3 -I -S FOLDER SOCKET STATE SAVED PORT TRANSIENT     (a JSON list of patterns)

One JSON object a line comes in over the unix socket, {"call": NAME, ...}, and one goes out, {"ok": ...} or
{"error": TEXT}. SQLite files are put back by SQLite's own backup, page by page under its locks: programs that have them
open see the change.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import pathlib
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from tars_jax.tasks.websites.programs.keeper.visitor import LARGEST, WAIT_S, VisitError, Visitor
else:  # the folder alone is in the computer
    from visitor import LARGEST, WAIT_S, VisitError, Visitor

MAGIC = b"SQLite format 3\0"
ASIDE = ("-journal", "-wal", "-shm")  # of SQLite: they come and go
# Of a SQLite file's header what every transaction counts up; the rest of the file is its content.
COUNTERS = ((18, 20), (24, 28), (40, 44), (92, 100))
MOST_ROWS = 5000
PAGES = ("http", "request", "submit")  # calls for the visitor


class Keeper:
    def __init__(self, state: pathlib.Path, saved: pathlib.Path, visitor: Visitor, transient: Sequence[str]) -> None:
        self.state, self.saved, self.visitor, self.transient = state, saved, visitor, transient
        self.digests: dict[str, str] = {}
        if (saved / "digests.json").exists():
            self.digests = json.loads((saved / "digests.json").read_text())

    # ---- saving and putting back

    def names(self, folder: pathlib.Path) -> list[str]:
        """Of all files, links and folders of the state, sorted; folders end with a slash."""
        found: list[str] = []
        for place, folders, files in os.walk(folder):
            below = os.path.relpath(place, folder)
            prefix = "" if below == "." else below + "/"
            folders[:] = [name for name in folders if not self.passes(prefix + name)]
            found += [f"{prefix}{name}/" for name in folders if not os.path.islink(f"{place}/{name}")]
            found += [prefix + name for name in folders if os.path.islink(f"{place}/{name}")]
            found += [prefix + name for name in files if not self.passes(prefix + name)]
        return sorted(found)

    def passes(self, path: str) -> bool:
        """Whether it is no state."""
        return path.endswith(ASIDE) or is_like(path, self.transient)

    def digest(self, path: str) -> str:
        if path.endswith("/"):
            return "folder"
        file = self.state / path
        if file.is_symlink():
            return "link " + os.readlink(file)
        if not file.is_file():
            return "other"
        if is_database(file):
            return database_digest(file)
        return hashlib.sha256(file.read_bytes()).hexdigest() + " " + oct(file.stat().st_mode & 0o777)

    def all_digests(self) -> dict[str, str]:
        return {path: self.digest(path) for path in self.names(self.state)}

    def save(self) -> dict[str, int]:
        """Keeps the state as it is now; what `reset` comes back to."""
        copy = self.saved / "state"
        shutil.rmtree(self.saved, ignore_errors=True)
        copy.mkdir(parents=True)
        self.digests = self.all_digests()
        for path in self.digests:
            source, target = self.state / path, copy / path
            if path.endswith("/"):
                target.mkdir()
                shutil.copystat(source, target)
            elif source.is_symlink():
                target.symlink_to(os.readlink(source))
            elif is_database(source):
                with opened(target) as other, opened(source) as one:
                    one.backup(other)
                other.close()
                one.close()
                shutil.copystat(source, target)
            elif source.is_file():
                shutil.copy2(source, target)
        (self.saved / "digests.json").write_text(json.dumps(self.digests))
        return {"files": len(self.digests), "bytes": sum(f.stat().st_size for f in copy.rglob("*") if f.is_file())}

    def reset(self) -> dict[str, Any]:
        """Puts the saved state back, and checks that all of it is there and nothing else."""
        begun = time.perf_counter()
        self.visitor.await_answers()
        self.visitor.agent = None
        copy, now = self.saved / "state", self.all_digests()
        changed = [path for path in {*now, *self.digests} if now.get(path) != self.digests.get(path)]
        for path in sorted(changed, reverse=True):  # what is in a folder before it
            if path not in self.digests or (path in now and is_other_kind(now[path], self.digests[path])):
                remove(self.state / path)
        for path in sorted(path for path in changed if path in self.digests):
            source, target = copy / path, self.state / path
            if path.endswith("/"):
                target.mkdir(exist_ok=True)
            elif source.is_symlink():
                remove(target)
                target.symlink_to(os.readlink(source))
            elif is_database(source) and target.exists() and is_database(target):
                restore_database(source, target)
            else:
                shutil.copy(source, target)  # newer than what it replaces: programs that look for that read it again
        after = self.all_digests() if changed else now
        wrong = sorted(path for path in {*after, *self.digests} if after.get(path) != self.digests.get(path))
        if wrong:
            raise VisitError(f"the state was not put back: {', '.join(wrong[:5])}")
        return {"changed": sorted(changed)[:50], "ms": 1000 * (time.perf_counter() - begun)}

    def differs(self) -> list[str]:
        now = self.all_digests()
        return sorted(path for path in {*now, *self.digests} if now.get(path) != self.digests.get(path))

    # ---- reading

    def sql(self, file: str, statement: str, parameters: Sequence[Any]) -> list[dict[str, Any]]:
        path = (self.state / file).resolve()
        if not path.is_relative_to(self.state.resolve()) or not path.is_file():
            raise VisitError(f"there is no database {file}")
        connection = opened(path)
        connection.text_factory = readable
        try:
            connection.execute("PRAGMA query_only = 1")
            connection.row_factory = sqlite3.Row
            last = time.monotonic() + WAIT_S
            connection.set_progress_handler(lambda: time.monotonic() > last, 10000)
            rows = connection.execute(statement, parameters).fetchmany(MOST_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise VisitError(f"sql: {error}") from error
        finally:
            connection.close()
        if len(rows) > MOST_ROWS:
            raise VisitError(f"sql gave more than {MOST_ROWS} rows")
        return [{key: plain(row[key]) for key in row.keys()} for row in rows]  # noqa: SIM118

    def tables(self, file: str, told: Sequence[str], passed: Sequence[str]) -> list[dict[str, str]]:
        """What a SQLite file holds: of each table its rows, in any order, and its definition as a digest,
        but for those whose names are like one of `told`, of which the definition alone counts, or of `passed`; the
        definitions of all else; and the numbers that a program may keep in the file's header."""
        connection = opened(self.state / file)
        connection.text_factory = bytes
        try:
            connection.execute("PRAGMA query_only = 1")
            connection.execute("BEGIN")
            found = [
                {"what": name, "name": file, "value": readable(connection.execute(f"PRAGMA {name}").fetchone()[0])}
                for name in ("user_version", "application_id", "journal_mode", "default_cache_size")
            ]
            for kind, raw, sql in connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
                name = raw.decode()
                if is_like(name, passed):
                    continue
                held = [repr(sql)]
                if kind == b"table" and not is_like(name, told):
                    quoted = '"' + name.replace('"', '""') + '"'
                    try:
                        held += sorted(map(repr, connection.execute(f"SELECT * FROM {quoted}")))
                    except sqlite3.OperationalError as error:  # a view or an index of words over what is not there
                        if is_busy(error):
                            raise
                        held.append(str(error))
                value = hashlib.sha256("\n".join(held).encode()).hexdigest()
                is_empty = kind == b"table" and not is_like(name, told) and len(held) == 1
                found.append({"what": "empty table" if is_empty else kind.decode(), "name": name, "value": value})
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise VisitError(f"sql: {error}") from error
        finally:
            connection.close()
        return found

    def others(self, told: Sequence[str]) -> list[dict[str, str]]:
        """The digests of the state's files whose paths are like none of `told`; of databases, that they are there."""
        files = [path for path in self.names(self.state) if not path.endswith("/") and not is_like(path, told)]
        digests = {path: "database" if self.holds_tables(path) else self.digest(path) for path in files}
        return [{"what": "file", "name": path, "value": digest} for path, digest in digests.items()]

    def holds_tables(self, path: str) -> bool:
        return (self.state / path).is_file() and is_database(self.state / path)

    def files(self, pattern: str) -> dict[str, str]:
        found: dict[str, str] = {}
        left = LARGEST
        for path in sorted(self.state.glob(pattern)):
            name = str(path.relative_to(self.state))
            if path.is_file() and not path.is_symlink() and not self.passes(name):
                data = path.read_bytes()
                if (left := left - len(data)) < 0:
                    raise VisitError(f"files hold more than {LARGEST} bytes")
                found[name] = data.decode(errors="replace")
        return found


def is_like(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, each) for each in patterns)


def is_database(file: pathlib.Path) -> bool:
    with open(file, "rb") as opened_file:
        return opened_file.read(16) == MAGIC


def opened(file: pathlib.Path) -> sqlite3.Connection:
    return sqlite3.connect(file, timeout=WAIT_S, isolation_level=None)


def database_digest(file: pathlib.Path) -> str:
    connection = opened(file)
    try:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        if mode == "wal":
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("BEGIN IMMEDIATE")  # nobody writes while it is read
        data = bytearray(file.read_bytes())
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise VisitError(f"{file.name} cannot be read: {error}") from error
    finally:
        connection.close()
    for begin, end in COUNTERS:
        data[begin:end] = bytes(end - begin)
    return f"sqlite {mode} {hashlib.sha256(data).hexdigest()}"


def restore_database(source: pathlib.Path, target: pathlib.Path) -> None:
    one, other = opened(source), opened(target)
    try:
        one.backup(other)
        mode = one.execute("PRAGMA journal_mode").fetchone()[0]
        other.execute(f"PRAGMA journal_mode={mode}")  # a backup leaves the target's own
    except sqlite3.Error as error:
        raise VisitError(f"{target.name} cannot be put back: {error}") from error
    finally:
        one.close()
        other.close()


def is_other_kind(one: str, other: str) -> bool:
    return bool({one, other} & {"folder", "other"}) or one.startswith("link") != other.startswith("link")


def remove(path: pathlib.Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_busy(error: sqlite3.OperationalError) -> bool:
    """Whether it says something of the moment, and nothing of what the database holds."""
    return any(word in str(error) for word in ("locked", "interrupted", "disk", "unable to open"))


def readable(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def plain(value: Any) -> Any:
    return readable(value) if isinstance(value, bytes) else value


def main() -> None:
    where, state, saved, port, transient = sys.argv[1:]
    visitor = Visitor(int(port))
    keeper = Keeper(pathlib.Path(state), pathlib.Path(saved), visitor, json.loads(transient))
    pathlib.Path(where).unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(where)
    server.listen(8)
    while True:
        connection, _ = server.accept()
        with connection, connection.makefile("rwb") as stream:
            for line in stream:
                told = json.loads(line)
                name = told.pop("call")
                answer: dict[str, Any]
                try:
                    answer = {"ok": getattr(visitor if name in PAGES else keeper, name)(**told)}
                except (VisitError, OSError, sqlite3.Error) as error:
                    answer = {"error": str(error) or type(error).__name__}
                stream.write(json.dumps(answer).encode() + b"\n")
                stream.flush()


if __name__ == "__main__":
    main()
