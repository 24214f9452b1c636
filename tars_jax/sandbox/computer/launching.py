"""This process's end of the launcher: what it is asked for, and what it says of each container."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tars_jax.sandbox.failures import SandboxFailure

LAUNCHER = Path(__file__).with_name("launcher") / "__main__.py"
GONE = "the launcher of containers is gone"


class NotStarted(Exception):
    """The words of the process that was to become the container."""


@dataclasses.dataclass(eq=False)
class Events:
    """What the launcher says about one container."""

    sent: bool = False
    disk: int = -1  # the first process's descriptor of the mounted disk, until its program begins

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[int] = loop.create_future()  # the first process, as this machine counts
        self.started: asyncio.Future[int] = loop.create_future()  # the first process, of one that was restored
        self.exited: asyncio.Future[int] = loop.create_future()  # its status


class LauncherProcess:
    """The process of launcher/__main__.py. It ends, with all containers, when this process does."""

    def __init__(self) -> None:
        self._events: dict[str, Events] = {}
        self._gone = False

    async def start(self, run_folder: Path) -> None:
        """Raises OSError."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", str(LAUNCHER), str(run_folder),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env={"PATH": os.defpath},
        )  # fmt: skip
        self._reader = asyncio.create_task(self._read_events())

    @property
    def pid(self) -> int:
        return self._process.pid

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

    async def let_go(self, id: str) -> None:
        """The program of a container that is ready begins."""
        await self._send({"go": id})

    async def end(self, id: str) -> None:
        """Kills a container's processes and returns when they are gone."""
        if id in self._events and self._events[id].sent:
            with contextlib.suppress(SandboxFailure):
                await self._send({"kill": id})
                await asyncio.shield(self._events[id].exited)

    async def forget(self, id: str) -> None:
        """What the container had is removed."""
        self._events.pop(id, None)
        with contextlib.suppress(SandboxFailure):
            await self._send({"forget": id})

    async def close(self) -> None:
        """Returns when it has ended what still ran."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reader

    async def _send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        if self._gone:
            raise SandboxFailure("container", GONE)
        with contextlib.suppress(ConnectionError):  # the reader of events notices
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            await self._process.stdin.drain()

    async def _read_events(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            event = json.loads(line)
            events = self._events.get(event["id"])
            if events is not None:
                self._hear(event, events)
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
