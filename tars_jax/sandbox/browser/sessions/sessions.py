"""All sessions of one manager: leased, counted against quotas, collected when idle, adopted after a kill."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser.downloads import Downloads
from tars_jax.sandbox.browser.manager import BrowserManager
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.page_events import Report
from tars_jax.sandbox.browser.sessions.journal import Journal, stored
from tars_jax.sandbox.browser.sessions.recording import PageRecording
from tars_jax.sandbox.browser.sessions.session import PageSession
from tars_jax.sandbox.browser.sessions.specs import spec_from_json, spec_to_json
from tars_jax.sandbox.browser.sessions.store import PageStore
from tars_jax.sandbox.browser.site import PageSpec, Site
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.sandbox.sessions.lease_expiry import expire_leases
from tars_jax.sandbox.sessions.leased_session import KeyedRequest, Lease, LeasedSession
from tars_jax.sandbox.sessions.registry import SessionQuota, new_id, new_lease

log = logging.getLogger(__name__)
LOCAL = "local"  # the owner of what this process leases for itself


class PageSessions:
    """An async context manager over a running BrowserManager.

    With a `folder`, sessions survive the process: the next one with the same folder ends what browsers are left, adopts
    every session with a full lease (its clients could not renew it meanwhile) and brings its page to where it was.
    Without one, they live as long as this object. Raises InputError when the folder is in use.
    """

    def __init__(
        self, manager: BrowserManager, config: SessionsConfig | None = None, folder: Path | None = None,
        session_quota: SessionQuota | None = None, node: str = "",
    ) -> None:  # fmt: skip
        """`session_quota`: shared with sessions of other kinds; None: these have one of their own, of `config`.

        `node`: the id of the node that this process is.
        """
        self.manager = manager
        self.config = config or SessionsConfig()
        self._session_quota = session_quota or SessionQuota(self.config.max_sessions, self.config.per_owner)
        self._session_quota.holds(self)
        self.adopted = 0
        self.collected = 0
        self.reaped = 0  # processes of the run before
        self._folder, self._node = folder, node
        self._store: PageStore | None = None
        self._sessions: dict[str, PageSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> PageSessions:
        if self._folder is not None:
            self._store = PageStore(self._folder)
            run = self.manager.run
            assert run is not None, "the manager is started first"
            self.reaped = await asyncio.to_thread(self._store.take_over, run)
            for found in list(self._store.find()):
                try:
                    downloads = self._downloads(found.id)
                except OSError as error:  # its files stay as they are
                    log.warning("session %s cannot be adopted now: %s", found.id, error)
                    continue
                session = self._session(found.id, found.lease, found.journal)
                session.downloads, session.recording = downloads, found.recording
                if found.lost:
                    log.warning("session %s has lost its last %d calls: its journal was damaged", found.id, found.lost)
                    session.events.append("lost", {"calls": session.calls, "lost": found.lost})
                self.adopted += 1
                self._begin(self._bring_up(session))
        self._begin(expire_leases(self.config.collect_seconds, self.all_of, self._end_expired))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(session.end() for session in self._sessions.values()))
        self._sessions.clear()
        if self._store is not None:  # the sessions' files stay, for the next one to adopt
            self._store.close()

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, id: str) -> bool:
        return id in self._sessions

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (),
    ) -> PageSession:  # fmt: skip
        """Opens a page as BrowserManager.open_page does: a session of this process, collected like any other when
        nobody uses it."""
        width, height = size or (self.manager.config.width, self.manager.config.height)
        session, _ = await self.lease(PageSpec(site, width, height, single_canvas, tuple(network)), LOCAL)
        return session

    async def lease(
        self,
        begin: PageSpec | Journal,
        owner: str,
        *,
        seconds: float | None = None,
        quota: int | None = None,
        request: KeyedRequest | None = None,
    ) -> tuple[PageSession, str]:
        """A new session, its page open, and its token, which is kept with a `request` alone.

        It begins as `begin` says, or at the place that a journal leads to: that of another session, whose way parts
        from this one's there.

        Raises QuotaExceeded when the owner or all together have too many, InputError for a site without index, a size
        or a storage that no page can be given, SandboxFailure when no browser could be brought up, the journal leads
        elsewhere, or the disk does not take the session.
        """
        self._session_quota.require(owner, quota)
        journal = begin.copy() if isinstance(begin, Journal) else Journal(begin)
        spec_from_json(spec_to_json(journal.spec))  # or nobody could adopt the session
        lease, token = new_lease(owner, self.config.require_lease(seconds), request)
        session = self._session(new_id(self._node), lease, journal)
        try:
            with stored("no session has been opened"):
                session.downloads = self._downloads(session.id)
            await session.bring_up()
            with stored("no session has been opened"):
                self._save(session, session.journal)
        except BaseException as error:
            await self._release(session)
            if isinstance(error, SandboxFailure) and error.kind == "storage":
                raise InputError(str(error)) from None
            raise
        return session, token

    def get(self, id: str) -> PageSession:
        """Raises SessionEnded when there is none."""
        session = self._sessions.get(id)
        if session is None:
            raise SessionEnded(id)
        return session

    def all_of(self, owner: str | None = None) -> list[PageSession]:
        """The sessions of one owner or of all, oldest first."""
        return [session for session in self._sessions.values() if owner in (None, session.lease.owner)]

    def renew(self, id: str, seconds: float | None = None) -> PageSession:
        """The lease begins again; with `seconds`, its length changes.

        Raises SessionEnded, InputError, SandboxFailure("disk") where another length cannot be kept.
        """
        session = self.get(id)
        session.renew()
        if seconds is not None:
            lease = dataclasses.replace(session.lease, seconds=self.config.require_lease(seconds))
            with stored("the lease has its length as before"):
                if self._store is not None:
                    self._store.save_lease(id, lease, session.journal)
            session.renew(seconds)
        return session

    async def release(self, id: str) -> None:
        """Ends the session, its page and its files. Raises SessionEnded when there is none."""
        await self._release(self.get(id))

    def hand_over(self, id: str, owner: str, seconds: float) -> str:
        """Hands a session to another owner, with another token."""
        session = self.get(id)
        lease, token = new_lease(owner, self.config.require_lease(seconds))
        with stored("the session has its owner as before"):
            if self._store is not None:
                self._store.save_lease(id, lease, session.journal)
        session.hand_over(lease)
        return token

    def record(self, session: PageSession) -> None:
        """Records every call and frame from now on, until the session ends.

        Raises InputError without a folder, SandboxFailure("disk") where that does not take it.
        """
        if self._store is None:
            raise InputError("recordings need a folder: Sessions(manager, config, folder)")
        if session.recording is None:
            with stored("the session is not recorded"):
                session.recording = PageRecording(self._store.recording_folder(session.id), session.journal)

    # ---- how they live ----

    def _session(self, id: str, lease: Lease, journal: Journal) -> PageSession:
        async def open_page(spec: PageSpec, report: Report) -> Page:
            return await self.manager.open(spec, report, downloads=session.downloads)

        session = PageSession(id, lease, journal, open_page, began=self._save, released=self._release)
        self._sessions[id] = session
        return session

    def _downloads(self, id: str) -> Downloads | None:
        if self._store is None or not self.config.download_megabytes:
            return None
        return self._store.downloads(id, self.config.download_megabytes << 20)

    def _save(self, session: PageSession, journal: Journal) -> None:
        if self._store is not None and session.id in self._sessions:
            self._store.save(session.id, session.lease, journal)

    async def _release(self, session: PageSession) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        try:
            await session.end()
        finally:
            if self._store is not None:
                await asyncio.to_thread(self._store.remove, session.id)

    async def _end_expired(self, session: LeasedSession) -> None:
        self.collected += 1
        await self._release(self.get(session.id))

    async def _bring_up(self, session: PageSession) -> None:
        try:
            await session.bring_up()
        except (InputError, SandboxFailure) as error:  # its next call tries again, and hears of it
            log.warning("session %s has no page yet: %s", session.id, error)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
