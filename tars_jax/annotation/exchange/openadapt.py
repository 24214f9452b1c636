"""A capture of openadapt-capture 1.3 (a folder with `recording.db`, SQLite) as a recording.

Asked are the tables recording, action_event, window_event, screenshot and audio_info; times are wall time, places
pixels, keys as pynput names them, the wheel's `dy` is positive upwards. Frames are the screenshots that hold a PNG, and
where none does those of the video beside the database. What the tool made of the speech (`transcribed_text`,
`words_with_timestamps`) and what its browser extension sent are not asked.
"""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from tars_jax import InputError
from tars_jax.annotation.exchange.recordings import NO_CONSENT, NewRecording, Times
from tars_jax.annotation.exchange.video import NoDecoder, changed_frames
from tars_jax.annotation.in_situ.events import (
    Button,
    Ended,
    FocusedWindow,
    KeyStroke,
    Moved,
    RecordedEvent,
    ScreenFrame,
    Scrolled,
    SourceGone,
    Voice,
)
from tars_jax.annotation.in_situ.key_names import COMMANDING, x_of_character, x_of_name
from tars_jax.annotation.in_situ.recording import VERSION, Head
from tars_jax.json_fields import is_number, short_repr
from tars_jax.pictures import plain_png

DATABASE = "recording.db"
MOST_PIXELS = 1 << 16
RATE = 16_000  # samples a second of our voice, in one channel
_BUTTONS: Mapping[str, Literal["left", "middle", "right"]] = {"left": "left", "middle": "middle", "right": "right"}


def is_openadapt(folder: Path) -> bool:
    return (folder / DATABASE).is_file()


def import_openadapt(folder: Path, path: Path) -> Path:
    """A recording of ours at `path` from a capture.

    Raises InputError that names the database, the table, the row and the column, for what is no such capture, and for a
    `path` that is there already; then nothing is left there.
    """
    file = folder / DATABASE
    address = f"file:{urllib.parse.quote(str(file.absolute()))}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return _imported(_Tables(connection, file), folder, path)
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:  # the last of a damaged text
        raise InputError(f"{file} must be a database of openadapt-capture; {error}") from error


class _Row:
    """Columns that are read as what they must be."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values, self._where = values, where

    def get(self, column: str) -> Any:
        return self._values.get(column)

    def error(self, column: str, wanted: str) -> InputError:
        return InputError(f"{self._where}, column {column} must be {wanted}; got {short_repr(self.get(column))}")

    def number(self, column: str) -> float:
        if not is_number(value := self.get(column)) or abs(value) > 1e12:
            raise self.error(column, "a number")
        return float(value)

    def text(self, column: str) -> str:
        value = self.get(column)
        if value is not None and not isinstance(value, str):
            raise self.error(column, "a text")
        return value or ""

    def blob(self, column: str) -> bytes:
        value = self.get(column)
        if value is not None and not isinstance(value, bytes):
            raise self.error(column, "bytes")
        return value or b""

    def time(self, times: Times, column: str = "timestamp") -> float:
        return times.at(self.number(column), self.where(column))

    def where(self, column: str) -> str:
        return f"{self._where}, column {column}"


class _Tables:
    def __init__(self, connection: sqlite3.Connection, file: Path) -> None:
        self._connection, self._file = connection, file

    def rows(self, table: str, needed: bool = True) -> Iterator[_Row]:
        """Rows of a table in the order in which they were kept. Raises InputError where there is no such table, and one
        is needed."""
        if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            if needed:
                raise InputError(f"{self._file} must have a table {table}; got none")
            return
        for number, row in enumerate(self._connection.execute(f"SELECT * FROM {table} ORDER BY rowid"), 1):
            values = dict(zip(row.keys(), row, strict=True))
            yield _Row(values, f"{self._file}: table {table}, row {number}")


def _imported(tables: _Tables, folder: Path, path: Path) -> Path:
    recording = next(tables.rows("recording"), None)
    if recording is None:
        raise InputError(f"{folder / DATABASE}: table recording must hold a row; got none")
    start = recording.number("timestamp")
    screen = (int(recording.number("monitor_width")), int(recording.number("monitor_height")))
    if not all(0 < side <= MOST_PIXELS for side in screen):
        raise recording.error("monitor_width" if not 0 < screen[0] <= MOST_PIXELS else "monitor_height", "pixels")
    new = NewRecording(path)
    try:
        times = Times(start)
        windows = [_window(row, times) for row in tables.rows("window_event", needed=False)]
        events: list[RecordedEvent] = [
            *windows,
            *_inputs(tables, times),
            *_frames(tables, recording, folder, times, new),
        ]
        events += _voice(tables, times, new)
        events.append(Ended(time=max((event.time for event in events), default=0.0)))
        head = Head(
            version=VERSION, id=folder.absolute().name, began=start, screen=screen,
            consent=NO_CONSENT.format(tool="openadapt-capture"),
            allowed=tuple(dict.fromkeys(each.application for each in windows)), source="pynput",
            task=recording.text("task_description"),
        )  # fmt: skip
        return new.finish(head, events)
    except BaseException:
        new.give_up()
        raise


def _inputs(tables: _Tables, times: Times) -> Iterator[RecordedEvent]:
    held: set[str] = set()
    for row in tables.rows("action_event"):
        if row.get("disabled"):
            continue
        time, name = times.in_order(row.number("timestamp"), row.where("timestamp")), row.text("name")
        if name in ("press", "release"):
            yield _key(row, time, held, down=name == "press")
            continue
        if name not in ("move", "click", "scroll"):
            raise row.error("name", "move, click, scroll, press or release")
        x, y = max(0, round(row.number("mouse_x"))), max(0, round(row.number("mouse_y")))
        if name == "move":
            yield Moved(time=time, x=x, y=y)
        elif name == "scroll":
            yield Scrolled(time=time, x=x, y=y, dx=round(row.number("mouse_dx")), dy=-round(row.number("mouse_dy")))
        elif row.text("mouse_button_name") not in _BUTTONS:
            yield SourceGone(
                time=time, source="keys", message=f"no name of ours for button {row.text('mouse_button_name')}"
            )
        else:
            if row.get("mouse_pressed") not in (0, 1):
                raise row.error("mouse_pressed", "true or false")
            button = _BUTTONS[row.text("mouse_button_name")]
            yield Button(time=time, x=x, y=y, button=button, down=bool(row.get("mouse_pressed")))
    yield from times.jumps_back()


def _key(row: _Row, time: float, held: set[str], *, down: bool) -> RecordedEvent:
    """`held` is what is held down, and changes. A key's character without modifiers is its canonical one."""
    named, character, plain = (row.text(name) for name in ("key_name", "key_char", "canonical_key_char"))
    on_it = next((each for each in (plain, character) if len(each) == 1 and each.isprintable()), "")
    key = x_of_name(named) or (x_of_character(on_it) if on_it else "")
    if not key:
        return SourceGone(
            time=time, source="keys", message=f"no name of ours for key {named or character or plain!r:.40}"
        )
    text = ""
    if down and not held & COMMANDING:
        text = " " if key == "space" else character if len(character) == 1 and character.isprintable() else ""
    (held.add if down else held.discard)(key)
    return KeyStroke(time=time, key=key, down=down, text=text)


