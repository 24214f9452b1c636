"""Recordings of sessions, which can be replayed: the calls and the screenshots, in a folder or in one .zip file.

    journal.jsonl       how the page was opened, and every call (journal.py)
    frames/000007.png   what the call in line 8 showed

Play one, in a browser, and hear whether every frame is the same to the byte:

    python -m tars_jax.sandbox.browser.sessions.recording FOLDER_OR_ZIP
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import sys
import zipfile
from pathlib import Path
from typing import IO, Any, TypeAlias

from tars_jax import InputError
from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.browser.manager import BrowserManager
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.sessions.journal import (
    Journal,
    JournalEntry,
    gone_after_failure,
    read_journal,
    recover_journal,
    replay,
)
from tars_jax.sandbox.failures import SandboxFailure

log = logging.getLogger(__name__)
JOURNAL, FRAMES = "journal.jsonl", "frames"
Folder: TypeAlias = Any  # pathlib.Path, or zipfile.Path, which has no type in common with it


class PageRecording:
    """Writes calls and frames below a folder, from a journal on: what is in it already is played, but has no frames."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        """Raises OSError where the disk does not take it."""
        (folder / FRAMES).mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._journal = journal.copy()
        self._journal.write_to(folder / JOURNAL)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether one has begun there."""
        return (folder / JOURNAL).exists()

    @classmethod
    def resume(cls, folder: Path, journal: Journal) -> PageRecording:
        """Goes on with one whose writer was killed, at the last call that the session's journal knows of.

        Where the recording has lost calls it begins anew with that journal. Raises OSError where the disk does not give
        or take it.
        """
        try:
            recorded, _ = recover_journal(folder / JOURNAL, journal.calls)
        except InputError as error:
            log.warning("the recording begins anew: %s", error)
        else:
            if recorded.calls == journal.calls:
                recording = cls.__new__(cls)
                recording.folder, recording._journal = folder, recorded
                recording._drop_frames(len(recorded.entries))
                return recording
            log.warning("the recording %s lacks calls of its session, and begins anew", folder)
        recording = cls(folder, journal)
        recording._drop_frames(0)  # they belong to other lines
        return recording

    def _drop_frames(self, index: int) -> None:
        """Drops frames from one line on: those of calls that were not kept."""
        for frame in (self.folder / FRAMES).iterdir():
            if frame.stem >= _frame(self.folder, index).stem:
                frame.unlink()

    def append(self, entry: JournalEntry, value: Any) -> None:
        """Raises OSError where the disk does not take it; the recording is then as it was."""
        frame = _frame(self.folder, len(self._journal.entries))
        with gone_after_failure(frame):
            if isinstance(value, PageObservation):  # before its line, which would be torn without it
                frame.write_bytes(value.png)
            self._journal.append(entry)

    def take_back(self) -> None:
        """The last call is as if it never was."""
        self._journal.take_back()
        _frame(self.folder, len(self._journal.entries)).unlink(missing_ok=True)

    def lines(self, after: int, most: int) -> list[dict[str, Any]]:
        """The calls from number `after` on, 0 the first, each with its `number`."""
        entries = self._journal.entries[after : after + most]
        return [{"number": after + at, **entry.to_json()} for at, entry in enumerate(entries)]

    def frame(self, number: int) -> bytes | None:
        """The PNG that a call gave, if it gave one."""
        try:
            return _frame(self.folder, number).read_bytes()
        except FileNotFoundError:
            return None

    def pack(self, file: IO[bytes]) -> None:
        """Writes the recording up to here as one .zip file."""
        # PNG is compressed already; a machine without a clock of its own starts in 1970, which no ZIP can say.
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, strict_timestamps=False) as archive:
            archive.write(self.folder / JOURNAL, JOURNAL)
            for index in range(len(self._journal.entries)):
                if (frame := _frame(self.folder, index)).exists():
                    archive.write(frame, f"{FRAMES}/{frame.name}")


async def play(path: Path, manager: BrowserManager) -> int:
    """Plays a recording on a new page; returns the number of frames, all equal to the byte.

    Raises InputError for a recording that cannot be read or whose frames are not its own, SandboxFailure("diverged")
    at the first call that shows something else.
    """
    folder: Folder = _opened(path)
    journal = read_journal(folder / JOURNAL)
    frames = 0
    for index, entry in enumerate(journal.entries):
        frame = _frame(folder, index)
        if frame.exists():
            frames += 1
            if f"sha256:{hashlib.sha256(frame.read_bytes()).hexdigest()}" != entry.result:
                raise InputError(
                    f"{path}: {FRAMES}/{frame.name} must be the screenshot of the journal's digest; got another"
                )
    page = await replay(journal, manager.open)
    await page.close()
    return frames


def _opened(path: Path) -> Folder:
    if path.is_dir():
        return path
    try:
        return zipfile.Path(zipfile.ZipFile(path))
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} must be a recording, a folder or a .zip file of one; got {error}") from error


def _frame(folder: Folder, index: int) -> Folder:
    return folder / FRAMES / f"{index:06d}.png"


def main(arguments: list[str]) -> int:
    """Exit code 0 when every frame is the same, 1 when one is not, 2 when there is no such recording."""
    parser = argparse.ArgumentParser(description="plays a recording and compares every frame")
    parser.add_argument("path", type=Path)
    path = parser.parse_args(arguments).path

    async def frames() -> int:
        _opened(path)
        async with BrowserManager(BrowserConfig(browsers=1)) as manager:
            return await play(path, manager)

    try:
        print(f"{path}: {asyncio.run(frames())} frames, each the same to the byte")
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except SandboxFailure as failure:
        print(f"{path}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
