"""One leased computer: its parts, its calls, and what is known of it when it has gone."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.desktop_calls import DesktopCalls, start_desktop
from tars_jax.sandbox.service.computers.file_calls import FileCalls
from tars_jax.sandbox.service.computers.kernels import Kernels
from tars_jax.sandbox.service.computers.part import Part, Reader
from tars_jax.sandbox.service.computers.shells import Shells
from tars_jax.sandbox.service.computers.spec import ComputerSpec
from tars_jax.sandbox.sessions.leased import Lease, Leased, brief
from tars_jax.web.protocol import Fields, RequestError

REMEMBERED = 32  # answers to calls with a word `once`
FORGOTTEN = ("read", "list", "search", "screenshot")  # calls that change nothing: they may be carried out again
LONGEST_END_S = 20.0
RESTARTED = "the computer has ended with the service that held it, which was started again"


@dataclasses.dataclass(eq=False)
class _Once:
    asked: Any
    task: asyncio.Task[Any]


class ComputerSession(Leased):
    """Calls come as JSON, `{"call": NAME, ...}`; which there are, the parts say.

    When the computer has gone, every call raises SandboxFailure: nothing of what was in it can be had again.
    """

    kind = "computer"

    def __init__(self, id: str, lease: Lease, spec: ComputerSpec) -> None:
        super().__init__(id, lease)
        self.spec = spec
        self.calls = 0  # that have come back
        self.failure: SandboxFailure | None = None  # why the computer has gone
        self.parts: dict[str, Part] = {}
        self._computer: Computer | None = None
        self._last: Any = None
        self._ended = False
        self._once: dict[str, _Once] = {}
        self._watching: asyncio.Task[None] | None = None
        self._on_end: list[Callable[[], object]] = []

    # ---- its life ----

    async def begin(self, computer: Computer) -> None:
        """Takes the computer over and brings up its parts. Raises InputError, SandboxFailure."""
        self._computer = computer
        machine, wanted = computer.machine, self.spec.parts
        env: Mapping[str, str] = {}
        if "desktop" in wanted:
            self.parts["desktop"] = desktop = await start_desktop(machine, self.spec.width, self.spec.height)
            env = desktop.env
        if "shell" in wanted:
            self.parts["shell"] = Shells(machine, env)
        if "files" in wanted:
            self.parts["files"] = FileCalls(machine)
        if "jupyter" in wanted:
            self.parts["jupyter"] = Kernels(machine, env)
        self._watching = asyncio.create_task(self._watch(computer))

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
        for once in self._once.values():
            once.task.cancel()
        parts, self.parts = self.parts, {}
        with contextlib.suppress(SandboxFailure, TimeoutError):
            async with asyncio.timeout(LONGEST_END_S):
                if (desktop := parts.get("desktop")) is not None:  # the others end with the container
                    await desktop.close()
        if self._computer is not None:
            await self._computer.close()
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

    def is_idle(self) -> bool:
        """As of any session, with the slack behind the lease, and no program left running in the background."""
        if self.under_way or self.held_by_person or self.seconds_left >= -self.spec.slack_s:
            return False
        return -self.seconds_left > self.spec.slack_s + self.spec.job_s or not self.jobs()

    @property
    def computer(self) -> Computer:
        """Raises SandboxFailure when it has gone, SessionEnded behind the end."""
        if self._ended:
            raise SessionEnded(self.id)
        if self.failure is not None:
            raise SandboxFailure(self.failure.kind, str(self.failure).partition(": ")[2])
        assert self._computer is not None
        return self._computer

    @property
    def desktop(self) -> DesktopCalls | None:
        part = self.parts.get("desktop")
        return part if isinstance(part, DesktopCalls) else None

    @property
    def files(self) -> FileCalls | None:
        part = self.parts.get("files")
        return part if isinstance(part, FileCalls) else None

    @property
    def env(self) -> dict[str, str]:
        """Of programs that are started beside the parts: a terminal, for instance."""
        return {} if self.desktop is None else dict(self.desktop.env)

    def jobs(self) -> int:
        """Programs inside that are none of the parts themselves. Those of a desktop belong to it."""
        if self._computer is None or self.failure is not None or self._ended:
            return 0
        own: set[int] = set().union(*(part.own() for part in self.parts.values()))
        sessions = self.desktop.sessions if self.desktop is not None else frozenset()
        try:
            running = self._computer.container.processes()
        except SandboxFailure:  # it is about to be found out
            return 0
        return sum(each.id not in own and each.session not in sessions for each in running)

    def ports(self) -> list[int]:
        """TCP ports that programs inside listen at."""
        if self._computer is None or self.failure is not None or self._ended:
            return []
        try:
            return sorted(self._computer.container.ports())
        except SandboxFailure:
            return []

    # ---- its calls ----

    async def call(self, value: Any, *, once: str | None = None, person: bool = False) -> Any:
        """Carries out a call, and answers with JSON. One that comes again with the same word `once` joins the first.

        Raises RequestError for a call that there is not, SandboxFailure, SessionEnded, and what its part raises.
        """
        with self.in_use():
            if person:
                self.hold()
            else:
                await self.given_back()
            self.computer  # noqa: B018 (raises what there is to say when it has gone)
            if once is not None and once in self._once:
                if self._once[once].asked != value:
                    raise RequestError(
                        "once must be an idempotency key of this call alone; got that of another", "once"
                    )
                return await asyncio.shield(self._once[once].task)
            name, work = self._read(value)
            if once is None or name in FORGOTTEN:
                return await self._carried_out(name, value, work)
            task = asyncio.create_task(self._carried_out(name, value, work))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # its caller may have left
            self._once[once] = _Once(value, task)
            while len(self._once) > REMEMBERED:
                del self._once[next(iter(self._once))]
            return await asyncio.shield(task)

    def _read(self, value: Any) -> tuple[str, Any]:
        fields = Fields(value, "call")
        name, readers = fields.text("call"), self._readers()
        if name not in readers:
            raise fields.error("call", f"one of {', '.join(sorted(readers))}")
        work = readers[name](fields)
        fields.done()
        return name, work

    def _readers(self) -> dict[str, Reader]:
        return {name: reader for part in self.parts.values() for name, reader in part.calls.items()}

    async def _carried_out(self, name: str, value: Any, work: Any) -> Any:
        with self.in_use():  # also when the caller has left
            try:
                return await work()
            except SandboxFailure as failure:
                self.events.append("failure", {"kind": failure.kind, "text": str(failure)})
                raise
            except asyncio.CancelledError:
                if self._ended:
                    raise SessionEnded(self.id) from None
                raise
            finally:
                self.calls += 1
                self._last = {"call": name} if name in ("write", "type") else brief(value, 400)
                self.events.append("call", {"text": _shown(name, value)})

    def words(self) -> str:
        """What lists show where there is no picture."""
        return "\n".join(filter(None, (part.words() for part in self.parts.values())))

    def to_json(self) -> dict[str, Any]:
        live = self.failure is None and not self._ended
        return {
            **self.lease_to_json(), "parts": list(self.spec.parts), "width": self.spec.width,
            "height": self.spec.height, "calls": self.calls, "live": live,
            "failure": None if self.failure is None else {"kind": self.failure.kind, "message": str(self.failure)},
            "slack_seconds": self.spec.slack_s, "last_call": self._last, "data": None, "ports": self.ports(),
            "memory_bytes": self._computer.container.memory_bytes() if live and self._computer is not None else None,
        }  # fmt: skip


def _shown(name: str, value: Any) -> str:
    """A call in a line, without what was written or typed."""
    told = [value.get(field) for field in ("shell", "command", "path", "kernel", "application", "argv")]
    return " ".join([name, *(str(each)[:120] for each in told if each is not None)])
