"""One leased computer, from its beginning to its end: suspended, taken over from a process that was killed, lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.part import attach_all, detached
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.answers import Answers
from tars_jax.sandbox.service.computers.desktop_calls import DesktopCalls
from tars_jax.sandbox.service.computers.page_calls import Browsers, PageCalls
from tars_jax.sandbox.service.computers.part import SessionPart
from tars_jax.sandbox.service.computers.parts import bring_up
from tars_jax.sandbox.service.computers.phone_calls import PhoneCalls
from tars_jax.sandbox.service.computers.recording import SessionRecording
from tars_jax.sandbox.service.computers.spec import ComputerRequest
from tars_jax.sandbox.service.computers.store import ANSWERS, FORMAT, RECORDING, SessionFolder, StoredComputer
from tars_jax.sandbox.service.computers.suspended import SuspendedComputer, checkpoint_to_json
from tars_jax.sandbox.service.computers.tool_calls import ToolCalls
from tars_jax.sandbox.sessions.leased_session import Lease, LeasedSession

log = logging.getLogger(__name__)
LONGEST_END_S = 20.0
OUTSIDE = ("browser", "phone")  # parts that do not run in the container, a desktop's browser aside
DAMAGED = "what was kept of it is damaged; the log of the service says more"
SUSPENDED = "the computer is suspended: a call resumes it, or POST .../resume"


class ComputerLifecycle(LeasedSession):
    """A leased computer, from its beginning to its end. When it has gone, `computer` raises SandboxFailure: nothing of
    what was in it can be had again. With a `folder` it can go on in another process when this one is killed.
    """

    kind = "computer"

    def __init__(self, id: str, lease: Lease, spec: ComputerRequest, folder: SessionFolder | None = None) -> None:
        super().__init__(id, lease)
        self.spec, self.folder = spec, folder
        self.origin = "new"  # or how it was forked
        self.kept: set[str] = set()  # `kept_ids` that an isolation keeps
        self.suspended = ""  # "disk" or "paused": where its programs are meanwhile
        self.recording: SessionRecording | None = None
        self.moved: Callable[[], Awaitable[None]] = _nothing  # called when `place` is another one
        self.browsers: Browsers | None = None  # for a page; None: there is none
        self.failure: SandboxFailure | None = None  # why the computer has gone
        self.parts: dict[str, SessionPart] = {}
        self.jobs = 0  # programs inside that are none of the parts' own, when it was last looked at
        self.ports: list[int] = []  # TCP ports that programs inside listened at then
        self._computer: Computer | None = None
        self._ended = False
        self._answers = Answers(None if folder is None else folder.path / ANSWERS)
        self._suspended_computer: SuspendedComputer | None = None  # the computer that another process has suspended
        self._changing = asyncio.Lock()  # between running and suspended
        self._watching: asyncio.Task[None] | None = None
        self._on_end: list[Callable[[], object]] = []

    async def begin(self, computer: Computer, snapshots: Mapping[str, Any] | None = None) -> None:
        """Takes the computer over and brings up its parts, or finds them as their `snapshots` say.

        Raises InputError, SandboxFailure.
        """
        self._computer, self.origin = computer, computer.origin
        await self._take_parts(snapshots)
        self._watching = asyncio.create_task(self._watch(computer))

    async def _take_parts(self, snapshots: Mapping[str, Any] | None) -> None:
        assert self._computer is not None
        before, self.parts = self.parts, {}
        for name in OUTSIDE:  # what it was before a suspension
            if name in before:
                await before[name].close()
        self.parts = await bring_up(self._computer.machine, self.spec, snapshots, self.browsers)
        for part in self.parts.values():
            part.kept = self._keep_parts
        self._keep_parts()

    def snapshots(self) -> dict[str, Any]:
        """Snapshots of the parts, for `begin` with the same computer, or a copy of it."""
        return {name: snapshot for name, part in self.parts.items() if (snapshot := part.snapshot()) is not None}

    def _keep_parts(self) -> None:
        self._keep_snapshots(self.snapshots())

    def _keep_snapshots(self, snapshots: Mapping[str, Any]) -> None:
        if self.folder is not None and not self._ended:
            try:
                self.folder.save_parts(snapshots)
            except OSError as error:
                raise SandboxFailure("disk", f"shells could not be kept: {error.strerror or error}") from error

    async def go_on(self, stored: StoredComputer, computers: Computers) -> None:
        """Goes on where the process before was killed. Raises SandboxFailure where that cannot be."""
        assert self.folder is not None
        if stored.format != FORMAT:
            raise SandboxFailure(
                "container", f"it was kept by another version, in format {stored.format}; this one reads {FORMAT}"
            )
        self._answers.load()
        self.recording = SessionRecording.restore(self.folder.path / RECORDING)
        place = stored.place
        self.origin = str(place["origin"])
        try:
            if (away := place.get("away")) is not None:
                token = str(place["token"])
                self._suspended_computer = SuspendedComputer.from_json(away, token, stored.parts, computers)
                self.suspended = "disk"
                return
            computer = await computers.adopt(self.spec.container, str(place["container"]), str(place["token"]))
            self._computer = computer
            await self._take_parts(stored.parts)
            if place.get("paused"):
                self.suspended = await computer.suspend()
        except (KeyError, TypeError, ValueError, InputError) as error:
            log.warning("what was kept of computer %s is damaged: %r", self.id, error)
            raise SandboxFailure("container", DAMAGED) from error
        if self.suspended != "disk":
            self._watching = asyncio.create_task(self._watch(computer))

    def place(self) -> dict[str, Any]:
        """The computer's place, for `go_on` of another process."""
        place: dict[str, Any] = {"origin": self.origin, "paused": self.suspended == "paused"}
        if self._suspended_computer is not None:
            return {**place, "token": self._suspended_computer.token, "away": self._suspended_computer.to_json()}
        if self._computer is not None:
            guest = self._computer.guest
            place |= {"container": guest.container.id, "token": guest.token}
            if guest.suspended is not None:
                place["away"] = checkpoint_to_json(guest.suspended)
        return place

    def kept_ids(self) -> set[str]:
        """Ids that an isolation has to keep for it: its container, or its files while it is suspended."""
        place = self.place()
        if "away" in place:
            return {f"suspended-{self.id}"}
        return {place["container"]} if "container" in place else set()

    async def suspend(self) -> str:
        """Suspends the computer: its programs stand still until the next call, or `resume`: on "disk", or "paused" in
        memory. Twice is once.

        Raises InputError while a call is under way, SandboxFailure; the computer then goes on.
        """
        async with self._changing:
            if self.suspended or self.failure is not None:
                self.suspended or self.computer  # noqa: B018 (raises why it has gone)
                return self.suspended
            if self.under_way > 1:  # this one
                raise InputError(
                    f"calls under way must have ended before a session is suspended; got {self.under_way - 1}"
                )
            computer = self.computer
            async with detached(self.parts.values(), stay=lambda: self.suspended):
                if self._watching is not None:
                    self._watching.cancel()
                try:
                    self.suspended = await computer.suspend()
                finally:
                    if self.suspended != "disk":
                        self._watching = asyncio.create_task(self._watch(computer))
            await self.moved()
            self.events.append("suspended", {"where": self.suspended})
            return self.suspended

    async def resume(self) -> bool:
        """Whether it was suspended. Raises SandboxFailure: the computer has then gone, or is suspended as before, where
        the disk has no room for it: the next call tries again.
        """
        async with self._changing:
            if not self.suspended or self.failure is not None:
                return False
            was, snapshots = self.suspended, self.snapshots()
            if self._suspended_computer is not None:
                snapshots = dict(self._suspended_computer.parts)
            self._keep_snapshots(snapshots)  # there is room for what has to be kept afterwards
            try:
                if self._suspended_computer is not None:
                    self._computer = await self._suspended_computer.restore(self.spec)
                else:
                    assert self._computer is not None
                    await self._computer.resume()
            except SandboxFailure as failure:
                if not self._is_still_suspended():
                    self.lose(SandboxFailure("container", f"it could not be resumed: {failure}"))
                    self.suspended, self._suspended_computer = "", None
                raise
            try:
                if was == "disk":
                    await self._take_parts(snapshots)
                else:
                    await attach_all(self.parts.values())
            except (SandboxFailure, InputError, KeyError, TypeError, ValueError) as error:
                why = error if isinstance(error, SandboxFailure | InputError) else DAMAGED
                lost = SandboxFailure("container", f"it could not be resumed: {why}")
                self.lose(lost)
                raise lost from error
            finally:
                self.suspended, self._suspended_computer = "", None
            assert self._computer is not None
            if was == "disk":
                self._watching = asyncio.create_task(self._watch(self._computer))
            await self.moved()
            self.events.append("resumed")
            return True

    def _is_still_suspended(self) -> bool:
        if self._suspended_computer is not None:
            return self._suspended_computer.checkpoint.is_whole
        return self._computer is not None and self._computer.guest.suspended is not None

    @contextlib.asynccontextmanager
    async def still(self, *, with_programs: bool = True) -> AsyncIterator[Computer]:
        """Within the block it is not suspended. `with_programs`: it can be copied with these, as nothing connects the
        parts with the inside. Raises InputError while a cell runs, SandboxFailure.
        """
        await self.resume()
        async with self._changing, detached(self.parts.values() if with_programs else ()):
            yield self.computer

    async def _watch(self, computer: Computer) -> None:
        try:
            status = await computer.container.wait()
            words = f"the first process of the computer ended with {status}"
        except SandboxFailure as failure:
            words = str(failure)
        if not self._ended:
            self.lose(SandboxFailure("container", words))

    def lose(self, failure: SandboxFailure) -> None:
        """The computer has gone: the session says so until it is released."""
        if self.failure is None:
            self.failure = failure
            self.events.append("failure", {"kind": failure.kind, "text": str(failure)})

    async def end(self) -> None:
        """Ends the computer and all that runs there. Idempotent."""
        if self._ended:
            return
        self._ended = True
        self._given_back.set()
        if self._watching is not None:
            self._watching.cancel()
        for tell in list(self._on_end):
            tell()
        self._answers.cancel()
        parts, self.parts = self.parts, {}
        with contextlib.suppress(SandboxFailure, TimeoutError):
            async with asyncio.timeout(LONGEST_END_S):
                for name in ("desktop", "mcp", *OUTSIDE):  # the others end with the container
                    if name in parts:
                        await parts[name].close()
        if self._computer is not None:
            await self._computer.close()
        if self._suspended_computer is not None:
            await self._suspended_computer.remove()
        self.events.close()

    def tell_end(self, tell: Callable[[], object]) -> None:
        """`tell` is called when the session ends."""
        self._on_end.append(tell)

    @contextlib.contextmanager
    def when_over(self, *tell: Callable[[], object]) -> Iterator[None]:
        """Within it, these are called when the session ends: for those who hold a connection to it."""
        self._on_end += tell
        try:
            yield
        finally:
            for each in tell:
                self._on_end.remove(each)

    def has_expired(self) -> bool:
        """Whether the lease has expired as of any session, the grace period behind it is over, and no program runs in
        the background."""
        if self.under_way or self.held_by_person or self.seconds_left >= -self.spec.grace_s:
            return False
        return -self.seconds_left > self.spec.grace_s + self.spec.job_s or not self.jobs

    @property
    def computer(self) -> Computer:
        """Raises SandboxFailure when it has gone, SessionEnded behind the end."""
        if self._ended:
            raise SessionEnded(self.id)
        if self.failure is not None:
            raise SandboxFailure(self.failure.kind, str(self.failure).partition(": ")[2])
        if self._computer is None or self.suspended:
            raise InputError(SUSPENDED)
        return self._computer

    @property
    def desktop(self) -> DesktopCalls | None:
        part = self.parts.get("desktop")
        return part if isinstance(part, DesktopCalls) else None

    @property
    def screen(self) -> DesktopCalls | PageCalls | PhoneCalls | None:
        """The part whose screen the session shows."""
        part = self.parts.get(self.spec.screen or "")
        return part if isinstance(part, DesktopCalls | PageCalls | PhoneCalls) else None

    @property
    def tools(self) -> ToolCalls | None:
        part = self.parts.get("mcp")
        return part if isinstance(part, ToolCalls) else None

    async def look(self) -> None:
        """Looks at what runs and listens inside. Not on the event loop: a machine may take long to say it."""
        if self._computer is None or self.failure is not None or self._ended or self.suspended:
            self.jobs, self.ports = 0, []
            return
        container = self._computer.container
        try:
            running = await asyncio.to_thread(container.processes)
            self.ports = sorted(await asyncio.to_thread(container.ports))
        except (SandboxFailure, OSError):  # it is about to be found out
            running = []
        own: set[int] = set().union(*(part.own() for part in self.parts.values()))
        sessions = set().union(*(part.sessions for part in (self.desktop, self.tools) if part is not None))
        self.jobs = sum(each.id not in own and each.session not in sessions for each in running)


async def _nothing() -> None:
    pass
