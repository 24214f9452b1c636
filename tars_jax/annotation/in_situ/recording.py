"""A recording on disk: `recording.json`, `events.jsonl`, `frames/`, `voice/`, `accessibility/`.

What is cut off at the end (a kill, a full disk) is left out when it is read. What the person discarded is gone from the
disk; were it not, it would be left out, too, as is what names a file that is not there (a power cut).
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import msgspec

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import (
    Accessibility,
    Discarded,
    Ended,
    Recorded,
    RecordedEvent,
    ScreenFrame,
    Voice,
)
from tars_jax.decoding import decoded_json

HEAD, EVENTS = "recording.json", "events.jsonl"
FOLDERS = ("frames", "voice", "accessibility")
VERSION = 1
LINE = msgspec.json.Decoder(Recorded)


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `recording.json`. `began` is wall time in seconds; `screen` (width, height) in pixels; `consent`
    the sentence that the person agreed to, and `allowed` the applications whose windows they allowed."""

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
    redaction: str = ""  # of a copy: what was taken out of it


@dataclasses.dataclass(frozen=True)
class PersonRecording:
    path: Path
    head: Head
    events: tuple[RecordedEvent, ...]  # in the order of their times, without what was discarded
    cut_off: bool  # it has no end of its own, or its last line was not whole
    missing: int = 0  # events that were left out, as their files are not there

    def file(self, folder: str, name: str) -> Path:
        return self.path / folder / name


def read_recording(path: Path) -> PersonRecording:
    """Raises InputError that names the file, the line and the field for what is no recording."""
    head = read_head(path)
    try:
        content = (path / EVENTS).read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise InputError(f"{path / EVENTS} must be a file that can be read; got {error.strerror}") from error
    *whole, rest = content.split(b"\n")
    events = [_event(line, path / EVENTS, number) for number, line in enumerate(whole, 1)]
    ended = any(isinstance(event, Ended) for event in events[-1:])
    kept = _kept(events)
    there = tuple(event for event in kept if _is_there(path, event))
    return PersonRecording(path, head, there, cut_off=bool(rest) or not ended, missing=len(kept) - len(there))


def read_head(path: Path) -> Head:
    """Raises InputError as `read_recording`."""
    try:
        head = decoded_json((path / HEAD).read_bytes(), Head, f"{path / HEAD}: ", unknown=None)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"a recording must have {HEAD}; got {path}, which has none") from None
    except OSError as error:
        raise InputError(f"{path / HEAD} must be a file that can be read; got {error.strerror}") from error
    if head.version != VERSION:
        raise InputError(f"{path / HEAD}: version must be {VERSION}; got {head.version}")
    return head


def file_of(event: RecordedEvent) -> str | None:
    """The file that an event names, below the recording's folder; None for none."""
    match event:
        case ScreenFrame(file=file):
            return f"frames/{file}"
        case Voice(file=file):
            return f"voice/{file}"
        case Accessibility(file=file):
            return f"accessibility/{file}"
    return None


def _event(line: bytes, file: Path, number: int) -> RecordedEvent:
    kind: Any = Recorded
    event: RecordedEvent = decoded_json(line, kind, f"{file}, line {number}: ", unknown=None)
    if not math.isfinite(event.time):
        raise InputError(f"{file}, line {number}: time must be finite; got {event.time}")
    name = file_of(event)
    if name is not None and (name.count("/") != 1 or "\0" in name or name.endswith(("/", "/..", "/."))):
        raise InputError(f"{file}, line {number}: file must be a file's name; got {name.partition('/')[2][:80]!r}")
    return event


def _is_there(path: Path, event: RecordedEvent) -> bool:
    name = file_of(event)
    try:
        return name is None or (path / name).is_file()
    except OSError:  # a name that no file can have
        return False


def _kept(events: list[RecordedEvent]) -> tuple[RecordedEvent, ...]:
    """Without what was taken back: what came before the line that says so."""
    spans = [(place, each.since, each.time) for place, each in enumerate(events) if isinstance(each, Discarded)]
    kept = [
        event for place, event in enumerate(events)
        if not any(place < by and since <= event.time <= until for by, since, until in spans)
    ]  # fmt: skip
    return tuple(sorted(kept, key=lambda event: event.time))
