"""An episode's journal: one JSON line an event, on the disk before anybody is told of it.

A line that a kill cut off was never answered; reading begins by taking it away. Screens lie beside, by their digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.files import write_atomic

FILE, SCREENS = "journal.jsonl", "screens"


def digest(screenshot: bytes, text: str) -> str:
    """Digest of an observation, which is compared when steps are played again."""
    return hashlib.sha256(len(screenshot).to_bytes(8, "big") + screenshot + text.encode("utf-8", "replace")).hexdigest()


def screen_name(png: bytes) -> str:
    """Name of a screenshot's file; "" for none."""
    return f"{hashlib.sha256(png).hexdigest()[:32]}.png" if png else ""


class EpisodeJournal:
    """The journal in a folder; one process writes it."""

    def __init__(self, folder: Path) -> None:
        """Raises InputError for a file that no journal of ours is."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SCREENS).mkdir(exist_ok=True)
        self._file = folder / FILE
        drop_partial_line(self._file)
        self._open = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        _sync_folder(folder)

    def append(self, kind: str, **fields: Any) -> None:
        """Appends one event; returns once it is on the disk. Raises OSError (a full disk), and nothing of it is
        left."""
        line = json.dumps({"event": kind, **fields}, separators=(",", ":"), default=_plain).encode() + b"\n"
        size = os.fstat(self._open).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._open, line[written:])
            os.fsync(self._open)
        except OSError:
            os.ftruncate(self._open, size)
            raise

    def keep_screen(self, png: bytes) -> str:
        """Keeps a screenshot once; returns its name, or "" for none."""
        name = screen_name(png)
        if name and not (file := self.folder / SCREENS / name).exists():
            write_atomic(file, png)
        return name

    def events(self) -> list[dict[str, Any]]:
        return list(read_events(self.folder))

    def close(self) -> None:
        if self._open >= 0:
            os.close(self._open)
            self._open = -1


def drop_partial_line(file: Path) -> None:
    """Takes away the beginning of a line that was never finished."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return
    if content and not content.endswith(b"\n"):
        with open(file, "r+b") as half:
            half.truncate(content.rfind(b"\n") + 1)
            os.fsync(half.fileno())


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """The events of a journal, in order; a last line that was cut off is none.

    Raises InputError for a line that is none, by file and line.
    """
    file = folder / FILE
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{file} must be the journal of an episode; got {error.strerror}") from error
    for number, line in enumerate(lines[:-1], 1):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}:{number} must be an event; got {error}") from error
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise InputError(f"{file}:{number} must be an event; got {line[:80]!r}")
        yield event


def read_screen(folder: Path, name: str) -> bytes:
    """Raises InputError where it is not there any more."""
    if not name:
        return b""
    try:
        return (folder / SCREENS / name).read_bytes()
    except OSError as error:
        raise InputError(f"{folder / SCREENS / name} must be a screenshot; got {error.strerror}") from error


def _plain(value: Any) -> Any:
    """A plain value for what JSON has no word for: arrays and their numbers, and mappings of other kinds."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _sync_folder(folder: Path) -> None:
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
