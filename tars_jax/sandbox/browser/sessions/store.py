"""The files of a sessions folder: which run holds the browsers, and for each session its lease and its journal.

    manager.json                    mark and folder of the run whose browsers may still be there after a kill
    ID/session.json                 owner, lease, hash of the token, name of the journal
    ID/journal-12.jsonl             how the page was opened, and every call since call 12 (journal.py)
    ID/recording/                   where a recording was asked for (recording.py)
    ID/downloads/                   what the page has downloaded (downloads.py)

A session.json names its journal, so that a new journal takes the place of an old one in one rename.
"""

from __future__ import annotations

import dataclasses
import fcntl
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
from tars_jax.sandbox.browser.sessions.journal import Journal, read_journal, replace
from tars_jax.sandbox.browser.sessions.recording import Recording
from tars_jax.sandbox.browser.sessions.session import Lease, Session

log = logging.getLogger(__name__)
MANAGER, SESSION, RECORDING, DOWNLOADS = "manager.json", "session.json", "recording", "downloads"
ID = re.compile(r"[a-z0-9]{1,64}")


@dataclasses.dataclass(frozen=True)
class Stored:
    """A session that was found."""

    id: str
    lease: Lease
    journal: Journal
    recording: Recording | None


class Store:
    """A sessions folder, held by one process at a time. Raises InputError when another one has it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise InputError(f"{folder} is in use by another process; sessions take a folder of their own") from error

    def close(self) -> None:
        self._lock.close()

    def take_over(self, run: SandboxRun) -> int:
        """Ends the processes that the last run left, and removes its files; returns how many processes they were.

        The next one will find `run` in its place.
        """
        ended = self._reap(run.token)
        replace(self.folder / MANAGER, _json({"token": run.token, "folder": str(run.folder), "pid": os.getpid()}))
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

    def save(self, session: Session, *, new_journal: bool) -> None:
        """Writes the lease, and a journal of its own if it has begun anew."""
        folder = self.folder / session.id
        folder.mkdir(exist_ok=True)  # its downloads may be there before it
        name = f"journal-{session.journal.before}.jsonl"
        if new_journal:
            session.journal.write_to(folder / name)
        replace(folder / SESSION, _json({"lease": dataclasses.asdict(session.lease), "journal": name}))
        for old in folder.glob("journal-*.jsonl"):
            if old.name != name:
                old.unlink()

    def downloads(self, id: str, limit: int) -> Downloads:
        """Those of a session, new or adopted. Raises OSError, ValueError, TypeError when they cannot be read."""
        return Downloads(self.folder / id / DOWNLOADS, limit)

    def recording_folder(self, session: Session) -> Path:
        return self.folder / session.id / RECORDING

    def find(self) -> Iterator[Stored]:
        """The sessions of the folder; what cannot be read is removed, with a word in the log."""
        for folder in sorted(self.folder.iterdir()):
            if not folder.is_dir() or not ID.fullmatch(folder.name):
                continue
            try:
                value: dict[str, Any] = json.loads((folder / SESSION).read_bytes())
                lease = Lease(**{**value["lease"], "seconds": float(value["lease"]["seconds"])})
                file = folder / value["journal"]
                journal = read_journal(file)
                journal.write_to(file)  # without the line that a kill may have cut off
                recorded = (folder / RECORDING).is_dir()
                yield Stored(folder.name, lease, journal, Recording.resume(folder / RECORDING) if recorded else None)
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("session %s cannot be adopted: %s", folder.name, error)
                self.remove(folder.name)

    def remove(self, id: str) -> None:
        shutil.rmtree(self.folder / id, ignore_errors=True)


def read_run(sessions: Path) -> tuple[str, Path]:
    """Mark and folder of the run that holds a sessions folder, or held it last. Raises OSError, ValueError."""
    run = json.loads((sessions / MANAGER).read_bytes())
    return str(run["token"]), Path(run["folder"])


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=1).encode()
