"""/v1/browser: screenshots of a page of ours and actions on it, in its virtual time. Without a page: not part of it."""

from __future__ import annotations

import dataclasses
import io
from typing import Any, Protocol

from PIL import Image
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import absent, answer, answering
from tars_jax.web.gate import read_fields
from tars_jax.web.protocol import RequestFields
from tars_jax.web.responses import JsonResponse

STEP_MS = 100.0  # of virtual time that an action takes
LONGEST_WAIT_S = 60.0
BUTTONS = ("left", "right", "middle")
KEYS = {
    "ctrl": "Control", "control": "Control", "alt": "Alt", "shift": "Shift", "meta": "Meta", "cmd": "Meta",
    "win": "Meta", "enter": "Enter", "return": "Enter", "esc": "Escape", "escape": "Escape", "tab": "Tab",
    "space": " ", "backspace": "Backspace", "delete": "Delete", "insert": "Insert", "home": "Home", "end": "End",
    "pageup": "PageUp", "pagedown": "PageDown", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft",
    "right": "ArrowRight", **{f"f{n}": f"F{n}" for n in range(1, 13)},
}  # fmt: skip


class ShowsPicture(Protocol):
    """An Observation of the browser."""

    @property
    def png(self) -> bytes: ...


class Acts(Protocol):
    """A Page, Session or RemotePage of the browser."""

    async def act(self, events: Any, *, advance_ms: float) -> ShowsPicture: ...


@dataclasses.dataclass
class BrowserRoutes:
    page: Acts | None
    x: float = 0.0
    y: float = 0.0

    def routes(self) -> list[Route]:
        return [
            Route("/v1/browser/info", answering(self.info), methods=["GET"]),
            Route("/v1/browser/screenshot", answering(self.screenshot), methods=["GET"]),
            Route("/v1/browser/actions", answering(self.action), methods=["POST"]),
        ]

    async def _act(self, events: list[Any], advance_ms: float) -> bytes:
        if self.page is None:
            raise absent("a browser")
        return (await self.page.act(events, advance_ms=advance_ms)).png

    async def info(self, request: Request) -> Response:
        with Image.open(io.BytesIO(await self._act([], 0.0))) as image:
            size = {"width": image.width, "height": image.height}
        return answer({"user_agent": "", "cdp_url": "", "vnc_url": "", "viewport": size, "page_viewport": size})

    async def screenshot(self, request: Request) -> Response:
        return Response(await self._act([], 0.0), media_type="image/png")

    async def action(self, request: Request) -> Response:
        body = await read_fields(request)
        kind = body.text("action_type")
        events, wait_ms = self._events(kind, body)
        await self._act(events, wait_ms)
        done = {"status": "success", "action_performed": kind}
        return JsonResponse({"success": True, "message": "Operation successful", "data": done, **done})

    def _events(self, kind: str, body: RequestFields) -> tuple[list[Any], float]:
        from tars_jax.sandbox.browser import events as e  # Playwright comes with it

        if kind == "WAIT":
            return [], 1000.0 * body.number("duration", 0.0, 0.0, LONGEST_WAIT_S)
        if kind in ("MOVE_TO", "CLICK", "RIGHT_CLICK", "DOUBLE_CLICK", "DRAG_TO"):
            target = body.number("x", self.x, 0, 1e5), body.number("y", self.y, 0, 1e5)
        elif kind in ("MOVE_REL", "DRAG_REL"):
            target = (
                max(self.x + body.number("x_offset", 0.0, -1e5, 1e5), 0.0),
                max(self.y + body.number("y_offset", 0.0, -1e5, 1e5), 0.0),
            )
        else:
            target = self.x, self.y
        origin, (self.x, self.y) = (self.x, self.y), target
        move: list[Any] = [e.MouseMove(*target)]
        button = body.text("button", "left")
        if button not in BUTTONS:
            raise body.error("button", f"one of {', '.join(BUTTONS)}")
        match kind:
            case "MOVE_TO" | "MOVE_REL":
                events = move
            case "CLICK" | "RIGHT_CLICK" | "DOUBLE_CLICK":
                button = "right" if kind == "RIGHT_CLICK" else button
                count = 2 if kind == "DOUBLE_CLICK" else body.integer("num_clicks", 1, 1, 3) or 1
                presses = [each(*target, button, n) for n in range(1, count + 1) for each in (e.MouseDown, e.MouseUp)]
                events = [*move, *presses]
            case "DRAG_TO" | "DRAG_REL":
                events = [e.MouseDown(*origin, "left"), *move, e.MouseUp(*target, "left")]
            case "MOUSE_DOWN":
                events = [e.MouseDown(*target, button)]
            case "MOUSE_UP":
                events = [e.MouseUp(*target, button)]
            case "SCROLL":
                dx, dy = (body.number(name, 0.0, -1e5, 1e5) for name in ("dx", "dy"))
                events = [e.Wheel(*target, dx, dy)]
            case "TYPING":
                events = [e.InsertText(body.text("text"))]
            case "PRESS":
                events = [e.KeyDown(_key(body)), e.KeyUp(_key(body))]
            case "KEY_DOWN":
                events = [e.KeyDown(_key(body))]
            case "KEY_UP":
                events = [e.KeyUp(_key(body))]
            case "HOTKEY":
                keys = [KEYS.get(str(key).lower(), str(key)) for key in body.array("keys", required=True)]
                events = [*(e.KeyDown(key) for key in keys), *(e.KeyUp(key) for key in reversed(keys))]
            case _:
                raise body.error("action_type", "one of AIO's actions, such as CLICK")
        return events, STEP_MS


def _key(body: RequestFields) -> str:
    key = body.text("key")
    return KEYS.get(key.lower(), key)
