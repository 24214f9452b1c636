"""Recordings of computers' sessions: what was called and what came of it, in the form of those of pages
(browser/sessions/recording.py), in a folder or as one .zip file.

    journal.jsonl       the session, then a line for each call
    frames/000007.png   the picture that the call in line 8 gave

    {"version": 1, "computer": {"parts": [...], "memory_mib": ..., ...}, "before": 12}
    {"call": {"call": "run", "command": "ls"}, "result": "value", "answer": {"output": ...}, "time": 1764158400.1}

`result` is "sha256:" and the digest of the picture, "value", or "error"; `before` counts the calls before the
recording. Long texts are cut in the middle. A recording is to be read, not replayed: a computer lives in real time.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import os
import time
import zipfile
from pathlib import Path
from typing import IO, Any

from tars_jax.sandbox.service.computers.spec import ComputerRequest

log = logging.getLogger(__name__)
JOURNAL, FRAMES = "journal.jsonl", "frames"
VERSION = 1
LONGEST = 4000  # characters of a text
MOST_ITEMS = 200  # of an array
MOST_BYTES = 512 << 20  # of a recording; what comes then is not in it
ERROR, VALUE = "error", "value"


class SessionRecording:
    """Writes below a folder, one call at a time."""

    def __init__(self, folder: Path, size: int, count: int) -> None:
        self.folder, self._size, self.count = folder, size, count
        self.full = False
        self._turn = asyncio.Lock()

    @classmethod
    def begun(cls, folder: Path, spec: ComputerRequest, before: int) -> SessionRecording:
        """Raises OSError where the disk does not take it."""
        (folder / FRAMES).mkdir(parents=True, exist_ok=True)
        head = _line({"version": VERSION, "computer": spec.to_json(), "before": before})
        (folder / JOURNAL).write_bytes(head)
        return cls(folder, len(head), 0)

    @classmethod
    def restore(cls, folder: Path) -> SessionRecording | None:
        """The recording of a writer that was killed, at its last whole line; None where there is none."""
        try:
            data = (folder / JOURNAL).read_bytes()
            size = data.rfind(b"\n") + 1
            os.truncate(folder / JOURNAL, size)
            frames = sum(file.stat().st_size for file in (folder / FRAMES).iterdir())
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("a session goes on without its recording: %s", error)
            return None
        if not size:
            return None
        return cls(folder, size + frames, data[:size].count(b"\n") - 1)

    async def append(self, call: Any, answer: Any, error: BaseException | None) -> None:
        """A call that came back. A disk that is full ends the recording and nothing else."""
        async with self._turn:
            if self.full:
                return
            try:
                await asyncio.to_thread(self._append, call, answer, error)
            except OSError as failure:
                self.full = True
                log.warning("the recording %s has ended: %s", self.folder, failure)

    def _append(self, call: Any, answer: Any, error: BaseException | None) -> None:
        result, png = VALUE, b""
        if error is not None:
            result, answer = ERROR, f"{type(error).__name__}: {error}"
        elif isinstance(answer, dict) and isinstance(answer.get("png"), str):
            png = base64.b64decode(answer["png"])
            answer = {name: value for name, value in answer.items() if name != "png"}
            result = f"sha256:{hashlib.sha256(png).hexdigest()}"
        line = _line({"call": _cut(call), "result": result, "answer": _cut(answer), "time": time.time()})
        self._write(line, png)

    def _write(self, line: bytes, png: bytes) -> None:
        if self._size + len(line) + len(png) > MOST_BYTES:
            self.full = True
            return
        if png:  # before its line, which would be torn without it
            (self.folder / FRAMES / f"{self.count:06d}.png").write_bytes(png)
        with open(self.folder / JOURNAL, "ab") as journal:
            journal.write(line)
        self._size += len(line) + len(png)
        self.count += 1

    def lines(self, after: int, most: int) -> list[dict[str, Any]]:
        """The calls from number `after` on, 0 the first, each with its `number`. Blocks."""
        with open(self.folder / JOURNAL, "rb") as journal:
            lines = journal.read().split(b"\n")[1:-1]
        return [{"number": after + at, **json.loads(line)} for at, line in enumerate(lines[after : after + most])]

    def frame(self, number: int) -> bytes | None:
        """PNG; None: the call gave no picture. Blocks."""
        try:
            return (self.folder / FRAMES / f"{number:06d}.png").read_bytes()
        except FileNotFoundError:
            return None

    def pack(self, file: IO[bytes]) -> None:
        """Writes the recording up to here as one .zip file. Blocks."""
        count = self.count
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, strict_timestamps=False) as archive:
            archive.write(self.folder / JOURNAL, JOURNAL)
            for frame in sorted((self.folder / FRAMES).iterdir())[:count]:
                archive.write(frame, f"{FRAMES}/{frame.name}")


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _cut(value: Any) -> Any:
    """A plain value with its long texts and arrays cut."""
    if isinstance(value, str) and len(value) > LONGEST:
        half = LONGEST // 2
        return f"{value[:half]}[... {len(value) - LONGEST:,} characters cut ...]{value[-half:]}"
    if isinstance(value, dict):
        return {str(name)[:LONGEST]: _cut(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_cut(each) for each in value[:MOST_ITEMS]]
    return value