def _window(row: _Row, times: Times) -> FocusedWindow:
    title = row.text("title")
    try:
        state = json.loads(row.text("state") or "null")
    except (ValueError, RecursionError) as error:
        raise row.error("state", f"JSON ({error})") from error
    known = [state.get(name) for name in ("application", "app", "owner")] if isinstance(state, dict) else []
    application = next((name for name in known if isinstance(name, str) and name), title)
    sides = [0 if row.get(name) is None else int(row.number(name)) for name in ("left", "top", "width", "height")]
    box = (sides[0], sides[1], sides[2], sides[3])
    return FocusedWindow(time=row.time(times), application=application, allowed=True, title=title, box=box)


def _frames(tables: _Tables, recording: _Row, folder: Path, times: Times, new: NewRecording) -> Iterator[RecordedEvent]:
    kept = 0
    for number, row in enumerate(tables.rows("screenshot", needed=False)):
        if png := row.blob("png_data"):
            name = new.file("frames", f"{number:06d}.png", plain_png(png, row.where("png_data")))
            kept += 1
            yield ScreenFrame(time=row.time(times), file=name)
    videos = sorted([*folder.glob("oa_recording-*.mp4"), *folder.glob("video.mp4")])
    if kept:
        return
    if not videos:
        yield SourceGone(time=0.0, source="frames", message="the capture holds no picture")
        return
    column = "timestamp" if recording.get("video_start_time") is None else "video_start_time"
    began = recording.time(times, column)
    try:
        for number, (seconds, png) in enumerate(changed_frames(videos[0])):
            name = new.file("frames", f"{number:06d}.png", png)
            yield ScreenFrame(time=round(began + seconds, 6), file=name)
    except NoDecoder as error:
        yield SourceGone(time=0.0, source="frames", message=str(error))


def _voice(tables: _Tables, times: Times, new: NewRecording) -> Iterator[RecordedEvent]:
    for number, row in enumerate(tables.rows("audio_info", needed=False)):
        if not (flac := row.blob("flac_data")):
            continue
        time = row.time(times)
        try:
            flac, seconds = as_voice(flac, row.where("flac_data"))
        except NoDecoder as error:
            yield SourceGone(time=time, source="microphone", message=str(error))
        else:
            yield Voice(time=time, file=new.file("voice", f"{number:06d}.flac", flac), seconds=seconds)


def as_voice(flac: bytes, where: str) -> tuple[bytes, float]:
    """FLAC of 16 kHz in one channel, and its seconds; as it is where it is so already.

    Raises NoDecoder where soundfile is not installed, InputError for what is no FLAC.
    """
    try:
        import soundfile
    except ImportError as error:
        raise NoDecoder("voice takes the extra record, tars_jax[record]") from error
    try:
        with soundfile.SoundFile(io.BytesIO(flac)) as opened:
            rate, channels, length = opened.samplerate, opened.channels, opened.frames
            if (rate, channels) == (RATE, 1):
                return flac, length / rate
            samples = opened.read(dtype="float32", always_2d=True).mean(axis=1)
    except soundfile.SoundFileError as error:
        raise InputError(f"{where} must be FLAC; {error}") from error
    from scipy.signal import resample_poly

    again, buffer = resample_poly(samples, RATE, rate), io.BytesIO()
    soundfile.write(buffer, again, RATE, format="FLAC")
    return buffer.getvalue(), len(again) / RATE
