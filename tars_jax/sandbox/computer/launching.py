"""This process's end of the launcher: what it is asked for, and what it says of each container."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax.sandbox.computer.adopting import Adopted, introduce, peer_of
from tars_jax.sandbox.failures import SandboxFailure

LAUNCHER = Path(__file__).with_name("launcher") / "__main__.py"
GONE = "the launcher of containers is gone"


class NotStarted(Exception):
    """The words of the process that was to become the container."""


@dataclasses.dataclass(eq=False)
class Events:
    """The launcher's messages about one container."""

    sent: bool = False
    disk: int = -1  # the first process's descriptor of the mounted disk, until its program begins

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[int] = loop.create_future()  # the first process, as this machine counts
        self.started: asyncio.Future[int] = loop.create_future()  # the first process, of one that was restored
        self.exited: asyncio.Future[int] = loop.create_future()  # its status


class LauncherProcess:
    """The process of launcher/__main__.py. It ends, with all containers but those of `keep`, when this process does."""

    def __init__(self) -> None:
        self._events: dict[str, Events] = {}
        self._gone = False
        self._process: asyncio.subprocess.Process | None = None  # None: another process has started it

    async def start(
        self, run_folder: Path, lock: int, *, log: Path | None = None, holding: Sequence[int] = ()
    ) -> None:  # fmt: skip
        """`lock`: a descriptor, which it holds, too, as those of `holding`. `log`: of its errors; None: where ours go.

        Raises OSError.
        """
        with contextlib.ExitStack() as closing:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", str(LAUNCHER), str(run_folder), str(lock),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env={"PATH": os.defpath},
                pass_fds=[lock, *holding], stderr=None if log is None else closing.enter_context(log.open("ab")),
            )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        self.pid, self._stdin = process.pid, process.stdin
        self._reader = asyncio.create_task(self._read_events(process.stdout))

    async def adopt(self, run_folder: Path, secret: str) -> tuple[list[Adopted], int]:
        """Becomes the owner of a launcher whose owner has gone: its containers, and the descriptor of the lock.

        Raises OSError where it has gone, too, or another owner has it.
        """
        connection, adopted, lock = await asyncio.to_thread(introduce, run_folder, secret)
        self.pid = peer_of(connection)
        for each in adopted:
            events = self.new(each.plan["id"])
            events.sent = True
            if each.pid:
                events.ready.set_result(each.pid)
                events.started.set_result(each.pid)
            else:
                self._hear({"event": "exited", "status": each.status}, events)
        reader, self._stdin = await asyncio.open_unix_connection(sock=connection)
        self._reader = asyncio.create_task(self._read_events(reader))
        return adopted, lock

    async def stay(self, secret: str) -> None:
        """Lets whoever knows the secret be the next owner."""
        await self._send({"secret": secret})

    async def keep(self, id: str, seconds: float) -> None:
        """Lets a container wait so long for the next owner once this one has gone; 0: it does not wait."""
        await self._send({"keep": id, "seconds": seconds})

    def new(self, id: str) -> Events:
        self._events[id] = Events()
        return self._events[id]

    def events(self, id: str) -> Events:
        """Raises SandboxFailure for one that is closed."""
        if id not in self._events:
            raise SandboxFailure("container", f"{id} is closed")
        return self._events[id]

    async def launch(self, plan: dict[str, Any]) -> None:
        self._events[plan["id"]].sent = True
        await self._send(plan)

    async def proceed(self, id: str, bound: int = 0) -> None:
        """The program of a container that is ready begins. `bound`: its first process, where the launcher has not made
        the mounts and has to bound the terminals yet.
        """
        await self._send({"go": id, "bound": bound})

    async def end(self, id: str) -> None:
        """Kills a container's processes and returns when they are gone."""
        if id in self._events and self._events[id].sent:
            with contextlib.suppress(SandboxFailure):
                await self._send({"kill": id})
                await asyncio.shield(self._events[id].exited)

    async def forget(self, id: str) -> None:
        """Removes what the container had."""
        self._events.pop(id, None)
        with contextlib.suppress(SandboxFailure):
            await self._send({"forget": id})

    async def close(self) -> None:
        """Returns when it has ended what still ran."""
        with contextlib.suppress(SandboxFailure):
            await self._send({"end": True})
        self._stdin.close()
        if self._process is not None:
            await self._process.wait()
        await asyncio.wait([self._reader])

    async def _send(self, request: dict[str, Any]) -> None:
        if self._gone:
            raise SandboxFailure("container", GONE)
        with contextlib.suppress(ConnectionError):  # the reader of events notices
            self._stdin.write(json.dumps(request).encode() + b"\n")
            await self._stdin.drain()

    async def _read_events(self, reader: asyncio.StreamReader) -> None:
        try:
            with contextlib.suppress(ConnectionError):
                while line := await reader.readline():
                    event = json.loads(line)
                    events = self._events.get(event["id"])
                    if events is not None:
                        self._hear(event, events)
        finally:  # also where a loop that ends cancels all tasks: nobody would hear of an end any more
            self._gone = True
            for events in self._events.values():
                for future in (events.ready, events.started, events.exited):
                    _refuse(future, SandboxFailure("container", GONE))

    @staticmethod
    def _hear(event: dict[str, Any], events: Events) -> None:
        match event["event"]:
            case "ready":
                events.disk = event["disk"]
                events.ready.set_result(event["pid"])
            case "started":
                events.started.set_result(event.get("pid", 0))
            case "failed":
                for future in (events.ready, events.started):
                    _refuse(future, NotStarted(event["message"]))
                if not event["has_process"]:
                    events.exited.set_result(127)
            case "exited":
                for future in (events.ready, events.started):
                    _refuse(future, NotStarted(f"its process ended with {event['status']}"))
                events.exited.set_result(event["status"])


def _refuse(future: asyncio.Future[int], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # nobody may be waiting
