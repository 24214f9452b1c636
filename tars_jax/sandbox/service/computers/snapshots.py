"""Snapshots of computers by names that their owners gave."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import secrets
import time
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.opening import OpensComputers
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.spec import ComputerRequest, read_spec
from tars_jax.sandbox.service.computers.store import FORMAT, replace
from tars_jax.sandbox.service.computers.suspended import snapshot_from_json, snapshot_to_json
from tars_jax.web.protocol import RequestError, RequestFields

log = logging.getLogger(__name__)
FILE = "snapshots.json"
KEPT_S = 600.0  # without a service
MOST = 64  # of one owner
LONGEST_NAME = 100


@dataclasses.dataclass(frozen=True)
class Named:
    name: str
    snapshot: Snapshot
    spec: ComputerRequest  # of the computer that it was taken of
    created: float

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "bytes": self.snapshot.bytes, "created": self.created, "parts": list(self.spec.parts),
        }  # fmt: skip


class NamedSnapshots:
    """Each owner has names of its own. They last as long as the service, and where it keeps its computers also beyond a
    kill of it, for KEPT_S.
    """

    def __init__(self, computers: OpensComputers) -> None:
        self._computers = computers
        self._keeper: Computers | None = None
        self._file: Path | None = None
        self._named: dict[tuple[str, str], Named] = {}

    async def take(self, session: ComputerSession, name: str) -> Named:
        """Raises InputError for a name that is taken, or too many; SandboxFailure."""
        key = session.lease.owner, name
        if not 0 < len(name) <= LONGEST_NAME:
            raise InputError(f"name must be 1 to {LONGEST_NAME} characters; got {name!r:.120}")
        if key in self._named:
            raise InputError(f"name must be a new one; got {name!r}, which is taken")
        if len(self.of(session.lease.owner)) >= MOST:
            raise InputError(f"snapshots must be at most {MOST} of one owner; remove one first")
        named = Named(name, await self.nameless(session), session.spec, time.time())
        if key in self._named:  # by another call meanwhile
            await self._computers.remove_snapshot(named.snapshot)
            raise InputError(f"name must be a new one; got {name!r}, which is taken")
        self._named[key] = named
        try:
            await self._keep()
        except SandboxFailure:
            del self._named[key]
            await self._computers.remove_snapshot(named.snapshot)
            raise
        return named

    async def go_on(self, keeper: Computers, folder: Path) -> None:
        """Goes on with snapshots of the process before whose files are there."""
        self._keeper, self._file = keeper, folder / FILE
        try:
            kept = json.loads(self._file.read_bytes())
            if isinstance(kept, list):  # of a version that said no format, which was the first
                kept = {"format": 1, "snapshots": kept}
            if kept["format"] != FORMAT:
                words = "snapshots of the process before were kept by another version, in format %s; this one reads %d"
                log.warning(words, kept["format"], FORMAT)
                return
            for each in kept["snapshots"]:
                snapshot = snapshot_from_json(each["snapshot"])
                if keeper.adopt_snapshot(snapshot):
                    named = Named(
                        str(each["name"]), snapshot, read_spec(RequestFields(each["spec"])), float(each["created"])
                    )
                    self._named[str(each["owner"]), named.name] = named
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, InputError, RequestError) as error:
            log.warning("snapshots of the process before are unreadable: %s", error)
        with contextlib.suppress(SandboxFailure):  # the file is as it was
            await self._keep()

    async def _keep(self) -> None:
        if self._keeper is None or self._file is None:
            return
        listed = [
            {"owner": owner, "name": name, "snapshot": snapshot_to_json(named.snapshot), "spec": named.spec.to_json(),
             "created": named.created}
            for (owner, name), named in self._named.items()
        ]  # fmt: skip
        try:
            await asyncio.to_thread(replace, self._file, {"format": FORMAT, "snapshots": listed})
        except OSError as error:
            raise SandboxFailure("disk", f"snapshots could not be kept: {error.strerror or error}") from error
        await self._keeper.keep("snapshots", KEPT_S if listed else 0.0)

    async def nameless(self, session: ComputerSession) -> Snapshot:
        """The files of the session as they are now. Its taker removes it."""
        await session.resume()
        return await session.computer.snapshot(secrets.token_hex(8))

    def get(self, owner: str, name: str) -> Named:
        """Raises InputError where there is none."""
        if (owner, name) not in self._named:
            raise InputError(f"snapshot must be the name of one that was taken; got {name!r:.120}")
        return self._named[owner, name]

    def of(self, owner: str) -> list[Named]:
        return [named for (each, _), named in self._named.items() if each == owner]

    async def remove(self, owner: str, name: str) -> None:
        """Computers that began with it live on. Raises InputError where there is none."""
        named = self.get(owner, name)
        del self._named[owner, name]
        await self._computers.remove_snapshot(named.snapshot)
        with contextlib.suppress(SandboxFailure):  # the next process finds that its files have gone
            await self._keep()
