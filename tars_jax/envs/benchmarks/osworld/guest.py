"""The guest protocol of OSWorld from the host's side: a client, and a server of one desktop for a scorer beside."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
from starlette.types import ASGIApp

from tars_jax.environment import EnvironmentFailure
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.client import failing_as
from tars_jax.web.gate import Gate, Guarded
from tars_jax.web.listening import ListenAddress, address, listen
from tars_jax.web.running import serving_here

PATIENCE_S = 180.0  # of a request: commands have 120 s
OPENS_S = 1800.0  # for a file that an application opens
CHUNK = 1 << 16


class GuestProtocol:
    """A guest by its server, which may be OSWorld's own. Calls raise EnvironmentFailure where it is away.

    What a guest refuses, such as a command that it does not have, is an answer.
    """

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @classmethod
    def of(cls, app: ASGIApp) -> GuestProtocol:
        """The guest protocol of an application in this process, without a socket."""
        return cls(httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://guest"))

    async def post(self, path: str, *, timeout_s: float = PATIENCE_S, **what: Any) -> httpx.Response:
        """`what`: json, data, files, as httpx has them."""
        with _guest_answers(path):
            answer = await self._client.post(path, timeout=timeout_s, **what)
        if answer.status_code == 503:
            raise SandboxFailure("guest", f"{path}: {message(answer)}")
        return answer

    async def get(self, path: str, *, timeout_s: float = PATIENCE_S) -> httpx.Response:
        with _guest_answers(path):
            return await self._client.get(path, timeout=timeout_s)

    async def execute(self, command: Any, shell: Any = False) -> httpx.Response:
        return await self.post("/setup/execute", json={"command": command, "shell": shell})

    async def upload(self, path: str, data: bytes) -> httpx.Response:
        name = path.replace("\\", "/").rpartition("/")[2]
        return await self.post("/setup/upload", data={"file_path": path}, files={"file_data": (name, data)})

    async def platform(self) -> str:
        return (await self.get("/platform")).text.strip()

    async def close(self) -> None:
        await self._client.aclose()


def _guest_answers(path: str) -> contextlib.AbstractContextManager[None]:
    return failing_as(lambda why: EnvironmentFailure("guest", f"the guest did not answer {path}: {why}"))


def message(answer: httpx.Response) -> str:
    """The guest's error message, shortened."""
    with contextlib.suppress(ValueError):
        said = answer.json()
        if isinstance(said, dict):
            return str(said.get("message") or said.get("error") or said)[:300]
    return answer.text[:300]


@contextlib.asynccontextmanager
async def served(app: ASGIApp, token: str = "") -> AsyncIterator[tuple[str, int]]:
    """A guest's routes on loopback while the block runs: "any:TOKEN@127.0.0.1", as clients take it, and the port."""
    listening = listen(ListenAddress())
    with listening:
        port = int(address(listening, None).rpartition(":")[2])
        guarded = Guarded(app, Gate(token)) if token else app
        async with serving_here(guarded, ListenAddress(stop_seconds=1), listening):
            yield f"any:{token}@127.0.0.1" if token else "127.0.0.1", port


@contextlib.asynccontextmanager
async def port_of(machine: GuestMachine, port: int) -> AsyncIterator[int]:
    """A port of this machine's loopback that leads to one of the inside while the block runs, for this user alone."""
    under_way: set[asyncio.Task[Any]] = set()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        under_way.add(task)
        with contextlib.closing(writer), contextlib.suppress(Exception):  # whoever called sees the connection end
            if not _is_ours(*writer.get_extra_info("peername")[:2]):
                raise PermissionError
            inside, answering = await machine.connect(port)
            with contextlib.closing(answering):
                await _either(_copy(reader, answering), _copy(inside, writer))
        under_way.discard(task)

    server = await asyncio.start_server(pass_on, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _is_ours(host: str, port: int) -> bool:
    """Whether the user of this process has the socket that a connection on loopback came from, as Linux lists them."""
    place = f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = (line.split() for line in file)
        return any(row[1] == place and row[7] == str(os.geteuid()) for row in rows if len(row) > 7)


async def _either(*copies: Any) -> None:
    tasks = [asyncio.ensure_future(each) for each in copies]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
