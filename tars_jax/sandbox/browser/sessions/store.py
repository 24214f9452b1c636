"""The files of a sessions folder: which run holds the browsers, and for each session its lease and its journal.

    manager.json                    mark and folder of the run whose browsers may still be there after a kill
    ID/session.json                 the lease, name of the journal
    ID/journal-12.jsonl             how the page was opened, and every call since call 12 (journal.py)
    ID/recording/                   where a recording was asked for (recording.py)
    ID/downloads/                   what the page has downloaded (downloads.py)
    ID.unreadable/                  a session that the disk has damaged: its downloads are for somebody to look at

A session.json names its journal, so that a new journal takes the place of an old one in one rename. It is the last file
of a session that is written and the first that goes: a folder without one is of a session that was not leased yet, or
was released.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser.downloads import Downloads
from tars_jax.sandbox.browser.processes import SandboxRun
from tars_jax.sandbox.browser.reaper import end_run
from tars_jax.sandbox.browser.sessions.journal import Journal, recover_journal, replace
from tars_jax.sandbox.browser.sessions.recording import PageRecording
from tars_jax.sandbox.sessions.leased_session import Lease
from tars_jax.sandbox.sessions.locked_folder import lock_folder

log = logging.getLogger(__name__)
MANAGER, SESSION, RECORDING, DOWNLOADS = "manager.json", "session.json", "recording", "downloads"
ID = re.compile(r"[a-z0-9]{1,64}")


@dataclasses.dataclass(frozen=True)
class StoredPage:
    """A session that was found."""

    id: str
    lease: Lease
    journal: Journal
    recording: PageRecording | None
    lost: int  # calls behind a line of the journal that was unreadable


class PageStore:
    """A sessions folder, held by one process at a time. Raises InputError when another one has it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = lock_folder(folder, "sessions")

    def close(self) -> None:
        self._lock.close()

    def take_over(self, run: SandboxRun) -> int:
        """Ends the processes that the last run left, and removes its files; returns how many processes they were.

        The next one will find `run` in its place. Raises InputError where the disk does not take that.
        """
        ended = self._reap(run.token)
        file = self.folder / MANAGER
        data = _json({"token": run.token, "folder": str(run.folder), "pid": os.getpid()})
        try:
            try:
                replace(file, data)
            except OSError:
                _overwrite(file, data)
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error.strerror}") from error
        return ended

    def _reap(self, own: str) -> int:
        try:
            token, folder = read_run(self.folder)
        except (OSError, ValueError, KeyError, TypeError):
            return 0  # there was none
        if token == own or not token:
            return 0
        if not folder.name.startswith("tars_jax-"):
            return 0  # not a folder of ours
        return end_run(token, str(folder), os.getpgrp())

    def save(self, id: str, lease: Lease, journal: Journal) -> None:
        """Writes a journal that has begun anew, and the lease. Raises OSError; the files are then as they were."""
        folder = self.folder / id
        folder.mkdir(exist_ok=True)  # its downloads may be there before it
        file = folder / _name(journal)
        try:
            journal.write_to(file)
            self.save_lease(id, lease, journal)
        except OSError:
            file.unlink(missing_ok=True)
            raise
        for old in folder.glob("journal-*.jsonl"):
            if old != file:
                old.unlink()

    def save_lease(self, id: str, lease: Lease, journal: Journal) -> None:
        """Writes the lease beside the journal that is there. Raises OSError; the file is then as it was."""
        replace(self.folder / id / SESSION, _json({"lease": dataclasses.asdict(lease), "journal": _name(journal)}))

    def downloads(self, id: str, limit: int) -> Downloads:
        """Downloads of a session, new or adopted. Raises OSError, ValueError, TypeError when they cannot be read."""
        return Downloads(self.folder / id / DOWNLOADS, limit)

    def recording_folder(self, id: str) -> Path:
        return self.folder / id / RECORDING

    def find(self) -> Iterator[StoredPage]:
        """The sessions of the folder. What was damaged is set aside, what the disk does not give now stays as it is."""
        for folder in sorted(self.folder.iterdir()):
            if not folder.is_dir() or not ID.fullmatch(folder.name):
                continue
            if not (folder / SESSION).exists():
                self.remove(folder.name)
                continue
            try:
                yield _found(folder)
            except OSError as error:
                log.warning("session %s cannot be adopted now: %s", folder.name, error)
            except (ValueError, KeyError, TypeError) as error:
                log.warning("session %s cannot be adopted, and is set aside: %s", folder.name, error)
                self._set_aside(folder)

    def _set_aside(self, folder: Path) -> None:
        aside = folder.with_name(f"{folder.name}.unreadable")
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)

    def remove(self, id: str) -> None:
        (self.folder / id / SESSION).unlink(missing_ok=True)
        shutil.rmtree(self.folder / id, ignore_errors=True)


def _found(folder: Path) -> StoredPage:
    """A session from its files. Raises ValueError, KeyError, TypeError for damaged ones, OSError as reading does."""
    value: dict[str, Any] = json.loads((folder / SESSION).read_bytes())
    lease = Lease.from_json(value["lease"])
    journal, lost = recover_journal(folder / value["journal"])
    recording = None
    if PageRecording.is_in(folder / RECORDING):
        try:
            recording = PageRecording.resume(folder / RECORDING, journal)
        except OSError as error:
            log.warning("session %s goes on without its recording: %s", folder.name, error)
    return StoredPage(folder.name, lease, journal, recording, lost)


def read_run(sessions: Path) -> tuple[str, Path]:
    """Mark and folder of the run that holds a sessions folder, or held it last. Raises OSError, ValueError."""
    run = json.loads((sessions / MANAGER).read_bytes())
    return str(run["token"]), Path(run["folder"])


def _overwrite(file: Path, data: bytes) -> None:
    """Writes a file in place: a full disk, which takes no file beside another, still takes one of the same length."""
    with file.open("r+b") as opened:
        opened.write(data)
        opened.truncate()


def _name(journal: Journal) -> str:
    return f"journal-{journal.before}.jsonl"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=1).encode()
