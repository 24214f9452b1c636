"""The Chromium on a session's desktop as clients drive it: its tabs and documents through its debugging port inside.

It begins with the first call, as a person would open it, with a profile of its own. The mouse and the keyboard are the
desktop's; where a document is on the screen, the document says.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import io
from collections.abc import Sequence
from typing import Any

import msgspec
from PIL import Image

from tars_jax.sandbox.browser.events import InputEvent, InsertText, KeyDown, KeyUp
from tars_jax.sandbox.browser.sessions.calls import event_to_json
from tars_jax.sandbox.compat.aio.browser_tabs import BLANK, ShownTab
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import PageError, SandboxFailure
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.gateway.devtools import DevTools
from tars_jax.web.protocol import RequestError

PROFILE = ".config/chromium-of-clients"
PORT_FILE = "DevToolsActivePort"  # where Chromium writes its port, and the path of its socket
BEGINS_S, LOADS_S, LOOKS_S = 30.0, 10.0, 3.0
POLL_S = 0.1
# Where the document lies on the screen: the browser's own bars are above it.
VIEW = "[screenX + (outerWidth - innerWidth) / 2, screenY + outerHeight - innerHeight, innerWidth, innerHeight]"


@dataclasses.dataclass(frozen=True)
class TabPicture:
    png: bytes


class DesktopBrowser:
    """A `Tabbed`. Raises PageError for what a page refuses, SandboxFailure when the browser does not begin."""

    def __init__(self, session: ComputerSession) -> None:
        self._session = session
        self._folder = f"{session.computer.machine.home}/{PROFILE}"
        self._tools: DevTools | None = None
        self._beginning = asyncio.Lock()
        self._known: list[str] = []  # targets in the order in which they were first seen

    # ---- its document

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float) -> TabPicture:
        """`events` in CSS pixels of the document."""
        x, y, width, height = await self.evaluate(VIEW)
        if events:
            tools, shown = await self._shown()
            await tools.call("Page.bringToFront", await tools.session(shown))
        moved = [_moved(event, x, y) for event in events]
        call = {"call": "act", "events": [event_to_json(event) for event in moved], "advance_ms": advance_ms}
        png = base64.b64decode((await self._session.call(call))["png"])
        return TabPicture(await asyncio.to_thread(_part, png, (int(x), int(y), int(x + width), int(y + height))))

    async def navigate(self, url: str) -> None:
        if words := await self._opened(*await self._shown(), url):
            raise PageError(f"{url[:200]}: {words}")

    async def evaluate(self, expression: str) -> Any:
        tools, shown = await self._shown()
        return await tools.evaluate(shown, expression)

    # ---- its tabs

    async def tabs(self) -> list[ShownTab]:
        tools, targets = await self._targets()
        shown = await self._active(tools, targets)
        return [ShownTab(each["url"], each["title"], each["targetId"] == shown) for each in targets]

    async def create(self, url: str) -> int:
        tools = await self._connected()
        created = (await tools.call("Target.createTarget", url=BLANK))["targetId"]
        if url != BLANK:
            await self._opened(tools, created, url)
        await tools.call("Target.activateTarget", targetId=created)
        _, targets = await self._targets()
        return [each["targetId"] for each in targets].index(created)

    async def activate(self, index: int) -> None:
        tools, targets = await self._targets()
        await tools.call("Target.activateTarget", targetId=targets[index]["targetId"])

    async def close_tab(self, index: int) -> None:
        tools, targets = await self._targets()
        if len(targets) == 1:  # the last one would take the browser with it
            await tools.call("Target.createTarget", url=BLANK)
        await tools.call("Target.closeTarget", targetId=targets[index]["targetId"])
        while any(each["targetId"] == targets[index]["targetId"] for each in (await self._targets())[1]):
            await asyncio.sleep(POLL_S)

    # ----

    async def _targets(self) -> tuple[DevTools, list[dict[str, Any]]]:
        tools = await self._connected()
        infos = {each["targetId"]: each for each in (await tools.call("Target.getTargets"))["targetInfos"]}
        pages = [id for id, each in infos.items() if each["type"] == "page"]
        self._known = [id for id in self._known if id in pages]
        self._known += [id for id in reversed(pages) if id not in self._known]  # it names the newest first
        return tools, [infos[id] for id in self._known]

    async def _shown(self) -> tuple[DevTools, str]:
        tools, targets = await self._targets()
        return tools, await self._active(tools, targets)

    async def _active(self, tools: DevTools, targets: list[dict[str, Any]]) -> str:
        async def state(target: str) -> str:
            try:
                return str(await tools.evaluate(target, "document.visibilityState", limit_s=LOOKS_S))
            except PageError:  # a dialog is open in it, or it never rests
                return "mute"

        ids = [str(each["targetId"]) for each in targets]
        states = await asyncio.gather(*map(state, ids))
        found = [ids[states.index(wanted)] for wanted in ("visible", "mute") if wanted in states]
        return (found or ids)[0]

    async def _opened(self, tools: DevTools, target: str, url: str) -> str:
        """The browser's error where it shows a page about one; empty: it shows the address."""
        answer = await tools.call("Page.navigate", await tools.session(target), url=url)
        await self._loaded(tools, target)
        return str(answer.get("errorText", ""))

    async def _loaded(self, tools: DevTools, target: str) -> None:
        end = asyncio.get_running_loop().time() + LOADS_S
        while asyncio.get_running_loop().time() < end:
            if await tools.evaluate(target, "document.readyState === 'complete'"):
                return
            await asyncio.sleep(POLL_S)

    async def _connected(self) -> DevTools:
        async with self._beginning:
            if self._tools is not None and not self._tools.ended:
                return self._tools
            self._tools = await self._reached()
            if self._tools is None:
                await self._launch()
            end = asyncio.get_running_loop().time() + BEGINS_S
            while self._tools is None:
                if asyncio.get_running_loop().time() > end:
                    raise SandboxFailure("desktop", f"the browser opened no port within {BEGINS_S:g} s")
                await asyncio.sleep(POLL_S)
                self._tools = await self._reached()
            return self._tools

    async def _launch(self) -> None:
        flags = ["--remote-debugging-port=0", f"--user-data-dir={self._folder}", BLANK]
        await self._session.call({"call": "launch", "application": "browser", "arguments": flags})

    async def _reached(self) -> DevTools | None:
        """None: no browser has opened its port, or not any more."""
        machine = self._session.computer.machine
        told = await machine.run(["cat", f"{self._folder}/{PORT_FILE}"], timeout_s=BEGINS_S)
        port, _, path = told.stdout.decode("ascii", "replace").strip().partition("\n")
        if told.status or not port.isdigit():
            return None
        try:
            return await DevTools.open(machine, int(port), path)
        except (RequestError, GuestError):
            return None


def _moved(event: InputEvent, x: float, y: float) -> InputEvent:
    if isinstance(event, KeyDown | KeyUp | InsertText):
        return event
    return msgspec.structs.replace(event, x=event.x + x, y=event.y + y)


def _part(png: bytes, box: tuple[int, int, int, int]) -> bytes:
    with Image.open(io.BytesIO(png)) as image:
        buffer = io.BytesIO()
        image.crop(box).save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()
