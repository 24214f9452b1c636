"""Mounts by which clients of others drive a session's computer: AIO Sandbox, SWE-ReX, OSWorld, and MCP."""

from __future__ import annotations

import base64
import dataclasses
import importlib.util
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.sessions.calls import event_to_json
from tars_jax.sandbox.compat.aio import aio_app
from tars_jax.sandbox.compat.aio.answers import absent
from tars_jax.sandbox.compat.aio.mcp import HasMcpTools
from tars_jax.sandbox.compat.swe_rex import swe_rex_app
from tars_jax.sandbox.service.computers.page_calls import PageCalls
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.tool_calls import ToolCalls
from tars_jax.sandbox.service.gateway.activity import ActivityReporter
from tars_jax.sandbox.service.gateway.desktop_browser import DesktopBrowser
from tars_jax.sandbox.service.gateway.mounts import NO_DESKTOP, SessionMount
from tars_jax.web.gate import Guarded
from tars_jax.web.protocol import RequestError


@dataclasses.dataclass(frozen=True)
class ScreenPicture:
    png: bytes


@dataclasses.dataclass(frozen=True)
class SessionScreen:
    """A session's screen as a page that can be acted on: its desktop, its page or its phone."""

    session: ComputerSession

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float) -> ScreenPicture:
        """Raises as a call of the session."""
        call = {"call": "act", "events": [event_to_json(event) for event in events], "advance_ms": advance_ms}
        return ScreenPicture(base64.b64decode((await self.session.call(call))["png"]))

    async def navigate(self, url: str) -> None:
        if self._page is None:
            raise absent("a browser")
        await self.session.call({"call": "navigate", "address": url})

    async def evaluate(self, expression: str) -> Any:
        if self._page is None:
            raise absent(
                "a page that can be read", "browser/actions and browser/screenshot serve what the screen shows"
            )
        with self.session.in_use():
            return await self._page.evaluate(expression)

    @property
    def _page(self) -> PageCalls | None:
        part = self.session.parts.get("browser")
        return part if isinstance(part, PageCalls) else None


class OsworldMount:
    """A session's desktop by OSWorld's protocol. Its requests wait, as any agent's, while a person has the desktop."""

    def __init__(self, session: ComputerSession) -> None:
        if session.desktop is None:
            raise RequestError(NO_DESKTOP, status=404)
        from tars_jax.sandbox.desktop.osworld.app import Guest  # over X, whose library is an extra

        self._session, guest = session, Guest(session.desktop.desktop, session.computer.machine)
        self._app = Guarded(Starlette(routes=guest.routes()), None)
        session.tell_end(guest.stop)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._session.in_use():
            await self._session.given_back()
            await self._app(scope, receive, send)


def _browser(session: ComputerSession) -> DesktopBrowser | None:
    """The one on the desktop, where that is what the session shows."""
    shows_desktop = session.screen is not None and session.screen is session.desktop
    return DesktopBrowser(session) if shows_desktop else None


def _aio(session: ComputerSession) -> ASGIApp:
    screen = SessionScreen(session) if session.screen is not None else None
    return aio_app(
        session.computer.machine, None, page=screen, browser=_browser(session), servers=_servers(session)
    )  # fmt: skip


def _servers(session: ComputerSession) -> Sequence[HasMcpTools]:
    part = session.parts.get("mcp")
    return part.tools.servers if isinstance(part, ToolCalls) else ()


def api_mounts() -> dict[str, SessionMount]:
    """Mounts of others' APIs by their names in /s/ID/NAME/. The gateway has let the client in. MCP takes the extra
    `mcp`."""
    mounts: dict[str, SessionMount] = {
        "aio": lambda session: ActivityReporter(_aio(session), session.show),
        "swe_rex": lambda session: ActivityReporter(swe_rex_app(session.computer.machine, None), session.show),
        "osworld": lambda session: ActivityReporter(OsworldMount(session), session.show),
    }
    if importlib.util.find_spec("mcp") is not None:
        from tars_jax.sandbox.service.gateway.mcp_mount import McpMount

        mounts["mcp"] = McpMount
    return mounts
