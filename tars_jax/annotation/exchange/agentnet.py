"""AgentNetTool's folders as recordings: metadata.json, task_name.json, events.jsonl, top_window.jsonl, a11y.jsonl, mp4.

    {"time_stamp": 30680.62, "action": "click", "x": 1328, "y": 745, "button": "left", "pressed": true, "event_idx": 70}

Times are of a clock of their own, on which `video_start_timestamp` is the beginning. What the tool made of the events
(event_buffer.jsonl, reduced_events_*.jsonl, element.jsonl, html.jsonl) is not asked: steps come of the raw events.
A key is named by its character, or as pynput names it; the wheel's `dy` is positive upwards.
"""

from __future__ import annotations

import collections
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from tars_jax import InputError
from tars_jax.annotation.exchange.recordings import NO_CONSENT, NewRecording, Times
from tars_jax.annotation.exchange.video import NoDecoder, changed_frames
from tars_jax.annotation.in_situ.events import (
    Accessibility,
    Button,
    Ended,
    FocusedWindow,
    KeyStroke,
    Moved,
    Paused,
    RecordedEvent,
    Resumed,
    ScreenFrame,
    Scrolled,
    SourceGone,
)
from tars_jax.annotation.in_situ.key_names import COMMANDING, x_of_character, x_of_name
from tars_jax.annotation.in_situ.recording import VERSION, Head
from tars_jax.decoding import decoded_file, decoded_json

METADATA, TASK, EVENTS, WINDOWS, TREES = (
    "metadata.json",
    "task_name.json",
    "events.jsonl",
    "top_window.jsonl",
    "a11y.jsonl",
)
BUTTONS = ("left", "middle", "right")
MOST_PIXELS = 1 << 16  # of a side of a screen


class _Line(msgspec.Struct, frozen=True, tag_field="action"):
    time_stamp: float


class _Move(_Line, frozen=True, tag="move"):
    x: float
    y: float


class _Click(_Line, frozen=True, tag="click"):
    x: float
    y: float
    button: str
    pressed: bool


class _Scroll(_Line, frozen=True, tag="scroll"):
    x: float
    y: float
    dx: float
    dy: float


class _Press(_Line, frozen=True, tag="press"):
    name: str
    pynput_key: str = ""


class _Release(_Line, frozen=True, tag="release"):
    name: str
    pynput_key: str = ""


class _Pause(_Line, frozen=True, tag="pause"):
    pass


class _Resume(_Line, frozen=True, tag="resume"):
    pass


class _TopWindow(msgspec.Struct, frozen=True):
    time_stamp: float
    top_window_name: str


class _Tree(msgspec.Struct, frozen=True):
    time_stamp: float
    axtree: Any


class _Metadata(msgspec.Struct, frozen=True):
    screen_width: int
    screen_height: int
    video_start_timestamp: float | None = None
    start_time: str = ""
    system: str = ""


class _Task(msgspec.Struct, frozen=True):
    task_name: str
    description: str = ""


_EVENT = _Move | _Click | _Scroll | _Press | _Release | _Pause | _Resume


def is_agentnet_recording(folder: Path) -> bool:
    return (folder / METADATA).is_file() and (folder / EVENTS).is_file()


def import_agentnet(folder: Path, path: Path) -> Path:
    """A recording of ours at `path` from one of AgentNetTool's.

    Raises InputError that names the file, the line and the field, for what is no such folder, and for a `path` that is
    there already; then nothing is left there.
    """
    metadata = decoded_file(folder / METADATA, _Metadata, unknown=None)
    screen = (metadata.screen_width, metadata.screen_height)
    if not all(0 < side <= MOST_PIXELS for side in screen):
        raise InputError(f"{folder / METADATA}: field screen_width and screen_height must be pixels; got {screen}")
    task = decoded_file(folder / TASK, _Task, unknown=None).task_name if (folder / TASK).is_file() else ""
    lines = list(_lines(folder / EVENTS, _EVENT))
    windows = list(_lines(folder / WINDOWS, _TopWindow)) if (folder / WINDOWS).is_file() else []
    firsts = [each.time_stamp for _, each in (*lines, *windows)]
    start = metadata.video_start_timestamp
    start = min(firsts, default=0.0) if start is None else start
    times = Times(start)
    new = NewRecording(path)
    try:
        events: list[RecordedEvent] = [*_inputs(lines, times, screen), *_windows(windows, times, screen)]
        events += _trees(folder / TREES, times, new)
        events += _frames(folder, _pauses(lines, start), new)
        events.append(Ended(time=max((event.time for event in events), default=0.0)))
        applications = tuple(dict.fromkeys(each.application for each in events if isinstance(each, FocusedWindow)))
        head = Head(
            version=VERSION, id=folder.name, began=_wall_time(metadata.start_time), screen=screen,
            consent=NO_CONSENT.format(tool="AgentNetTool"), allowed=applications, source="pynput", task=task,
        )  # fmt: skip
        return new.finish(head, events)
    except BaseException:
        new.give_up()
        raise


