"""All leased computers of a service: opened, counted against quotas, collected, and accounted for after a kill."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.sandbox.browser.manager import OnDemandBrowsers
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.computer.forks import FORKS, SavedComputer
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.opening import OpensComputers
from tars_jax.sandbox.service.computers.quotas import Quotas, check_fits, machine, require
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.snapshots import NamedSnapshots
from tars_jax.sandbox.service.computers.spec import ComputerRequest
from tars_jax.sandbox.service.computers.store import SessionFolders, StoredComputer
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.sandbox.sessions.lease_expiry import expire_leases
from tars_jax.sandbox.sessions.leased_session import KeyedRequest, LeasedSession
from tars_jax.sandbox.sessions.registry import SessionQuota, new_id, new_lease

log = logging.getLogger(__name__)
MOST_FORKS = 64  # of one call
NONE: Quotas = {}
RESTARTED = "the computer has ended with the service that held it, which was started again"


class ComputerSessions:
    """A `Registry`, and an async context manager.

    With a `folder`, a restart after a kill knows the leases of the process before. Where `computers` keep them
    (`Computers(kept_in=...)`), it adopts the computers with all that runs there; they wait for as long as the lease
    and its grace period. One that could not be adopted says so: each call is a SandboxFailure("container") until it is
    released or its lease is over, and no call of it is lost silently.
    """

    def __init__(
        self, computers: OpensComputers, folder: Path | None = None, session_quota: SessionQuota | None = None, *,
        config: SessionsConfig | None = None, browsers: BrowserConfig | None = None, node: str = "",
    ) -> None:  # fmt: skip
        """`session_quota`: shared with sessions of other kinds; None: these have one of their own, of `config`.

        `browsers`: those of pages upon computers, which start with the first such session; None: there are no pages.
        `node`: the id of the node that this process is.
        """
        self.config = config or SessionsConfig()
        self.lost = self.adopted = self.collected = 0
        self.unavailable = ""  # why there can be no computers on this machine
        self.snapshots = NamedSnapshots(computers)
        self._computers, self._folder, self._node = computers, folder, node
        self._has = machine(Path(tempfile.gettempdir()))
        self._browsers = None if browsers is None else OnDemandBrowsers(browsers)
        self._session_quota = session_quota or SessionQuota(self.config.max_sessions, self.config.per_owner)
        self._session_quota.holds(self)
        self._files: SessionFolders | None = None
        self._sessions: dict[str, ComputerSession] = {}
        self._collecting: asyncio.Task[None] | None = None
        self._later: asyncio.Future[None] | None = None  # what a launcher is being told

    async def __aenter__(self) -> ComputerSessions:
        if self._folder is not None:
            self._files = SessionFolders(self._folder)
        try:
            await self._computers.__aenter__()
        except InputError as error:  # sessions of other kinds are served all the same
            self.unavailable = str(error)
            log.warning("no computers here: %s", error)
        if self._files is not None and self._folder is not None:
            await asyncio.gather(*(self._go_on(stored) for stored in list(self._files.find())))
            if self._keeper is not None:
                await self.snapshots.go_on(self._keeper, self._folder)
                await self._keeper.end_others()
        self._collecting = asyncio.create_task(
            expire_leases(self.config.collect_seconds, self.all_of, self._end_expired)
        )
        return self

    @property
    def _keeper(self) -> Computers | None:
        """The isolation that keeps computers beyond this process; None: there is none."""
        computers = self._computers
        return computers if isinstance(computers, Computers) and computers.keeps else None

    async def _go_on(self, stored: StoredComputer) -> None:
        """With a session of the process before."""
        assert self._files is not None
        session = ComputerSession(stored.id, stored.lease, stored.spec, self._files.of(stored.id))
        self._sessions[stored.id], session.moved = session, partial(self._moved, session)
        session.browsers = None if self._browsers is None else self._browsers.started
        try:
            if self._keeper is None:
                raise SandboxFailure("container", RESTARTED)
            await session.go_on(stored, self._keeper)
            await asyncio.to_thread(self._save, session)
            await self._keep(session)
            self.adopted += 1
        except SandboxFailure as failure:
            session.lose(failure if failure.kind == "disk" else SandboxFailure("container", f"{RESTARTED}: {failure}"))
            self.lost += 1

    async def _keep(self, session: ComputerSession) -> None:
        """It outlives this process for so long."""
        if self._keeper is not None and session.failure is None:
            seconds = session.lease.seconds + session.spec.grace_s
            ids = session.kept_ids()
            for gone in session.kept - ids:
                await self._keeper.keep(gone, 0.0)
            for id in ids:
                await self._keeper.keep(id, seconds)
            session.kept = ids

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._collecting is not None:
            self._collecting.cancel()
        await asyncio.gather(*(session.end() for session in self._sessions.values()), return_exceptions=True)
        self._sessions.clear()
        if self._browsers is not None:
            await self._browsers.close()
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

    def _leased(self, owner: str) -> list[ContainerSpec]:
        return [session.spec.container for session in self.all_of(owner)]

    async def lease(
        self, spec: ComputerRequest, owner: str, *, seconds: float | None = None, quota: int | None = None,
        snapshot: Snapshot | None = None, opened: Callable[[], Awaitable[Computer]] | None = None,
        snapshots: Mapping[str, Any] | None = None, quotas: Quotas = NONE, request: KeyedRequest | None = None,
    ) -> tuple[ComputerSession, str]:  # fmt: skip
        """A new session, its parts ready, and its token, which is kept with a `request` alone.

        Args:
            quotas: of all computers of the owner together.
            opened: how the computer is made, where it is a copy of another; `snapshots`: of its parts there.

        Raises QuotaExceeded, InputError where there are no computers or a part is not installed, SandboxFailure.
        """
        if self.unavailable:
            raise InputError(f"kind must be one that this machine has, and it has no computers: {self.unavailable}")
        check_fits(spec.container, self._has)
        self._session_quota.require(owner, quota)
        require(owner, quotas, self._leased(owner), spec.container)
        lease, token = new_lease(owner, self.config.require_lease(seconds), request)
        id = new_id(self._node)
        session = ComputerSession(id, lease, spec, None if self._files is None else self._files.of(id))
        session.moved = partial(self._moved, session)
        session.browsers = None if self._browsers is None else self._browsers.started
        self._sessions[session.id] = session
        try:
            with session.in_use():
                work = self._computers.open(spec.container, snapshot) if opened is None else opened()
                await session.begin(await work, snapshots)
                if self._files is not None:
                    await asyncio.to_thread(self._save, session)
                await self._keep(session)
        except BaseException:
            await asyncio.shield(self._release(session))
            raise
        return session, token

    async def fork(
        self, session: ComputerSession, count: int, *, quota: int | None, way: str = "files", quotas: Quotas = NONE
    ) -> list[tuple[ComputerSession, str]]:
        """New sessions that go on from this moment of one, all or none; `origin` of each says by which way.

        `way`: as of `Computer.fork`; "auto": by files where no program runs, else the way of these computers.
        Raises InputError, QuotaExceeded, SandboxFailure.
        """
        if not 1 <= count <= MOST_FORKS:
            raise InputError(f"count must be 1 to {MOST_FORKS}; got {count}")
        if way not in ("auto", *FORKS):
            raise InputError(f"way must be auto, {', '.join(FORKS)}; got {way!r:.80}")
        self._session_quota.require(session.lease.owner, quota, count)
        require(session.lease.owner, quotas, self._leased(session.lease.owner), session.spec.container, count)
        snapshots: dict[str, Any] = {}
        saved: list[SavedComputer] = []
        leases: list[asyncio.Task[tuple[ComputerSession, str]]] = []
        with session.in_use():
            try:
                async with session.still(with_programs=way != "files") as computer:
                    name = "" if way == "auto" else way
                    saved.append(await computer.save(name, lambda: snapshots.update(session.snapshots())))
                for _ in range(count):
                    lease = self.lease(
                        session.spec, session.lease.owner, seconds=session.lease.seconds, quota=quota,
                        opened=lambda: computer.opened(saved[0]),
                        snapshots=None if saved[0].way == "files" else snapshots, quotas=quotas,
                    )  # fmt: skip
                    leases.append(asyncio.create_task(lease))
                await asyncio.wait(leases)
                return [lease.result() for lease in leases]
            except BaseException:
                await asyncio.shield(self._take_back(leases))
                raise
            finally:
                for each in saved:
                    with contextlib.suppress(SandboxFailure):
                        await asyncio.shield(each.remove())

    async def _take_back(self, leases: Sequence[asyncio.Task[tuple[ComputerSession, str]]]) -> None:
        for lease in leases:
            lease.cancel()
        for opened in await asyncio.gather(*leases, return_exceptions=True):
            if not isinstance(opened, BaseException):
                await self._release(opened[0])

    async def suspend(self, session: ComputerSession) -> str:
        """Suspends the computer until a call or `resume`: "disk" or "paused". Its lease runs on. Raises InputError,
        SandboxFailure."""
        with session.in_use():
            return await session.suspend()

    async def resume(self, session: ComputerSession) -> None:
        """Resumes the computer; a second call does nothing. Raises SandboxFailure; the computer has then gone."""
        with session.in_use():
            await session.resume()
            session.computer  # noqa: B018 (raises what there is to say when it has gone)

    async def _moved(self, session: ComputerSession) -> None:
        """The computer is elsewhere now."""
        if self._files is not None and session.id in self._sessions:
            await asyncio.to_thread(self._save, session)
        await self._keep(session)

    def renew(self, id: str, seconds: float | None = None) -> ComputerSession:
        session = self.get(id)
        session.renew(None if seconds is None else self.config.require_lease(seconds))
        if seconds is not None and self._files is not None:
            self._save(session)
            self._later = asyncio.ensure_future(self._keep(session))
        return session

    async def release(self, id: str) -> None:
        await self._release(self.get(id))

    def hand_over(self, id: str, owner: str, seconds: float) -> str:
        """As of any registry: another owner, another token."""
        session, (lease, token) = self.get(id), new_lease(owner, self.config.require_lease(seconds))
        session.hand_over(lease)
        if self._files is not None:
            self._save(session)
            self._later = asyncio.ensure_future(self._keep(session))
        return token

    def _save(self, session: ComputerSession) -> None:
        assert session.folder is not None
        try:
            session.folder.save(session.lease, session.spec, session.place())
        except OSError as error:
            raise SandboxFailure("disk", f"the lease could not be kept: {error}") from error

    async def _release(self, session: ComputerSession) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        try:
            await session.end()
        finally:
            if session.folder is not None:
                await asyncio.to_thread(session.folder.remove)
            if self._keeper is not None:
                for kept in session.kept:
                    await self._keeper.keep(kept, 0.0)

    async def _end_expired(self, session: LeasedSession) -> None:
        self.collected += 1
        await self._release(self.get(session.id))
