"""Records of leased computers on the disk, for the next process when this one is killed.

FOLDER/.lock               held by the process that uses the folder
FOLDER/owner.json          what the next process needs to take the containers over (computer/reattachment.py)
FOLDER/snapshots.json      names and files of snapshots (snapshots.py)
FOLDER/ID/session.json     format of these files, lease, spec, container and the token of its guest; the last file
                           that is written and the first that goes
FOLDER/ID/parts.json       shells, kernels, desktop
FOLDER/ID/answers/         of calls with an idempotency key (answers.py)
FOLDER/ID/recording/       where one was asked for (recording.py)

A power cut ends the containers, too, so nothing waits for the disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.service.computers.spec import ComputerRequest, read_spec
from tars_jax.sandbox.sessions.leased_session import Lease
from tars_jax.sandbox.sessions.locked_folder import lock_folder
from tars_jax.web.protocol import RequestError, RequestFields

log = logging.getLogger(__name__)
ID = re.compile(r"[0-9a-f]{16}")
SESSION, PARTS, ANSWERS, RECORDING = "session.json", "parts.json", "answers", "recording"
OWNER = "owner.json"
# Of session.json, parts.json and snapshots.json. Whoever gives them other fields counts it up: what another version
# kept is then said to be in another format, and is not misread.
FORMAT = 1


@dataclasses.dataclass(frozen=True)
class StoredComputer:
    """A session of the process before."""

    id: str
    lease: Lease
    spec: ComputerRequest
    place: Mapping[str, Any]  # where its computer is, as `ComputerSession.place` told it
    parts: Mapping[str, Any]
    format: Any = FORMAT  # of another one the lease alone is read


class SessionFolder:
    """The folder of one session."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def save(self, lease: Lease, spec: ComputerRequest, place: Mapping[str, Any]) -> None:
        """Raises OSError; the file is then as it was."""
        self.path.mkdir(mode=0o700, exist_ok=True)
        kept = {"lease": dataclasses.asdict(lease), "spec": spec.to_json(), "place": place}
        replace(self.path / SESSION, {"format": FORMAT, **kept})

    def save_parts(self, parts: Mapping[str, Any]) -> None:
        """Raises OSError; the file is then as it was."""
        self.path.mkdir(mode=0o700, exist_ok=True)
        replace(self.path / PARTS, parts)

    def remove(self) -> None:
        (self.path / SESSION).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)


class SessionFolders:
    """Raises InputError when another process has the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = lock_folder(folder, "computers")

    def of(self, id: str) -> SessionFolder:
        return SessionFolder(self._folder / id)

    def find(self) -> Iterator[StoredComputer]:
        """Finds the sessions of the process before. What cannot be read is removed: nobody could use it."""
        for path in sorted(self._folder.iterdir()):
            if not ID.fullmatch(path.name):
                continue
            try:
                value = json.loads((path / SESSION).read_bytes())
                lease, format = Lease.from_json(value["lease"]), value.get("format")
                if format != FORMAT:
                    yield StoredComputer(path.name, lease, ComputerRequest(), {}, {}, format)
                    continue
                spec, place = read_spec(RequestFields(value["spec"])), dict(value["place"])
                parts = json.loads((path / PARTS).read_bytes()) if (path / PARTS).exists() else {}
                found = StoredComputer(path.name, lease, spec, place, dict(parts))
            except (OSError, ValueError, KeyError, TypeError, InputError, RequestError) as error:
                if (path / SESSION).exists():
                    log.warning("computer %s is unreadable: %s", path.name, error)
                SessionFolder(path).remove()
                continue
            yield found

    def close(self) -> None:
        self._lock.close()


def replace(file: Path, value: Any) -> None:
    """Writes JSON whole or not at all. Raises OSError, and the file is as it was."""
    partial = file.with_name(f".{file.name}.partial")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(json.dumps(value).encode())
        os.replace(partial, file)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
