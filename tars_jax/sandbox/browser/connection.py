"""The manager's own way into a browser: the debugging protocol over the relay's socket (see relay.py)."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from tars_jax.sandbox.browser.relay import FIRST_ID, Messages

# A message of the browser that answers nothing; None when the browser is gone.
Heard: TypeAlias = Callable[[dict[str, Any] | None], None]


class ProtocolError(Exception):
    """The browser refused a command."""


class DevToolsConnection(asyncio.Protocol):
    """A connection to one browser, with many sessions. Calls in flight raise ConnectionError when the browser goes
    away."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.WriteTransport | None = None
        self._messages = Messages()
        self._ids = itertools.count(FIRST_ID)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._browser_session: str | None = None
        self._listeners: dict[str, Heard] = {}

    async def attach(self, target: str) -> DevToolsSession:
        """A session with a target, beside the one that Playwright has."""
        params = {"targetId": target, "flatten": True}
        answer = await self.send("Target.attachToTarget", params, await self._of_browser())
        return DevToolsSession(self, answer["sessionId"])

    async def attach_to_browser(self) -> DevToolsSession:
        """A session with the browser itself, for settings that end with it."""
        answer = await self.send("Target.attachToBrowserTarget", None, await self._of_browser())
        return DevToolsSession(self, answer["sessionId"])

    async def _of_browser(self) -> str:
        if self._browser_session is None:
            answer = await self.send("Target.attachToBrowserTarget")
            self._browser_session = str(answer["sessionId"])
        return self._browser_session

    async def detach(self, session: str) -> None:
        """Ends a session of `attach`, and what it had switched on."""
        self._listeners.pop(session, None)
        await self.send("Target.detachFromTarget", {"sessionId": session}, self._browser_session)

    def listen(self, session: str, heard: Heard) -> None:
        """Sends the events of a session to `heard` from now on."""
        self._listeners[session] = heard

    def unlisten(self, session: str) -> None:
        self._listeners.pop(session, None)

    async def send(
        self, method: str, params: dict[str, Any] | None = None, session: str | None = None
    ) -> dict[str, Any]:
        """The result of a command. Raises ProtocolError when it is refused, ConnectionError without a browser."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("the browser is gone")
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = session
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._transport.write(json.dumps(message, separators=(",", ":")).encode() + b"\0")
        try:
            return await answer
        finally:
            self._answers.pop(number, None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        if not self.ready.done():
            self.ready.set_result(None)

    def data_received(self, data: bytes) -> None:
        for message in self._messages.cut(data):
            answer = json.loads(message[:-1])
            if "id" not in answer:
                if (heard := self._listeners.get(answer.get("sessionId", ""))) is not None:
                    # after the answers that came before it, whose callers are woken in the same way
                    asyncio.get_running_loop().call_soon(heard, answer)
                continue
            waiting = self._answers.get(answer["id"])
            if waiting is None or waiting.done():
                continue
            if "error" in answer:
                waiting.set_exception(ProtocolError(answer["error"].get("message", "refused")))
            else:
                waiting.set_result(answer["result"])

    def connection_lost(self, error: Exception | None) -> None:
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the browser is gone"))
        for heard in set(self._listeners.values()):
            heard(None)


class DevToolsSession:
    """The debugging protocol of one page."""

    def __init__(self, connection: DevToolsConnection, session: str) -> None:
        self._connection = connection
        self.id = session

    async def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Sends a command to this page, as DevToolsConnection.send does."""
        return await self._connection.send(method, params, self.id)
