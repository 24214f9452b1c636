"""A small site on a computer's loopback: pages, files to download, forms; what it was asked is kept out here.

Its program runs inside and holds the pages in memory alone: nothing of them lies among the files.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeAlias
from urllib.parse import parse_qsl

from PIL import Image, ImageDraw, ImageFont

from tars_jax.sandbox.computer.equipped.interface import ProgramLines
from tars_jax.sandbox.failures import SandboxFailure

PORT = 8000
ADDRESS = f"http://localhost:{PORT}/"
_STARTS_IN_S = 30.0
PROGRAM = Path(__file__).with_name("site_program.py")


@dataclasses.dataclass(frozen=True)
class SitePage:
    data: bytes
    kind: str = "text/html; charset=utf-8"
    saved_as: str = ""  # the name of a file that a browser saves; empty: it shows the page


Site: TypeAlias = Mapping[str, SitePage]  # by path, such as "/prices.html"; "/thanks" answers what is posted


@dataclasses.dataclass(frozen=True)
class SiteRequest:
    method: str
    path: str
    body: bytes = b""
    kind: str = ""  # content type of the body
    by_browser: bool = False  # it says that it is a Chromium, as a page's own navigation does

    def fields(self) -> dict[str, str]:
        """Fields of a form that was posted."""
        return dict(parse_qsl(self.body.decode(errors="replace"), keep_blank_values=True))


def page(title: str, body: str) -> SitePage:
    """HTML in large letters."""
    style = "body { font: 24px sans-serif; margin: 40px } a, input, button { font: inherit; margin: 8px }"
    head = f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{style}</style>"
    return SitePage(f"{head}<h1>{title}</h1>{body}".encode())


def picture(words: str) -> SitePage:
    """Words as a picture, which no search through text finds."""
    image = Image.new("RGB", (600, 160), "white")
    ImageDraw.Draw(image).text((30, 40), words, "black", ImageFont.load_default(64))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return SitePage(buffer.getvalue(), "image/png")


class TellsPrograms(Protocol):
    async def follow(self, program: str, *arguments: str, stdin: bytes = b"") -> ProgramLines:
        """Like `ActsOnComputer.follow`."""
        ...


class RunningSite:
    """The site's program in a computer."""

    def __init__(self, told: ProgramLines) -> None:
        self._told = told

    @classmethod
    async def start(cls, computer: TellsPrograms, site: Site) -> RunningSite:
        """Ready to be asked. Raises SandboxFailure for one that does not come up."""
        pages = {path: [page.kind, page.saved_as, base64.b64encode(page.data).decode()] for path, page in site.items()}
        program = PROGRAM.read_text("utf-8")
        told = await computer.follow(program, str(PORT), stdin=json.dumps(pages).encode() + b"\n")
        try:
            said = await told.lines(timeout_s=_STARTS_IN_S)
            if said[:1] != [b"ready\n"]:
                raise SandboxFailure("guest", f"the local site did not come up; it said {said[:1]!r:.200}")
        except BaseException:
            await told.close()
            raise
        return cls(told)

    async def requests(self) -> tuple[SiteRequest, ...]:
        """The requests that it got, in order. What an agent makes the program say is data: a line that is no request is
        left out. Raises SandboxFailure."""
        found = []
        for line in await self._told.lines(1):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                told = json.loads(line)
                by_browser = "Chrome/" in str(told["agent"]) and str(told["mode"]) == "navigate"
                body = base64.b64decode(told["body"])
                found.append(SiteRequest(str(told["method"]), str(told["path"]), body, str(told["kind"]), by_browser))
        return tuple(found)

    async def close(self) -> None:
        await self._told.close()
