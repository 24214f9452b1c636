"""A recording of ours from what another tool has kept: written beside, and there as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import RecordedEvent, SourceGone
from tars_jax.annotation.in_situ.recording import EVENTS, FOLDERS, HEAD, Head

LONGEST = 7 * 86_400.0  # seconds of a recording
EARLY = 60.0  # seconds before its beginning
SCATTER = 0.05  # seconds by which two threads of a tool may stamp in another order
NO_CONSENT = "recorded by {tool}: what the person agreed to there is not told"


class NewRecording:
    """Files come one by one, so that a long one needs no memory; events are in it when it is finished.

    Raises InputError where the folder is there already.
    """

    def __init__(self, path: Path) -> None:
        if path.exists():
            raise InputError(f"a new recording must have a folder of its own; got {path}, which is there")
        self._path, self._partial = path, path.with_name(f".{path.name}.partial")
        shutil.rmtree(self._partial, ignore_errors=True)
        for folder in FOLDERS:
            (self._partial / folder).mkdir(parents=True)

    def file(self, folder: str, name: str, content: bytes) -> str:
        """The name, for the event that tells of it."""
        (self._partial / folder / name).write_bytes(content)
        return name

    def finish(self, head: Head, events: Iterable[RecordedEvent]) -> Path:
        (self._partial / HEAD).write_bytes(msgspec.json.format(msgspec.json.encode(head)))
        with open(self._partial / EVENTS, "wb") as lines:
            for event in sorted(events, key=lambda event: event.time):
                lines.write(msgspec.json.encode(event) + b"\n")
            lines.flush()
            os.fsync(lines.fileno())
        os.replace(self._partial, self._path)
        return self._path

    def give_up(self) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)


class Times:
    """Seconds of a recording, of stamps by its tool's wall clock.

    What came shortly before the beginning came with it. Inputs keep their order: where the clock was set back, what
    followed counts as at once, and `told` says so.
    """

    def __init__(self, start: float) -> None:
        self._start, self._last, self._back, self._most_back = start, 0.0, 0, 0.0

    def at(self, stamp: float, where: str) -> float:
        """The time of a stamp, to the microsecond. Raises InputError for a time that cannot be of this recording."""
        seconds = stamp - self._start
        if not -EARLY <= seconds <= LONGEST:
            raise InputError(
                f"{where} must be a time of the recording, which began at {self._start:.3f}; got {stamp:.3f}: the "
                "clocks disagree"
            )
        return max(0.0, round(seconds, 6))

    def in_order(self, stamp: float, where: str) -> float:
        """The time of the next input."""
        seconds = self.at(stamp, where)
        if seconds < self._last:
            self._back, self._most_back = self._back + 1, max(self._most_back, self._last - seconds)
        self._last = max(self._last, seconds)
        return self._last

    def jumps_back(self) -> Iterator[SourceGone]:
        if self._most_back > SCATTER:
            message = f"it went back, by {self._most_back:.2f} s at most: {self._back} inputs count as at once"
            yield SourceGone(time=self._last, source="clock", message=message)
