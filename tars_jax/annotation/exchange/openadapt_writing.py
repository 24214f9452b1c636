"""A recording as a capture of openadapt-capture 1.3: a folder with `recording.db`, which its `CaptureSession` loads.

All its tables are there, those that a recording of ours has nothing for are empty. An action is bound to the last frame
and window before it. Pauses, secrets and what was lost are gaps, as the form has no word for them; accessibility trees
stay behind. It is not sealed: a seal says that their own recorder has finished.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.exchange.openadapt import DATABASE, RATE
from tars_jax.annotation.in_situ.events import (
    Button,
    FocusedWindow,
    KeyStroke,
    Moved,
    RecordedEvent,
    ScreenFrame,
    Scrolled,
    Voice,
)
from tars_jax.annotation.in_situ.key_names import character_of_x, name_of_x
from tars_jax.annotation.in_situ.recording import PersonRecording

_ID, _TIME, _WHOLE, _NUMBER, _TEXT, _JSON, _BYTES = (
    "INTEGER PRIMARY KEY NOT NULL", "NUMERIC(10, 2)", "INTEGER", "NUMERIC", "VARCHAR", "JSON", "BLOB",
)  # fmt: skip
_OF_RECORDING = {"recording_timestamp": _TIME, "recording_id": _WHOLE}
_STAMPED = {"id": _ID, "source_ordinal": _WHOLE, "timestamp": _TIME, **_OF_RECORDING}
_BOUND = {
    f"{side}{what}": kind
    for side in ("", "after_")
    for what, kind in {
        "screenshot_timestamp": _TIME, "screenshot_source_ordinal": _WHOLE, "window_event_timestamp": _TIME,
        "window_event_source_ordinal": _WHOLE, "window_geometry_generation": _WHOLE,
    }.items()
}  # fmt: skip
SCHEMA: Mapping[str, Mapping[str, str]] = {
    "recording": {
        "id": _ID, "timestamp": _TIME, "monitor_width": _WHOLE, "monitor_height": _WHOLE, "pixel_ratio": "FLOAT",
        "double_click_interval_seconds": _NUMBER, "double_click_distance_pixels": _NUMBER, "platform": _TEXT,
        "task_description": _TEXT, "video_start_time": _TIME, "config": _JSON, "original_recording_id": _WHOLE,
    },
    "action_event": {
        **_STAMPED, "name": _TEXT, **_BOUND, "screenshot_id": _WHOLE, "window_event_id": _WHOLE,
        "browser_event_timestamp": _TIME, "browser_event_id": _WHOLE,
        **{f"mouse_{name}": _NUMBER for name in ("x", "y", "dx", "dy")},
        "active_segment_description": _TEXT, "available_segment_descriptions": _TEXT, "mouse_button_name": _TEXT,
        "mouse_pressed": "BOOLEAN",
        **{f"{kind}key_{name}": _TEXT for kind in ("", "canonical_") for name in ("name", "char", "vk")},
        "parent_id": _WHOLE, "element_state": _JSON, "structural_observation": _JSON, "disabled": "BOOLEAN",
    },
    "window_event": {
        **_STAMPED, "state": _JSON, "title": _TEXT, "left": _WHOLE, "top": _WHOLE, "width": _WHOLE, "height": _WHOLE,
        "window_id": _TEXT,
    },
    "browser_event": {**_STAMPED, "message": _JSON},
    "screenshot": {
        **_STAMPED, "png_data": _BYTES, "png_sha256": _TEXT, "png_diff_data": _BYTES, "png_diff_mask_data": _BYTES,
    },
    "audio_info": {
        "id": _ID, "timestamp": _TIME, "flac_data": _BYTES, "transcribed_text": _TEXT, **_OF_RECORDING,
        "sample_rate": _WHOLE, "words_with_timestamps": "TEXT",
    },
    "performance_stat": {
        "id": _ID, **_OF_RECORDING, "event_type": _TEXT, "start_time": _WHOLE, "end_time": _WHOLE, "window_id": _TEXT,
    },
    "memory_stat": {"id": _ID, **_OF_RECORDING, "memory_usage_bytes": _TIME, "timestamp": _TIME},
}  # fmt: skip
DOUBLE_CLICK_S, DOUBLE_CLICK_PIXELS = 0.5, 5


def export_openadapt(recording: PersonRecording, folder: Path) -> Path:
    """The database. Raises InputError where the folder holds one already, and for a frame or voice that is gone."""
    file, partial = folder / DATABASE, folder / f".{DATABASE}.partial"
    if file.exists():
        raise InputError(f"a new capture must have a folder of its own; got {folder}, which holds {DATABASE}")
    folder.mkdir(parents=True, exist_ok=True)
    partial.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(partial)) as connection, connection:
            for table, columns in SCHEMA.items():
                named = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
                connection.execute(f"CREATE TABLE {table} ({named})")
            _Capture(connection, recording).write()
        partial.rename(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return file


class _Capture:
    def __init__(self, connection: sqlite3.Connection, recording: PersonRecording) -> None:
        self._connection, self._recording = connection, recording
        self._began = recording.head.began
        self._frame: dict[str, Any] = {}
        self._window: dict[str, Any] = {}

    def write(self) -> None:
        head = self._recording.head
        self._insert(
            "recording", id=1, timestamp=self._began, monitor_width=head.screen[0], monitor_height=head.screen[1],
            pixel_ratio=1.0, double_click_interval_seconds=DOUBLE_CLICK_S,
            double_click_distance_pixels=DOUBLE_CLICK_PIXELS, platform="linux", task_description=head.task,
            config=json.dumps({"RECORD_VIDEO": False, "RECORD_IMAGES": True, "consent": head.consent}),
        )  # fmt: skip
        for ordinal, event in enumerate(self._recording.events, 1):
            self._event(event, ordinal)

    def _event(self, event: RecordedEvent, ordinal: int) -> None:
        time = self._began + event.time
        stamped = {"source_ordinal": ordinal, "timestamp": time, "recording_timestamp": self._began, "recording_id": 1}
        match event:
            case Moved():
                self._action(stamped, name="move", mouse_x=event.x, mouse_y=event.y)
            case Button():
                self._action(
                    stamped, name="click", mouse_x=event.x, mouse_y=event.y, mouse_button_name=event.button,
                    mouse_pressed=event.down,
                )  # fmt: skip
            case Scrolled():
                self._action(
                    stamped, name="scroll", mouse_x=event.x, mouse_y=event.y, mouse_dx=event.dx, mouse_dy=-event.dy
                )
            case KeyStroke():
                self._action(stamped, name="press" if event.down else "release", **_key(event))
            case FocusedWindow():
                x, y, width, height = event.box
                row = self._insert(
                    "window_event", **stamped, title=event.title, left=x, top=y, width=width, height=height,
                    window_id=event.application, state=json.dumps({"application": event.application}),
                )  # fmt: skip
                self._window = {
                    "window_event_timestamp": time, "window_event_source_ordinal": ordinal, "window_event_id": row,
                }  # fmt: skip
            case ScreenFrame():
                png = self._read("frames", event.file)
                row = self._insert("screenshot", **stamped, png_data=png, png_sha256=hashlib.sha256(png).hexdigest())
                self._frame = {
                    "screenshot_timestamp": time, "screenshot_source_ordinal": ordinal, "screenshot_id": row,
                }  # fmt: skip
            case Voice():
                del stamped["source_ordinal"]
                flac = self._read("voice", event.file)
                self._insert(
                    "audio_info", **stamped, flac_data=flac, transcribed_text="", sample_rate=RATE,
                    words_with_timestamps="[]",
                )  # fmt: skip

    def _action(self, stamped: Mapping[str, Any], **columns: Any) -> None:
        self._insert("action_event", **stamped, **self._frame, **self._window, **columns, disabled=False)

    def _insert(self, table: str, **columns: Any) -> int:
        named, places = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
        done = self._connection.execute(f"INSERT INTO {table} ({named}) VALUES ({places})", tuple(columns.values()))
        assert done.lastrowid is not None
        return done.lastrowid

    def _read(self, folder: str, name: str) -> bytes:
        try:
            return self._recording.file(folder, name).read_bytes()
        except OSError as error:
            raise InputError(f"{self._recording.path}: {folder}/{name} must be a file; {error.strerror}") from error


def _key(event: KeyStroke) -> dict[str, str]:
    """By name where it has no character, else by what it types, or by what is on it."""
    if name := name_of_x(event.key):
        return {"key_name": name, "canonical_key_name": name}
    on_it = character_of_x(event.key) or event.text[:1]
    if not on_it:
        return {"key_name": event.key, "canonical_key_name": event.key}
    return {"key_char": event.text if len(event.text) == 1 else on_it, "canonical_key_char": on_it}
