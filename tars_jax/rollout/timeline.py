"""RUN/timeline.json: who did what when, for https://ui.perfetto.dev and chrome://tracing.

The file is a trace in the JSON array form: one event a line, times in microseconds since 1970. That form may stay
unclosed, so a killed run leaves a file that opens; the next start of the run appends to it. Events wait in memory for a
second at most, and a file that has grown to `limit_bytes` moves aside, so neither memory nor disk grows with the run.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import pathlib
import threading
from types import TracebackType
from typing import Any, Self

TIMELINE_FILE = "timeline.json"
PREVIOUS_FILE = "timeline.previous.json"
FLUSH_SECONDS = 1.0
FLUSH_EVENTS = 256
_TAIL_BYTES = 1 << 16
_CLOSING = b"\n]\n"


class TrackOwner(enum.IntEnum):
    """Owner of tracks of the timeline, shown as a process. A lane of it is shown as a thread."""

    LEARNER = 1
    ENGINE = 2
    WORKERS = 3


class Timeline:
    """Appends to the timeline of a run. Thread-safe; a context manager that closes the array."""

    def __init__(self, folder: str | os.PathLike[str], *, limit_bytes: int = 1 << 28) -> None:
        """Raises OSError where the disk refuses."""
        self._path = pathlib.Path(folder) / TIMELINE_FILE
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._waiting: list[str] = []
        self._newest = self._flushed = 0.0
        self._open()

    def span(self, part: TrackOwner, lane: int, name: str, start: float, end: float, **details: Any) -> None:
        """Records a span from `start` to `end`, in seconds since 1970."""
        track = {"pid": int(part), "tid": lane}
        event = {"name": name, "ph": "X", "ts": _micro(start), "dur": _micro(end) - _micro(start), **track}
        self._add(lane, part, event | ({"args": details} if details else {}), end)

    def counter(self, part: TrackOwner, name: str, moment: float, **values: float) -> None:
        """Records numbers that hold from `moment` on; each of them is a curve."""
        self._add(0, part, {"name": name, "ph": "C", "ts": _micro(moment), "pid": int(part), "args": values}, moment)

    def flush(self) -> None:
        """Hands what waits to the kernel; then kill -9 of the process loses nothing of it. Raises OSError."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        with self._lock:
            self._flush()
            os.write(self._file, _CLOSING)
            os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _add(self, lane: int, part: TrackOwner, event: dict[str, Any], moment: float) -> None:
        with self._lock:
            if (part, lane) not in self._named:
                self._named.add((part, lane))
                self._name("process_name", part, 0, part.name.lower())
                self._name("thread_name", part, lane, f"{part.name.lower().removesuffix('s')} {lane}")
            self._waiting.append(_line(event))
            self._newest = max(self._newest, moment)
            if self._newest - self._flushed >= FLUSH_SECONDS or len(self._waiting) >= FLUSH_EVENTS:
                self._flush()

    def _name(self, kind: str, part: TrackOwner, lane: int, name: str) -> None:
        self._waiting.append(_line({"name": kind, "ph": "M", "pid": int(part), "tid": lane, "args": {"name": name}}))

    def _flush(self) -> None:
        self._flushed = self._newest
        if not self._waiting:
            return
        text, self._waiting = ",\n".join(self._waiting), []
        self._size += os.write(self._file, (",\n" if self._size > 2 else "").encode() + text.encode())
        if self._size >= self._limit:
            os.write(self._file, _CLOSING)
            os.close(self._file)
            self._path.replace(self._path.with_name(PREVIOUS_FILE))
            self._open()

    def _open(self) -> None:
        """Goes on after the last whole event of the file; a fresh file has none."""
        self._named: set[tuple[TrackOwner, int]] = set()
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        self._size = self._end_of_events()
        if not self._size:
            self._size = os.pwrite(self._file, b"[\n", 0)
        os.ftruncate(self._file, self._size)
        os.lseek(self._file, self._size, os.SEEK_SET)

    def _end_of_events(self) -> int:
        """Position at which the last whole event ends, 0 without one; what a power loss left after it may be long."""
        end = os.fstat(self._file).st_size
        while end > 0:
            start = max(end - _TAIL_BYTES, 0)
            lines = os.pread(self._file, end - start, start).split(b"\n")
            while lines and not _is_event(lines[-1]):
                lines.pop()
            if lines:
                return start + len(b"\n".join(lines).removesuffix(b","))
            end = start and start + _TAIL_BYTES // 2  # an event may lie across the cut
        return 0


def read_timeline(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The events of a timeline, also of one that is still written or was left unclosed by a kill."""
    events = []
    for line in pathlib.Path(path).read_bytes().split(b"\n"):
        if _is_event(line):
            events.append(json.loads(line.removesuffix(b",")))
    return events


def _is_event(line: bytes) -> bool:
    if line.startswith(b"{"):
        with contextlib.suppress(ValueError):
            return isinstance(json.loads(line.removesuffix(b",")), dict)
    return False


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, separators=(",", ":"))


def _micro(seconds: float) -> int:
    return round(seconds * 1e6)
