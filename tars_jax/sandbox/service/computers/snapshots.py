"""Snapshots of computers by names that their owners gave."""

from __future__ import annotations

import dataclasses
import secrets
import time
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.service.computers.opening import OpensComputers
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.spec import ComputerSpec

MOST = 64  # of one owner
LONGEST_NAME = 100


@dataclasses.dataclass(frozen=True)
class Named:
    name: str
    snapshot: Snapshot
    spec: ComputerSpec  # of the computer that it was taken of
    created: float

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "bytes": self.snapshot.bytes, "created": self.created, "parts": list(self.spec.parts),
        }  # fmt: skip


class NamedSnapshots:
    """They last as long as the service. Each owner has names of its own."""

    def __init__(self, computers: OpensComputers) -> None:
        self._computers = computers
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
        return named

    async def nameless(self, session: ComputerSession) -> Snapshot:
        """The files of the session as they are now. Its taker removes it."""
        return await session.computer.container.snapshot(secrets.token_hex(8))

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
