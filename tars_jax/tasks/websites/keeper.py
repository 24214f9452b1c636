"""The host's side of programs/keeper, which saves, puts back and reads the state of a site inside its computer."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any

from tars_jax.sandbox.computer.guest_client import GuestError, Streams
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.site import KEEPER, Website

START_S, CALL_S = 30.0, 60.0
_LONGEST_LINE = 32 << 20


def state_folder(machine: GuestMachine) -> str:
    return f"{machine.home}/site"


class KeeperClient:
    """A client of the keeper, with one call at a time; a connection that has ended is made again. `close` ends the
    connection alone."""

    def __init__(self, machine: GuestMachine, site: Website) -> None:
        self._machine, self._site = machine, site
        self._streams: Streams | None = None
        self._lock = asyncio.Lock()

    @property
    def _socket(self) -> str:
        return f"{self._machine.home}/.keeper"

    async def start(self) -> None:
        """Raises SandboxFailure where it does not come up."""
        machine, site = self._machine, self._site
        arguments = [self._socket, state_folder(machine), f"{machine.home}/.saved", str(site.port)]
        await machine.start(
            [machine.python, "-I", "-S", KEEPER, *arguments, json.dumps(site.transient)],
            output=f"{machine.home}/.keeper.log",
        )
        last = asyncio.get_running_loop().time() + START_S
        while True:
            try:
                self._streams = await machine.connect(self._socket)
                return
            except GuestError as error:
                if asyncio.get_running_loop().time() > last:
                    raise SandboxFailure("website", f"the keeper of {site.name} did not come up: {error}") from error
                await asyncio.sleep(0.01)

    async def call(self, call: str, *, timeout_s: float = CALL_S, **arguments: Any) -> Any:
        """Raises SandboxFailure("website") for a call that failed, or was not answered in time."""
        async with self._lock:
            try:
                async with asyncio.timeout(timeout_s):
                    reader, writer = await self._connected()
                    writer.write(json.dumps({"call": call, **arguments}).encode() + b"\n")
                    await writer.drain()
                    answer = await _line(reader)
            except TimeoutError as error:
                await self.close()
                raise SandboxFailure(
                    "website", f"{self._site.name}: {call} took longer than {timeout_s:g} s"
                ) from error
            except (OSError, ValueError, GuestError) as error:
                await self.close()
                raise SandboxFailure("website", f"{self._site.name}: {call} was not answered: {error}") from error
            except BaseException:  # an answer that is still to come is nobody's
                await self.close()
                raise
        if "error" in answer:
            raise SandboxFailure("website", f"{self._site.name}: {answer['error']}")
        return answer["ok"]

    async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        return await self.call("sql", file=file, statement=statement, parameters=list(parameters))

    async def files(self, pattern: str) -> dict[str, str]:
        return await self.call("files", pattern=pattern)

    async def http(
        self, method: str, path: str, body: str = "", kind: str = "", timeout_s: float = 20.0
    ) -> tuple[int, str]:
        asked = {"method": method, "path": path, "body": body, "kind": kind, "answer_s": timeout_s}
        status, text = await self.call("http", timeout_s=timeout_s + 5, **asked)
        return status, text

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(streams[1].wait_closed(), 5)

    async def _connected(self) -> Streams:
        if self._streams is None:
            self._streams = await self._machine.connect(self._socket)
        return self._streams


async def _line(reader: asyncio.StreamReader) -> dict[str, Any]:
    """One answer, however long a line. Raises OSError at the stream's end, ValueError for no JSON."""
    pieces, size = [], 0
    while True:
        piece = await reader.read(1 << 20)
        if not piece:
            raise ConnectionError("it closed the connection")
        pieces.append(piece)
        if (size := size + len(piece)) > _LONGEST_LINE:
            raise ConnectionError("its answer is too long")
        if piece.endswith(b"\n"):
            break
    answer = json.loads(b"".join(pieces))
    if not isinstance(answer, dict) or ("ok" in answer) == ("error" in answer):
        raise ValueError("it answered something else")
    return answer
