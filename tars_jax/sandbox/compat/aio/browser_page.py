"""/v1/browser/page: addresses, elements by selector or number, what a page holds.

Elements are found in the page, and acted on by mouse and keyboard as a person would.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import time
from pathlib import Path
from typing import Any, Protocol

from PIL import Image
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, absent, answer, answering
from tars_jax.sandbox.compat.aio.browser import BUTTONS, KEYS, STEP_MS, Acts
from tars_jax.sandbox.tools.named_sessions import LONGEST_S
from tars_jax.web.gate import read_fields
from tars_jax.web.protocol import RequestFields

PLACE = "({ url: location.href, title: document.title })"
LOADS_MS = 300.0  # of virtual time after an address was opened
SCROLLS_PX = 100.0  # a notch of the wheel
DEFAULT_WAIT_S = 30.0
LOOK_MS = 100.0
FORMATS = {"png": "image/png", "jpeg": "image/jpeg"}
STATES = ("visible", "attached", "hidden", "detached")
WAITS = ("selector", "load", "url", "network_idle", "function", "timeout")
_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


class Shows(Acts, Protocol):
    """A page that has addresses and a document. Raises Failed for what it has not."""

    async def navigate(self, url: str) -> None: ...

    async def evaluate(self, expression: str) -> Any: ...


@dataclasses.dataclass
class BrowserPageRoutes:
    page: Shows | None

    def routes(self) -> list[Route]:
        posts = {
            "navigate": self.navigate, "back": self.back, "forward": self.forward, "reload": self.reload,
            "click": self.click, "hover": self.hover, "fill": self.fill, "type": self.type, "press_key": self.press_key,
            "hot_key": self.hot_key, "check": self.check, "uncheck": self.uncheck, "select_option": self.select_option,
            "fill_form": self.fill_form, "scroll": self.scroll, "scroll_to": self.scroll_to,
            "scroll_to_element": self.scroll_to_element, "evaluate": self.evaluate, "find_text": self.find_text,
            "wait": self.wait,
        }  # fmt: skip
        gets = {
            "screenshot": self.screenshot, "text": self.text, "html": self.html, "elements": self.elements,
        }  # fmt: skip
        return [
            *(Route(f"/v1/browser/page/{path}", answering(work), methods=["POST"]) for path, work in posts.items()),
            *(Route(f"/v1/browser/page/{path}", answering(work), methods=["GET"]) for path, work in gets.items()),
        ]

    # ---- addresses

    async def navigate(self, request: Request) -> Response:
        body = await read_fields(request)
        await self._shown.navigate(body.text("url"))
        return answer(await self._place(LOADS_MS))

    async def back(self, request: Request) -> Response:
        return await self._moved("history.back()")

    async def forward(self, request: Request) -> Response:
        return await self._moved("history.forward()")

    async def reload(self, request: Request) -> Response:
        return await self._moved("location.reload()")

    # ---- mouse and keyboard

    async def click(self, request: Request) -> Response:
        from tars_jax.sandbox.browser import events as e  # Playwright comes with it

        body = await read_fields(request)
        button, count = body.text("button", "left"), body.integer("click_count", 1, 1, 3) or 1
        if button not in BUTTONS:
            raise body.error("button", f"one of {', '.join(BUTTONS)}")
        x, y = await self._point(body)
        presses = [each(x, y, button, n) for n in range(1, count + 1) for each in (e.MouseDown, e.MouseUp)]
        return await self._did([e.MouseMove(x, y), *presses])

    async def hover(self, request: Request) -> Response:
        from tars_jax.sandbox.browser import events as e

        return await self._did([e.MouseMove(*await self._point(await read_fields(request)))])

    async def fill(self, request: Request) -> Response:
        body = await read_fields(request)
        await self._fill(body, body.text("text"))
        return answer()

    async def fill_form(self, request: Request) -> Response:
        body = await read_fields(request)
        for number, field in enumerate(body.array("items", required=True)):
            if not isinstance(field, dict):
                raise body.error("items", "an array of objects")
            one = RequestFields(field, f"items[{number}]")
            await self._fill(one, str(one.value("text") if one.value("text") is not None else one.value("value") or ""))
        return answer()

    async def _fill(self, fields: RequestFields, text: str) -> None:
        """What a field held is marked, and the text takes its place."""
        from tars_jax.sandbox.browser import events as e

        await self._on_element("mark", fields)
        events = [e.InsertText(text)] if text else [e.KeyDown("Delete"), e.KeyUp("Delete")]
        await self._shown.act(events, advance_ms=STEP_MS)

    async def type(self, request: Request) -> Response:
        from tars_jax.sandbox.browser import events as e

        body = await read_fields(request)
        text = body.text("text")
        delay_ms = body.number("delay", 0.0, 0.0, 10_000.0)
        if not delay_ms:
            return await self._did([e.InsertText(text)])
        for letter in text:
            await self._shown.act([e.InsertText(letter)], advance_ms=delay_ms)
        return answer()

    async def press_key(self, request: Request) -> Response:
        body = await read_fields(request)
        return await self._pressed([body.text("key")])

    async def hot_key(self, request: Request) -> Response:
        body = await read_fields(request)
        return await self._pressed([str(key) for key in body.array("keys", required=True)])

    async def _pressed(self, keys: list[str]) -> Response:
        from tars_jax.sandbox.browser import events as e

        named = [KEYS.get(key.lower(), key) for key in keys]
        return await self._did([*(e.KeyDown(key) for key in named), *(e.KeyUp(key) for key in reversed(named))])

    async def check(self, request: Request) -> Response:
        return await self._checked(request, True)

    async def uncheck(self, request: Request) -> Response:
        return await self._checked(request, False)

    async def _checked(self, request: Request, wanted: bool) -> Response:
        await self._on_element("check", await read_fields(request), wanted)
        return await self._did([])

    async def select_option(self, request: Request) -> Response:
        body = await read_fields(request)
        chosen = {name: body.value(name) for name in ("value", "label", "index")}
        given = [(name, each) for name, each in chosen.items() if each is not None]
        if len(given) != 1:
            raise body.error("value", "given, or label or index, and one of them alone")
        await self._on_element("choose", RequestFields({"selector": body.text("selector")}), *given[0])
        return await self._did([])

    async def scroll(self, request: Request) -> Response:
        from tars_jax.sandbox.browser import events as e

        body = await read_fields(request)
        ways = {"down": (0, 1), "up": (0, -1), "right": (1, 0), "left": (-1, 0)}
        way = body.text("direction", "down")
        if way not in ways:
            raise body.error("direction", f"one of {', '.join(ways)}")
        amount = SCROLLS_PX * (body.integer("amount", 3, 1, 1000) or 1)
        width, height = Image.open(io.BytesIO(await self._png())).size
        dx, dy = ways[way]
        return await self._did([e.Wheel(width / 2, height / 2, dx * amount, dy * amount)])

    async def scroll_to(self, request: Request) -> Response:
        body = await read_fields(request)
        x, y = (body.integer(name, 0, 0, 1 << 31) or 0 for name in ("x", "y"))
        await self._shown.evaluate(f"scrollTo({x}, {y}), 0")
        return await self._did([])

    async def scroll_to_element(self, request: Request) -> Response:
        await self._on_element("show", await read_fields(request))
        return await self._did([])

    # ---- what it holds

    async def screenshot(self, request: Request) -> Response:
        kind = request.query_params.get("format") or "png"
        if kind not in FORMATS or request.query_params.get("full_page") == "true":
            raise Failed(400, "format must be png or jpeg, and full_page false: a page shows what is in its view")
        quality = request.query_params.get("quality") or "80"
        if not re.fullmatch("[0-9]{1,2}|100", quality):
            raise Failed(400, f"quality must be a whole number, 0 to 100; got {quality!r:.40}")
        png = await self._png()
        if kind == "png":
            return Response(png, media_type=FORMATS[kind])
        buffer = io.BytesIO()
        with Image.open(io.BytesIO(png)) as image:
            image.convert("RGB").save(buffer, "JPEG", quality=int(quality))
        return Response(buffer.getvalue(), media_type=FORMATS[kind])

    async def text(self, request: Request) -> Response:
        return answer(await self._shown.evaluate("document.body ? document.body.innerText : ''"))

    async def html(self, request: Request) -> Response:
        outer = request.query_params.get("outer") != "false"
        return answer(await self._shown.evaluate(f"document.documentElement.{'outer' if outer else 'inner'}HTML"))

    async def elements(self, request: Request) -> Response:
        return answer(await self._told("describe"))

    async def evaluate(self, request: Request) -> Response:
        body = await read_fields(request)
        return answer(await self._shown.evaluate(body.text("expression")))

    async def find_text(self, request: Request) -> Response:
        body = await read_fields(request)
        return answer(await self._told("find", body.text("keyword")))

    async def wait(self, request: Request) -> Response:
        body = await read_fields(request)
        kind = body.text("type")
        if kind not in WAITS:
            raise absent(f"waiting for {kind[:40]!r}", f"{', '.join(WAITS)} serve")
        limit_s = body.number("timeout", DEFAULT_WAIT_S * 1000, 0, LONGEST_S * 1000) / 1000
        if kind == "timeout":
            await self._shown.act([], advance_ms=min(limit_s, 60.0) * 1000)
            return answer()
        condition = _condition(kind, body)
        end = time.monotonic() + limit_s
        while not await self._shown.evaluate(condition):
            if time.monotonic() > end:
                raise Failed(408, f"{kind} was not so after {limit_s:g} seconds")
            await self._shown.act([], advance_ms=LOOK_MS)
        return answer()

    # ----

    @property
    def _shown(self) -> Shows:
        if self.page is None:
            raise absent("a browser")
        return self.page

    async def _png(self) -> bytes:
        return (await self._shown.act([], advance_ms=0.0)).png

    async def _did(self, events: list[Any]) -> Response:
        await self._shown.act(events, advance_ms=STEP_MS)
        return answer()

    async def _moved(self, way: str) -> Response:
        await self._shown.evaluate(f"setTimeout(() => {way}, 0), 0")
        return answer(await self._place(LOADS_MS))

    async def _place(self, advance_ms: float) -> Any:
        """Where the page is once its time has gone on."""
        await self._shown.act([], advance_ms=advance_ms)
        return await self._shown.evaluate(PLACE)

    async def _told(self, work: str, *values: Any) -> Any:
        return await self._shown.evaluate(_asked(work, *values))

    async def _on_element(self, work: str, fields: RequestFields, *values: Any) -> Any:
        """What comes of it. Raises Failed where there is no such element."""
        selector, index = fields.optional_text("selector"), fields.integer("index", None, 0, 1 << 20)
        if selector is None and index is None:
            raise fields.error("selector", "given, or index")
        found = await self._told("on", work, selector, index, *values)
        if isinstance(found, str):
            raise Failed(404, f"there is {found} {selector if selector is not None else index!r:.200}")
        return found

    async def _point(self, fields: RequestFields) -> tuple[float, float]:
        """The middle of an element, which is scrolled into view; or the coordinates that are given."""
        if fields.value("selector") is None and fields.value("index") is None:
            return fields.number("x", -1.0, 0, 1e5), fields.number("y", -1.0, 0, 1e5)
        x, y = await self._on_element("middle", fields)
        return x, y


def _asked(work: str, *values: Any) -> str:
    return f"{_SCRIPT}.{work}({', '.join(map(json.dumps, values))})"


def _condition(kind: str, body: RequestFields) -> str:
    """An expression that holds once what is waited for is so."""
    match kind:
        case "selector":
            state = body.text("state", "visible")
            if state not in STATES:
                raise body.error("state", f"one of {', '.join(STATES)}")
            return _asked("state", body.text("selector"), state)
        case "url":
            return f"location.href.includes({json.dumps(body.optional_text('url') or body.text('url_pattern'))})"
        case "function":
            return f"Boolean({body.text('expression')})"
        case _:
            return "document.readyState === 'complete'"
