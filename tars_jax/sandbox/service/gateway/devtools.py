"""Chromium's debugging protocol over a WebSocket to a port inside: commands and their answers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from typing import Any

from websockets.exceptions import ProtocolError

from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import PageError, SandboxFailure
from tars_jax.sandbox.service.gateway.http_proxy import connected
from tars_jax.sandbox.service.gateway.socket_proxy import InsideSocket

ANSWERS_S = 30.0
MOST_WORDS = 2000  # characters
AGAIN_S = 0.2  # a document that another one follows answers no more


class Gone(PageError):
    """The browser refused: often, as what it was asked about has gone."""


class DevTools:
    """A connection to one browser."""

    def __init__(self, socket: InsideSocket) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._sessions: dict[str, str] = {}  # by target
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, machine: GuestMachine, port: int, path: str) -> DevTools:
        """Raises RequestError where no browser answers."""
        socket = InsideSocket(await connected(machine, port), f"localhost:{port}", [])
        await socket.open(path.encode(), [])
        return cls(socket)

    @property
    def ended(self) -> bool:
        return self._reading.done()

    async def call(
        self, method: str, session: str | None = None, *, limit_s: float = ANSWERS_S, **parameters: Any
    ) -> dict[str, Any]:
        """Raises PageError for what the browser refuses or does not answer, SandboxFailure where it has gone."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        try:
            if self.ended:
                raise SandboxFailure("desktop", "the browser has ended")
            await self._socket.send(json.dumps(message if session is None else {**message, "sessionId": session}))
            async with asyncio.timeout(limit_s):
                return await answer
        except TimeoutError:
            raise PageError(
                f"no answer within {limit_s:g} s: a dialog may be open, which browser/actions reach"
            ) from None
        finally:
            self._waiting.pop(number, None)

    async def session(self, target: str) -> str:
        if target not in self._sessions:
            attached = await self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._sessions[target] = attached["sessionId"]
        return self._sessions[target]

    async def evaluate(self, target: str, expression: str, *, limit_s: float = ANSWERS_S) -> Any:
        """The value of an expression, as JSON has it; of a promise, its result. Raises PageError for what the page
        throws."""
        options = {"expression": expression, "returnByValue": True, "awaitPromise": True, "userGesture": True}
        answer = await self._in_document("Runtime.evaluate", target, limit_s, options)
        if (thrown := answer.get("exceptionDetails")) is not None:
            words = thrown.get("exception", thrown).get("description") or thrown.get("text", thrown)
            raise PageError(str(words)[:MOST_WORDS])
        return answer["result"].get("value")

    async def _in_document(self, method: str, target: str, limit_s: float, options: dict[str, Any]) -> dict[str, Any]:
        """Once more where a document went while it was asked."""
        try:
            return await self.call(method, await self.session(target), limit_s=limit_s, **options)
        except Gone:
            await asyncio.sleep(AGAIN_S)
            self._sessions.pop(target, None)
            return await self.call(method, await self.session(target), limit_s=limit_s, **options)

    async def _read(self) -> None:
        async def deliver(text: str | bytes) -> None:
            message = json.loads(text)
            waiting = self._waiting.get(message.get("id", 0))
            if waiting is None or waiting.done():
                return
            if (error := message.get("error")) is not None:
                waiting.set_exception(Gone(str(error.get("message"))[:MOST_WORDS]))
            else:
                waiting.set_result(message["result"])

        try:
            with contextlib.suppress(OSError, EOFError, ProtocolError):
                await self._socket.messages(deliver)
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(SandboxFailure("desktop", "the browser has ended"))