def _lines(file: Path, kind: Any) -> Iterator[tuple[str, Any]]:
    """(where it stands, what it says) of each."""
    with open(file, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                where = f"{file}, line {number}"
                yield where, decoded_json(line.removeprefix(b"\xef\xbb\xbf"), kind, f"{where}: ", unknown=None)


def _inputs(lines: list[tuple[str, Any]], times: Times, screen: tuple[int, int]) -> Iterator[RecordedEvent]:
    held: set[str] = set()
    unsaid = collections.Counter[str]()
    time = 0.0
    for where, line in lines:
        time = times.in_order(line.time_stamp, f"{where}: field time_stamp")
        match line:
            case _Move():
                x, y = _pixel(line, screen)
                yield Moved(time=time, x=x, y=y)
            case _Click() if line.button in BUTTONS:
                x, y = _pixel(line, screen)
                yield Button(time=time, x=x, y=y, button=_button(line.button), down=line.pressed)
            case _Click():
                unsaid[f"button {line.button:.20}"] += 1
            case _Scroll():
                x, y = _pixel(line, screen)
                yield Scrolled(time=time, x=x, y=y, dx=round(line.dx), dy=-round(line.dy))
            case _Press() | _Release():
                if (key := _key(line, held)) is None:
                    unsaid[f"key {line.name:.20}"] += 1
                    continue
                down = isinstance(line, _Press)
                text = _text(line, held) if down else ""
                (held.add if down else held.discard)(key)
                yield KeyStroke(time=time, key=key, down=down, text=text)
            case _Pause():
                yield Paused(time=time)
            case _Resume():
                yield Resumed(time=time)
    if unsaid:
        words = ", ".join(f"{what} ({count})" for what, count in unsaid.most_common())
        yield SourceGone(time=time, source="keys", message=f"no name of ours for {words}")
    yield from times.jumps_back()


def _pixel(line: Any, screen: tuple[int, int]) -> tuple[int, int]:
    """A mouse at the edge is reported some pixels beyond."""
    return min(max(round(line.x), 0), screen[0] - 1), min(max(round(line.y), 0), screen[1] - 1)


def _button(name: str) -> Literal["left", "middle", "right"]:
    return "left" if name == "left" else "right" if name == "right" else "middle"


def _key(line: _Press | _Release, held: set[str]) -> str | None:
    """One without a character is named as on a keyboard without Shift: pynput tells a capital where Control is held."""
    if len(line.name) == 1:
        plain = line.name.lower() if line.pynput_key.startswith("<") or held & COMMANDING else line.name
        return x_of_character(plain)
    return x_of_name(line.name)


def _text(line: _Press | _Release, held: set[str]) -> str:
    if held & COMMANDING or line.pynput_key.startswith("<"):
        return ""
    return " " if line.name == "space" else line.name if len(line.name) == 1 else ""


def _windows(lines: list[tuple[str, _TopWindow]], times: Times, screen: tuple[int, int]) -> Iterator[RecordedEvent]:
    for where, line in lines:
        time = times.at(line.time_stamp, f"{where}: field time_stamp")
        yield FocusedWindow(time=time, application=line.top_window_name, allowed=True, box=(0, 0, *screen))


def _trees(file: Path, times: Times, new: NewRecording) -> Iterator[RecordedEvent]:
    if file.is_file():
        for number, (where, line) in enumerate(_lines(file, _Tree)):
            name = new.file("accessibility", f"{number:06d}.json", msgspec.json.encode(line.axtree))
            time = times.at(line.time_stamp, f"{where}: field time_stamp")
            yield Accessibility(time=time, file=name)


def _pauses(lines: list[tuple[str, Any]], start: float) -> list[tuple[float, float]]:
    """(beginning, length) of each: the video stands still meanwhile."""
    found, since = [], None
    for _, line in lines:
        if isinstance(line, _Pause) and since is None:
            since = line.time_stamp - start
        elif isinstance(line, _Resume) and since is not None:
            found.append((since, line.time_stamp - start - since))
            since = None
    return found


def _frames(folder: Path, pauses: list[tuple[float, float]], new: NewRecording) -> Iterator[RecordedEvent]:
    videos = sorted(folder.glob("*.mp4"))
    if not videos:
        yield SourceGone(time=0.0, source="frames", message="the recording has no video")
        return
    try:
        for number, (seconds, png) in enumerate(changed_frames(videos[0])):
            time = seconds
            for since, length in pauses:
                time += length if time >= since else 0.0
            yield ScreenFrame(time=max(0.0, round(time, 6)), file=new.file("frames", f"{number:06d}.png", png))
    except NoDecoder as error:
        yield SourceGone(time=0.0, source="frames", message=str(error))


def _wall_time(text: str) -> float:
    """Seconds, of a time without a zone; 0 where it is none."""
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=datetime.UTC).timestamp()
    except ValueError:
        return 0.0
