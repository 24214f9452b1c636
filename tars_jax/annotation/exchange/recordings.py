"""A recording of ours from what another tool has kept: written beside, and there as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Event
from tars_jax.annotation.in_situ.recording import EVENTS, FOLDERS, HEAD, Head

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

    def finish(self, head: Head, events: Iterable[Event]) -> Path:
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


def rounded(seconds: float) -> float:
    """To the microsecond; what came before the beginning came with it."""
    return max(0.0, round(seconds, 6))
