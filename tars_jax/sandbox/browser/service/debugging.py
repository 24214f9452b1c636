"""A debugging endpoint for each session: the DevTools protocol of its page over a WebSocket, and of nothing else.

    playwright.chromium.connect_over_cdp("ws://127.0.0.1:8700/v1/sessions/ID/cdp?token=TOKEN")

The browser has no port and holds the pages of others, so this is a browser with one page: commands to the browser are
answered here, those to the page's sessions passed on, and their events passed back. What reaches the files of the
machine, other pages or the network past the sandbox is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any
from urllib.parse import urlsplit

from starlette.websockets import WebSocket, WebSocketDisconnect

from tars_jax.sandbox.browser.connection import DevToolsConnection, ProtocolError
from tars_jax.sandbox.browser.sessions import PageSession
from tars_jax.sandbox.failures import PageError, SandboxFailure, SessionEnded
from tars_jax.sandbox.service.access import Access
from tars_jax.web.protocol import RequestError

BROWSER = {"targetId": "browser", "type": "browser", "title": "", "url": "", "attached": True, "canAccessOpener": False}
REFUSED = (
    "Browser.", "SystemInfo.", "Tracing.", "IO.", "Fetch.", "Extensions.", "Tethering.", "Cast.", "PWA.",
    "DOM.setFileInputFiles", "DOM.getFileInfo", "Page.setDownloadBehavior", "Network.loadNetworkResource",
    "Page.setInterceptFileChooserDialog", "Input.dispatchDragEvent", "Page.close",
)  # fmt: skip
TARGETS = ("Target.setAutoAttach", "Target.getTargetInfo", "Target.detachFromTarget")  # of a page's own sessions
SCHEMES = ("http", "https", "about", "data", "blob")
GOING_AWAY, REFUSAL, TRY_LATER = 1001, 1008, 1013  # RFC 6455
MOST_WAITING = 64 << 20  # characters for a client that does not read
LONGEST_CLOSE_S = 1.0
LEASE_S = 1.0  # between two renewals while somebody debugs


class Debugging:
    def __init__(self, access: Access) -> None:
        self._access = access

    async def connect(self, socket: WebSocket) -> None:
        """/v1/sessions/ID/cdp, with the session's token in the header or as ?token=."""
        try:
            session = self._access.session_of(PageSession, socket)
            page = await session.page()
        except (RequestError, SessionEnded) as error:
            await socket.close(REFUSAL, str(error)[:100])
            return
        except (SandboxFailure, PageError) as failure:
            await socket.close(TRY_LATER, str(failure)[:100])
            return
        await socket.accept()
        debugger = _Debugger(socket, page.connection, page.target)
        page.when_over(debugger.end)

        async def stay() -> None:
            while True:
                session.renew()
                await asyncio.sleep(LEASE_S)

        staying = asyncio.create_task(stay())
        try:
            with page.moving():
                await debugger.run()
        finally:
            staying.cancel()
            await debugger.close()


