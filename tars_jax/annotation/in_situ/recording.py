"""A recording on disk: `recording.json`, `events.jsonl`, `frames/`, `voice/`, `accessibility/`.

Events are appended and never changed; what is cut off at the end (a kill, a full disk) is left out when it is read.
What the person discarded is left out, too.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Discarded, Event, Recorded

HEAD, EVENTS = "recording.json", "events.jsonl"
FOLDERS = ("frames", "voice", "accessibility")
VERSION = 1
_LINE = msgspec.json.Decoder(Recorded)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What `recording.json` says. `began` is wall time in seconds; `screen` (width, height) in pixels; `consent` the
    sentence that the person agreed to, and `allowed` the applications whose windows they allowed."""

    version: int
    id: str
    began: float
    screen: tuple[int, int]
    consent: str
    allowed: tuple[str, ...]
    source: str  # x11, pynput, synthetic
    task: str = ""  # what the person set out to do, where they said so
    annotator: str = ""
    track: str = ""  # expert or novice


@dataclasses.dataclass(frozen=True)
class Recording:
    path: Path
    head: Head
    events: tuple[Event, ...]  # in the order of their times, without what was discarded
    cut_off: bool  # it has no end of its own, or its last line was not whole

    def file(self, folder: str, name: str) -> Path:
        return self.path / folder / name


def read_recording(path: Path) -> Recording:
    """Raises InputError that names the file, the line and the field for what is no recording."""
    try:
        head = msgspec.json.decode((path / HEAD).read_bytes(), type=Head)
    except FileNotFoundError:
        raise InputError(f"a recording must have {HEAD}; got {path}, which has none") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path / HEAD}: {error}") from error
    if head.version != VERSION:
        raise InputError(f"{path / HEAD}: version must be {VERSION}; got {head.version}")
    lines = (path / EVENTS).read_bytes().split(b"\n") if (path / EVENTS).exists() else [b""]
    whole, rest = lines[:-1], lines[-1]
    events = [_event(line, path / EVENTS, number) for number, line in enumerate(whole, 1)]
    ended = bool(events) and type(events[-1]).__name__ == "Ended"
    return Recording(path, head, _kept(events), cut_off=bool(rest) or not ended)


def _event(line: bytes, file: Path, number: int) -> Event:
    try:
        return _LINE.decode(line)
    except msgspec.DecodeError as error:
        raise InputError(f"{file}, line {number}: {error}") from error


def _kept(events: list[Event]) -> tuple[Event, ...]:
    """Without what was taken back."""
    spans = [(each.since, each.time) for each in events if isinstance(each, Discarded)]
    kept = [e for e in events if not any(since <= e.time <= until for since, until in spans)]
    return tuple(sorted(kept, key=lambda event: event.time))
