"""All leased computers of a service: opened, counted against quotas, collected, and accounted for after a kill."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from pathlib import Path
from types import TracebackType

from tars_jax import InputError
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.opening import OpensComputers
from tars_jax.sandbox.service.computers.session import RESTARTED, ComputerSession
from tars_jax.sandbox.service.computers.snapshots import NamedSnapshots
from tars_jax.sandbox.service.computers.spec import ComputerSpec
from tars_jax.sandbox.service.computers.store import LeaseFiles
from tars_jax.sandbox.sessions.leased import Lease
from tars_jax.sandbox.sessions.registry import Room, new_token

log = logging.getLogger(__name__)
DEFAULT_LEASE_S, MOST_LEASE_S = 120.0, 86_400.0
MOST_FORKS = 64  # of one call


class ComputerSessions:
    """A `Registry`, and an async context manager.

    With a `folder`, a restart knows the leases of the process before, whose computers have ended with it: each call on
    one is a SandboxFailure("container") until it is released or its lease is over, and no call of it is lost silently.
    """

    def __init__(
        self, computers: OpensComputers, folder: Path | None = None, room: Room | None = None, *,
        lease_s: float = DEFAULT_LEASE_S, max_lease_s: float = MOST_LEASE_S, collect_s: float = 0.5,
        max_sessions: int = 64,
    ) -> None:  # fmt: skip
        """`room`: shared with sessions of other kinds; None: these have one of their own, of `max_sessions`."""
        self.lease_s, self.max_lease_s, self._collect_s = lease_s, max_lease_s, collect_s
        self.lost = self.collected = 0
        self.unavailable = ""  # why there can be no computers on this machine
        self.snapshots = NamedSnapshots(computers)
        self._computers, self._folder = computers, folder
        self._room = room or Room(max_sessions, max_sessions)
        self._room.holds(self)
        self._files: LeaseFiles | None = None
        self._sessions: dict[str, ComputerSession] = {}
        self._collecting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ComputerSessions:
        if self._folder is not None:
            self._files = LeaseFiles(self._folder)
            for id, lease, spec in list(self._files.find()):
                session = self._sessions[id] = ComputerSession(id, lease, spec)
                session.lose(SandboxFailure("container", RESTARTED))
                self.lost += 1
        try:
            await self._computers.__aenter__()
        except InputError as error:  # sessions of other kinds are served all the same
            self.unavailable = str(error)
            log.warning("no computers here: %s", error)
        self._collecting = asyncio.create_task(self._collect())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._collecting is not None:
            self._collecting.cancel()
        await asyncio.gather(*(session.end() for session in self._sessions.values()), return_exceptions=True)
        self._sessions.clear()
        if not self.unavailable:
            await self._computers.__aexit__(None, None, None)
        if self._files is not None:  # the files stay: the next process says what became of these sessions
            self._files.close()

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, id: str) -> bool:
        return id in self._sessions

    def get(self, id: str) -> ComputerSession:
        if id not in self._sessions:
            raise SessionEnded(id)
        return self._sessions[id]

    def all_of(self, owner: str | None = None) -> list[ComputerSession]:
        return [session for session in self._sessions.values() if owner in (None, session.lease.owner)]

    async def lease(
        self, spec: ComputerSpec, owner: str, *, seconds: float | None = None, quota: int | None = None,
        snapshot: Snapshot | None = None,
    ) -> tuple[ComputerSession, str]:  # fmt: skip
        """A new session, its parts ready, and its token, which is nowhere else.

        Raises QuotaExceeded, InputError where there are no computers or a part is not installed, SandboxFailure.
        """
        if self.unavailable:
            raise InputError(f"kind must be one that this machine has, and it has no computers: {self.unavailable}")
        self._room.require(owner, quota)
        token, digest = new_token()
        lease = Lease(owner, self._seconds(seconds), digest)
        session = ComputerSession(secrets.token_hex(8), lease, spec)
        self._sessions[session.id] = session
        try:
            with session.in_use():
                await session.begin(await self._computers.open(spec.container, snapshot))
                if self._files is not None:
                    await asyncio.to_thread(self._save, session)
        except BaseException:
            await asyncio.shield(self._release(session))
            raise
        return session, token

    async def fork(
        self, session: ComputerSession, count: int, *, quota: int | None
    ) -> list[tuple[ComputerSession, str]]:
        """New sessions with the files of this one as they are now, all or none. Programs that run do not come along."""
        if not 1 <= count <= MOST_FORKS:
            raise InputError(f"count must be 1 to {MOST_FORKS}; got {count}")
        with session.in_use():
            snapshot = await self.snapshots.nameless(session)
            try:
                leases = [
                    self.lease(
                        session.spec, session.lease.owner, seconds=session.lease.seconds, quota=quota, snapshot=snapshot
                    )
                    for _ in range(count)
                ]
                opened = await asyncio.gather(*leases, return_exceptions=True)
            finally:
                with contextlib.suppress(SandboxFailure):
                    await self._computers.remove_snapshot(snapshot)
        forks = [each for each in opened if not isinstance(each, BaseException)]
        for failed in opened:
            if isinstance(failed, BaseException):
                await asyncio.gather(*(self._release(fork) for fork, _ in forks))
                raise failed
        return forks

    def renew(self, id: str, seconds: float | None = None) -> ComputerSession:
        session = self.get(id)
        session.renew(None if seconds is None else self._seconds(seconds))
        if seconds is not None and self._files is not None:
            self._save(session)
        return session

    async def release(self, id: str) -> None:
        await self._release(self.get(id))

    def hand_over(self, id: str, owner: str, seconds: float) -> str:
        """As of any registry: another owner, another token."""
        session, (token, digest) = self.get(id), new_token()
        session.hand_over(Lease(owner, self._seconds(seconds), digest))
        if self._files is not None:
            self._save(session)
        return token

    def _save(self, session: ComputerSession) -> None:
        assert self._files is not None
        try:
            self._files.save(session.id, session.lease, session.spec)
        except OSError as error:
            raise SandboxFailure("disk", f"the lease could not be kept: {error}") from error

    async def _release(self, session: ComputerSession) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        try:
            await session.end()
        finally:
            if self._files is not None:
                await asyncio.to_thread(self._files.remove, session.id)

    async def _collect(self) -> None:
        while True:
            await asyncio.sleep(self._collect_s)
            for session in self.all_of():
                session.let_go_of_absent_person()
                if session.is_idle():
                    self.collected += 1
                    try:
                        await self._release(session)
                    except Exception:  # one that does not end must not keep the others
                        log.exception("computer %s did not end as it should", session.id)

    def _seconds(self, seconds: float | None) -> float:
        seconds = self.lease_s if seconds is None else seconds
        if not 0 < seconds <= self.max_lease_s:
            raise InputError(f"lease_seconds must be more than 0, at most {self.max_lease_s:g}; got {seconds!r}")
        return seconds