class _Debugger:
    """One client of one page."""

    def __init__(self, socket: WebSocket, connection: DevToolsConnection, target: str) -> None:
        self._socket, self._connection, self._target = socket, connection, target
        self._outgoing: asyncio.Queue[str | None] = asyncio.Queue()
        self._waiting = 0  # characters
        self._too_slow = asyncio.Event()
        self._own: list[str] = []  # sessions attached here
        self._below: set[str] = set()  # sessions that Chromium opened below them: frames, workers
        self._pending: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Relays messages until the client or the browser leaves."""
        reading, writing = asyncio.create_task(self._read()), asyncio.create_task(self._write())
        slow = asyncio.create_task(self._too_slow.wait())
        done, waiting = await asyncio.wait({reading, writing, slow}, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting | done)
        if reading not in done:
            why = "too much waits to be read" if slow in done else "the page is gone; connect again"
            with contextlib.suppress(RuntimeError, TimeoutError):
                async with asyncio.timeout(LONGEST_CLOSE_S):
                    await self._socket.close(GOING_AWAY, why)

    def end(self) -> None:
        """The page is gone: what was said of it is sent, then the client hears that."""
        self._put(None)

    async def close(self) -> None:
        for task in self._pending:
            task.cancel()
        for session in self._own:
            with contextlib.suppress(ConnectionError, ProtocolError):
                await self._connection.detach(session)
        for session in self._below:
            self._connection.unlisten(session)

    async def _read(self) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                text = await self._socket.receive_text()
                task = asyncio.create_task(self._answer(text))
                self._pending.add(task)
                task.add_done_callback(self._pending.discard)

    async def _write(self) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            while (text := await self._outgoing.get()) is not None:
                await self._socket.send_text(text)
                self._waiting -= len(text)

    def _put(self, message: dict[str, Any] | None) -> None:
        text = None if message is None else json.dumps(message)
        self._waiting += len(text or "")
        if self._waiting > MOST_WAITING:
            self._too_slow.set()
        else:
            self._outgoing.put_nowait(text)

    def _heard(self, event: dict[str, Any] | None) -> None:
        if event is not None and event["method"] == "Target.attachedToTarget":
            below = event["params"]["sessionId"]
            self._below.add(below)
            self._connection.listen(below, self._heard)
        self._put(event)

    async def _answer(self, text: str) -> None:
        message: Any = None
        try:
            message = json.loads(text)
            number, method, params = message["id"], str(message["method"]), dict(message.get("params") or {})
            session = message.get("sessionId")
            if type(number) is not int or not (session is None or isinstance(session, str)):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            given = message.get("id") if isinstance(message, dict) else None
            number = given if type(given) is int else 0
            self._put({"id": number, "error": {"code": -32600, "message": "no command"}})
            return
        answer: dict[str, Any] = {"id": number} | ({"sessionId": session} if session is not None else {})
        try:
            if session is None:
                result = await self._of_browser(method, params)
            elif session in self._own or session in self._below:
                _require_harmless(method, params)
                result = await self._connection.send(method, params, session)
            else:
                raise ProtocolError("Session with given id not found.")
            answer["result"] = result
        except (ProtocolError, ConnectionError) as error:
            answer["error"] = {"code": -32000, "message": str(error)}
        self._put(answer)

    async def _of_browser(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "Browser.getVersion":
                return await self._connection.send(method)
            case "Target.setAutoAttach":
                if params.get("autoAttach") and not self._own:
                    await self._attach()
                return {}
            case "Target.setDiscoverTargets":
                if params.get("discover"):
                    self._event("Target.targetCreated", {"targetInfo": await self._info()})
                return {}
            case "Target.getTargets":
                return {"targetInfos": [await self._info()]}
            case "Target.getTargetInfo":
                self._require_own(params.get("targetId", BROWSER["targetId"]))
                return {"targetInfo": await self._info() if params.get("targetId") == self._target else BROWSER}
            case "Target.attachToTarget":
                self._require_own(params.get("targetId"))
                return {"sessionId": await self._attach()}
            case "Target.detachFromTarget" if params.get("sessionId") in self._own:
                self._own.remove(params["sessionId"])
                await self._connection.detach(params["sessionId"])
                return {}
            case "Browser.setDownloadBehavior":
                return {}  # the sandbox keeps no download, and stays so
            case "Browser.close":
                self.end()
                return {}
        raise ProtocolError(f"{method[:80]} is not for this endpoint: it has one page, and no say over the browser")

    async def _attach(self) -> str:
        session = (await self._connection.attach(self._target)).id
        self._own.append(session)
        self._connection.listen(session, self._heard)
        params = {"sessionId": session, "targetInfo": await self._info(), "waitingForDebugger": False}
        self._event("Target.attachedToTarget", params)
        return session

    async def _info(self) -> dict[str, Any]:
        answer = await self._connection.send("Target.getTargetInfo", {"targetId": self._target})
        return answer["targetInfo"]

    def _event(self, method: str, params: dict[str, Any]) -> None:
        self._put({"method": method, "params": params})

    def _require_own(self, target: Any) -> None:
        if target not in (self._target, BROWSER["targetId"]):
            raise ProtocolError("No target with given id found")


def _require_harmless(method: str, params: dict[str, Any]) -> None:
    refused = method.startswith(REFUSED) or (method.startswith("Target.") and method not in TARGETS)
    if method == "Target.getTargetInfo" and "targetId" in params:
        refused = True
    if method == "Page.navigate" and urlsplit(str(params.get("url", ""))).scheme.lower() not in SCHEMES:
        refused = True
    if refused:
        raise ProtocolError(f"{method[:80]} is refused: it reaches beyond the page")
