"""The recordings that lie on this computer: listed, and deleted."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

from tars_jax import InputError
from tars_jax.annotation.in_situ.recording import HEAD, PersonRecording, read_recording
from tars_jax.annotation.in_situ.recording_writer import is_running, recover


@dataclasses.dataclass(frozen=True)
class KeptRecording:
    path: Path
    state: str  # running, whole, cut off, damaged: why
    bytes: int
    seconds: float
    task: str


def recordings_folder() -> Path:
    """Folder of recordings unless the person names another."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "tars_jax" / "recordings"


def find_recordings(below: Path) -> list[Path]:
    """Folders of recordings, in the order of their beginnings."""
    return sorted(path.parent for path in below.glob(f"*/{HEAD}"))


def list_recordings(below: Path) -> list[KeptRecording]:
    """All recordings of a folder. What a kill has left is made whole. Raises OSError."""
    return [_kept(path) for path in find_recordings(below)]


def open_recording(path: Path) -> PersonRecording:
    """A recording, made whole where a kill has cut it off. Raises InputError for what is none or still runs."""
    if (path / HEAD).exists():
        if is_running(path):
            raise InputError(f"{path} must have ended; it is being recorded")
        recover(path)
    return read_recording(path)


def delete_recording(path: Path) -> int:
    """Deletes a recording, all of it; how many bytes. Raises InputError for what is none or is being written."""
    if not (path / HEAD).is_file():
        raise InputError(f"config.recording must be a recording, a folder with {HEAD}; got {str(path)!r}")
    if is_running(path):
        raise InputError(f"config.recording must have ended; {path} is being recorded")
    size = _size(path)
    # The head goes last: a deletion that is cut off can be done again.
    for each in sorted(path.iterdir(), key=lambda each: each.name == HEAD):
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    path.rmdir()
    return size


def _kept(path: Path) -> KeptRecording:
    if is_running(path):
        return KeptRecording(path, "running", _size(path), 0.0, "")
    try:
        recording = open_recording(path)
    except InputError as error:
        return KeptRecording(path, f"damaged: {error}", _size(path), 0.0, "")
    seconds = recording.events[-1].time if recording.events else 0.0
    return KeptRecording(path, "cut off" if recording.cut_off else "whole", _size(path), seconds, recording.head.task)


def _size(path: Path) -> int:
    return sum(each.lstat().st_size for each in path.rglob("*") if not each.is_dir())
