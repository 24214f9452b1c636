"""/v1/util/convert_to_markdown and /v1/browser/page/markdown: what the computer has, converted inside of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, absent, answer, answering
from tars_jax.sandbox.compat.aio.browser_page import Shows
from tars_jax.sandbox.computer.contained_guest import guest_python
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.tools.files import Files
from tars_jax.web.gate import read_fields

PROGRAM = Path(__file__).with_name("to_markdown.py")
MOST_BYTES = 2 << 20
HTML = (".html", ".htm", ".xhtml")
TEXT = (".md", ".txt", ".csv", ".json", ".log", ".rst", ".xml", ".yaml", ".yml")
LIMIT_S = 60.0


@dataclasses.dataclass
class Conversions:
    machine: GuestMachine
    page: Shows | None

    def routes(self) -> list[Route]:
        return [
            Route("/v1/util/convert_to_markdown", answering(self.file), methods=["POST"]),
            Route("/v1/browser/page/markdown", answering(self.shown), methods=["GET"]),
        ]

    async def file(self, request: Request) -> Response:
        """{uri}: file:///PATH, or a path."""
        uri = (await read_fields(request)).text("uri")
        scheme, path = urlsplit(uri).scheme, unquote(urlsplit(uri).path)
        if scheme not in ("", "file"):
            raise absent(f"{scheme}:", "file:///PATH serves, and page/navigate with page/markdown for addresses")
        ending = Path(path).suffix.lower()
        if ending not in (*HTML, *TEXT):
            raise absent(f"converting {ending or 'a file without an ending'}", f"{', '.join((*HTML, *TEXT))} serve")
        data = await Files(self.machine).read(path, limit=MOST_BYTES)
        text = data.decode(errors="replace") if ending in TEXT else await self._converted(data)
        return answer({"uri": uri, "markdown": text, "content": text})

    async def shown(self, request: Request) -> Response:
        if self.page is None:
            raise absent("a browser")
        place = await self.page.evaluate("({ url: location.href, title: document.title })")
        html = await self.page.evaluate("document.documentElement.outerHTML")
        return answer({**place, "markdown": await self._converted(str(html).encode(errors="replace"))})

    async def _converted(self, html: bytes) -> str:
        ran = await self.machine.run(
            [guest_python()[0], "-I", "-X", "utf8", "-c", PROGRAM.read_text()],
            html,
            timeout_s=LIMIT_S,
            limit=MOST_BYTES,
        )
        if ran.status or ran.timed_out:
            raise Failed(422, f"the document could not be converted: {ran.stderr.decode(errors='replace')[-200:]}")
        return ran.stdout.decode(errors="replace")
