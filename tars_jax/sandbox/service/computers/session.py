"""One leased computer: its parts, its calls, and what is known of it when it has gone."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.walking import Sought, Unreadable
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.file_calls import FileCalls
from tars_jax.sandbox.service.computers.lifecycle import ComputerLifecycle
from tars_jax.sandbox.service.computers.part import Reader, as_json
from tars_jax.sandbox.service.computers.recording import SessionRecording
from tars_jax.sandbox.service.computers.spec import ComputerRequest
from tars_jax.sandbox.service.computers.store import RECORDING, SessionFolder
from tars_jax.sandbox.sessions.leased_session import Lease, brief
from tars_jax.web.protocol import RequestFields

MOST_SHOWN = 4000  # characters: more than a picture has
# Calls that change nothing: they may be carried out again.
FORGOTTEN = ("read", "list", "search", "screenshot", "windows", "told", "outside")


class ComputerSession(ComputerLifecycle):
    """Calls come as JSON, `{"call": NAME, ...}`; which there are, the parts say."""

    def __init__(self, id: str, lease: Lease, spec: ComputerRequest, folder: SessionFolder | None = None) -> None:
        super().__init__(id, lease, spec, folder)
        self.calls = 0  # that have come back
        self._last: Any = None
        self._shown = ""  # of what clients of its mounts do

    @property
    def files(self) -> FileCalls | None:
        part = self.parts.get("files")
        return part if isinstance(part, FileCalls) else None

    @property
    def env(self) -> dict[str, str]:
        """Environment variables of programs that are started beside the parts: a terminal, for instance."""
        return {} if self.desktop is None else dict(self.desktop.env)

    async def call(self, value: Any, *, idempotency_key: str | None = None, person: bool = False) -> Any:
        """Carries out a call, and answers with JSON. One with the same idempotency key joins the first.

        Raises RequestError for a call that there is not, SandboxFailure, SessionEnded, and what its part raises.
        """
        with self.in_use():
            if person:
                self.hold()
            else:
                await self.given_back()
            if idempotency_key is not None and (answer := self._answers.get(idempotency_key, value)) is not None:
                return await answer
            if (
                await self.resume()
                and idempotency_key is not None
                and (answer := self._answers.get(idempotency_key, value)) is not None
            ):
                return await answer  # of the same call, which came meanwhile
            self.computer  # noqa: B018 (raises what there is to say when it has gone)
            name, work = self._read(value)
            if idempotency_key is None or name in FORGOTTEN:
                return await self._carried_out(name, value, work)
            return await self._answers.begin(idempotency_key, value, lambda: self._carried_out(name, value, work))

    def _read(self, value: Any) -> tuple[str, Any]:
        fields = RequestFields(value, "call")
        name, readers = fields.text("call"), self._readers()
        if name not in readers:
            raise fields.error("call", f"one of {', '.join(sorted(readers))}")
        work = readers[name](fields)
        fields.done()
        return name, work

    def _readers(self) -> dict[str, Reader]:
        own: dict[str, Reader] = {"outside": self._outside}
        return own | {name: reader for part in self.parts.values() for name, reader in part.calls.items()}

    def _outside(self, fields: RequestFields) -> Callable[[], Awaitable[Any]]:
        """{leaving_out?, seeking?} -> what is there as nobody inside tells it:
        {files, folders, processes, ports, windows, elsewhere, takeovers}

        `seeking`: [{name, size, sha256}] of files that may be anywhere; `elsewhere` is where they are. `takeovers`: how
        often a person has taken the session over. A home that cannot be read is {unreadable: WHY, takeovers}.
        """
        leaving_out = fields.array("leaving_out")
        if not all(isinstance(name, str) for name in leaving_out):
            raise fields.error("leaving_out", "an array of texts")
        seeking = [
            _sought(RequestFields(each, f"seeking[{number}]")) for number, each in enumerate(fields.array("seeking"))
        ]

        async def work() -> Any:
            computer = self.computer
            try:
                files, folders, elsewhere = await computer.kept(leaving_out, seeking)
            except Unreadable as error:
                return {"unreadable": str(error), "takeovers": self.takeovers}
            windows = [] if self.desktop is None else await self.desktop.desktop.windows()
            return {
                "files": {path: {**as_json("data", file.data), "executable": file.executable}
                          for path, file in files.items()},
                "folders": sorted(folders), "ports": sorted(await computer.ports()),
                "processes": [dataclasses.asdict(process) for process in await computer.processes()],
                "windows": [{"title": window.title, "process": window.process} for window in windows],
                "elsewhere": elsewhere, "takeovers": self.takeovers,
            }  # fmt: skip

        return work

    async def _carried_out(self, name: str, value: Any, work: Any) -> Any:
        with self.in_use():  # also when the caller has left
            answer: Any = None
            try:
                answer = await work()
                return answer
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
                if self.recording is not None:
                    await self.recording.append(value, answer, sys.exception())

    def record(self) -> None:
        """Records calls from now on. Twice is once. Raises InputError where nothing is kept, SandboxFailure("disk")."""
        if self.recording is None:
            if self.folder is None:
                raise InputError("sessions must have a folder to be recorded; this service keeps nothing")
            try:
                self.recording = SessionRecording.begun(self.folder.path / RECORDING, self.spec, self.calls)
            except OSError as error:
                raise SandboxFailure("disk", f"the recording could not begin: {error.strerror or error}") from error

    def words(self) -> str:
        """Words that lists show where there is no picture."""
        return "\n".join(filter(None, (*(part.words() for part in self.parts.values()), self._shown)))

    def show(self, words: str, call: str = "") -> None:
        """Shows in lists what a client does at one of its mounts; `call` has come back with it."""
        self._shown = f"{self._shown}{words}"[-MOST_SHOWN:]
        if call:
            self.calls += 1
            self._last = {"call": call}
            self.events.append("call", {"text": call})

    def to_json(self) -> dict[str, Any]:
        live = self.failure is None and not self._ended
        runs = live and not self.suspended and self._computer is not None
        width, height = self.spec.screen_size
        return {
            **self.lease_to_json(), "parts": list(self.spec.parts), "width": width, "height": height,
            "calls": self.calls, "live": live,
            "failure": None if self.failure is None else {"kind": self.failure.kind, "message": str(self.failure)},
            "grace_seconds": self.spec.grace_s, "last_call": self._last, "data": None, "ports": self.ports,
            "memory_bytes": self._computer.container.memory_bytes() if runs and self._computer is not None else None,
            "origin": self.origin, "suspended": self.suspended or None, "recorded": self.recording is not None,
            # Another number where it may show something else.
            "shown": zlib.crc32(f"{self.calls if self.screen else ''}{self.words()}".encode(errors="replace")),
        }  # fmt: skip


def _sought(fields: RequestFields) -> Sought:
    """Reads what is sought. Raises RequestError."""
    sought = Sought(fields.text("name"), fields.integer("size", 0, 0, 1 << 40) or 0, fields.text("sha256"))
    fields.done()
    return sought


def _shown(name: str, value: Any) -> str:
    """A call in a line, without what was written or typed."""
    told = [value.get(field) for field in ("shell", "command", "path", "kernel", "application", "argv")]
    return " ".join([name, *(str(each)[:120] for each in told if each is not None)])
