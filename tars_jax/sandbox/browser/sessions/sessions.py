"""All sessions of one manager: leased, counted against quotas, collected when idle, adopted after a kill."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser.failures import QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.sandbox.browser.manager import BrowserManager
from tars_jax.sandbox.browser.sessions.config import SessionsConfig
from tars_jax.sandbox.browser.sessions.journal import Journal
from tars_jax.sandbox.browser.sessions.recording import Recording
from tars_jax.sandbox.browser.sessions.session import Lease, Session
from tars_jax.sandbox.browser.sessions.specs import spec_from_json, spec_to_json
from tars_jax.sandbox.browser.sessions.store import Store
from tars_jax.sandbox.browser.site import PageSpec, Site

log = logging.getLogger(__name__)
LOCAL = "local"  # the owner of what this process leases for itself


class Sessions:
    """An async context manager over a running BrowserManager.

    With a `folder`, sessions survive the process: the next one with the same folder ends what browsers are left, adopts
    every session with a full lease (its clients could not renew it meanwhile) and brings its page to where it was.
    Without one, they live as long as this object. Raises InputError when the folder is in use.
    """

    def __init__(
        self, manager: BrowserManager, config: SessionsConfig | None = None, folder: Path | None = None
    ) -> None:
        self.manager = manager
        self.config = config or SessionsConfig()
        self.adopted = 0
        self.collected = 0
        self.reaped = 0  # processes of the run before
        self._folder = folder
        self._store: Store | None = None
        self._sessions: dict[str, Session] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Sessions:
        if self._folder is not None:
            self._store = Store(self._folder)
            run = self.manager.run
            assert run is not None, "the manager is started first"
            self.reaped = await asyncio.to_thread(self._store.take_over, run)
            for stored in list(self._store.find()):
                try:
                    session = self._session(stored.id, stored.lease, stored.journal)
                except OSError as error:  # its files stay as they are
                    log.warning("session %s cannot be adopted: %s", stored.id, error)
                    continue
                session.recording = stored.recording
                self.adopted += 1
                self._begin(self._bring_up(session))
        self._begin(self._collect())
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
    ) -> Session:  # fmt: skip
        """As BrowserManager.open_page: a session of this process, collected like any other when nobody uses it."""
        width, height = size or (self.manager.config.width, self.manager.config.height)
        session, _ = await self.lease(PageSpec(site, width, height, single_canvas, tuple(network)), LOCAL)
        return session

    async def lease(
        self, begin: PageSpec | Journal, owner: str, *, seconds: float | None = None, quota: int | None = None
    ) -> tuple[Session, str]:
        """A new session, its page open, and its token, which is nowhere else.

        It begins as `begin` says, or at the place that a journal leads to: that of another session, whose way parts
        from this one's there.

        Raises QuotaExceeded when the owner or all together have too many, InputError for a site without index, a size
        or a storage that no page can be given, SandboxFailure when no browser could be brought up, or the journal leads
        elsewhere.
        """
        own = len(self.all_of(owner))
        most = self.config.per_owner if quota is None else quota
        if own >= most:
            raise QuotaExceeded(f"{owner} has {own} sessions, of {most}; release one first", own=True)
        if len(self._sessions) >= self.config.max_sessions:
            raise QuotaExceeded(f"all {self.config.max_sessions} sessions are taken; come again", own=False)
        journal = begin.copy() if isinstance(begin, Journal) else Journal(begin)
        spec_from_json(spec_to_json(journal.spec))  # or nobody could adopt the session
        token = secrets.token_urlsafe(24)
        lease = Lease(owner, self._seconds(seconds), _digest(token))
        session = self._session(secrets.token_hex(8), lease, journal)
        try:
            await session.bring_up()
            self._save(session, new_journal=True)
        except BaseException as error:
            await self._release(session)
            if isinstance(error, SandboxFailure) and error.kind == "storage":
                raise InputError(str(error)) from None
            raise
        return session, token

    def get(self, id: str) -> Session:
        """Raises SessionEnded when there is none."""
        session = self._sessions.get(id)
        if session is None:
            raise SessionEnded(id)
        return session

    def all_of(self, owner: str | None = None) -> list[Session]:
        """The sessions of one owner or of all, oldest first."""
        return [session for session in self._sessions.values() if owner in (None, session.lease.owner)]

    def renew(self, id: str, seconds: float | None = None) -> Session:
        """The lease begins again; with `seconds`, its length changes. Raises SessionEnded, InputError."""
        session = self.get(id)
        session.renew(None if seconds is None else self._seconds(seconds))
        if seconds is not None:
            self._save(session, new_journal=False)
        return session

    async def release(self, id: str) -> None:
        """Ends the session, its page and its files. Raises SessionEnded when there is none."""
        await self._release(self.get(id))

    def opens(self, session: Session, token: str) -> bool:
        """Whether the token is the session's."""
        return hmac.compare_digest(_digest(token), session.lease.token_sha256)

    def record(self, session: Session) -> None:
        """From now on every call and frame is kept, until the session ends. Raises InputError without a folder."""
        if self._store is None:
            raise InputError("recordings take a folder: Sessions(manager, config, folder)")
        if session.recording is None:
            session.recording = Recording(self._store.recording_folder(session), session.journal)

    # ---- how they live ----

    def _session(self, id: str, lease: Lease, journal: Journal) -> Session:
        downloads = None
        if self._store is not None and self.config.download_mb:
            downloads = self._store.downloads(id, self.config.download_mb << 20)
        session = Session(
            id, lease, journal, partial(self.manager.open, downloads=downloads),
            began=lambda session: self._save(session, new_journal=True), released=self._release,
        )  # fmt: skip
        session.downloads = downloads
        self._sessions[id] = session
        return session

    def _save(self, session: Session, *, new_journal: bool) -> None:
        if self._store is not None and session.id in self._sessions:
            self._store.save(session, new_journal=new_journal)

    async def _release(self, session: Session) -> None:
        if self._sessions.pop(session.id, None) is None:
            return
        try:
            await session.end()
        finally:
            if self._store is not None:
                await asyncio.to_thread(self._store.remove, session.id)

    async def _collect(self) -> None:
        while True:
            await asyncio.sleep(self.config.collect_s)
            for session in self.all_of():
                session.let_go_of_absent_person()
                if session.is_idle():
                    self.collected += 1
                    await self._release(session)

    async def _bring_up(self, session: Session) -> None:
        try:
            await session.bring_up()
        except InputError as error:
            log.warning("session %s cannot be adopted: %s", session.id, error)
            await self._release(session)
        except SandboxFailure as failure:
            log.warning("session %s: %s", session.id, failure)  # its next call tries again, and hears of it

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _seconds(self, seconds: float | None) -> float:
        seconds = self.config.lease_s if seconds is None else seconds
        if not 0 < seconds <= self.config.max_lease_s:
            raise InputError(f"lease_seconds is {seconds!r}; it takes more than 0, at most {self.config.max_lease_s:g}")
        return seconds


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
