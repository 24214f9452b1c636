"""A small site on a computer's loopback: pages, files to download, forms; what it was asked is kept out here.

Its program runs inside and holds the pages in memory alone: nothing of them lies among the files.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl

from PIL import Image, ImageDraw, ImageFont

from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure

PORT = 8000
ADDRESS = f"http://localhost:{PORT}/"
_STARTS_IN_S = 30.0
_LONGEST_LINE = 8 << 20  # bytes of one request, as the program tells it
_MOST_REQUESTS = 2000
PROGRAM = Path(__file__).with_name("site_program.py")


@dataclasses.dataclass(frozen=True)
class Page:
    data: bytes
    kind: str = "text/html; charset=utf-8"
    saved_as: str = ""  # the name of a file that a browser saves; empty: it shows the page


Site: TypeAlias = Mapping[str, Page]  # by path, such as "/prices.html"; "/thanks" answers what is posted


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: bytes = b""
    kind: str = ""  # content type of the body
    by_browser: bool = False  # it says that it is a Chromium, as a page's own navigation does

    def fields(self) -> dict[str, str]:
        """Of a form that was posted."""
        return dict(parse_qsl(self.body.decode(errors="replace"), keep_blank_values=True))


def page(title: str, body: str) -> Page:
    """HTML in large letters."""
    style = "body { font: 24px sans-serif; margin: 40px } a, input, button { font: inherit; margin: 8px }"
    head = f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{style}</style>"
    return Page(f"{head}<h1>{title}</h1>{body}".encode())


def picture(words: str) -> Page:
    """Words as a picture, which no search through text finds."""
    image = Image.new("RGB", (600, 160), "white")
    ImageDraw.Draw(image).text((30, 40), words, "black", ImageFont.load_default(64))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Page(buffer.getvalue(), "image/png")


class RunningSite:
    """The site's program in a machine."""

    def __init__(self, process: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.process, self._writer = process, writer
        self.requests: list[Request] = []
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def start(cls, machine: GuestMachine, site: Site) -> RunningSite:
        """Ready to be asked. Raises SandboxFailure for one that does not come up."""
        code = PROGRAM.read_text("utf-8")
        process, (reader, writer) = await machine.pipe(
            [machine.python, "-I", "-S", "-c", code, str(PORT)], longest_line=_LONGEST_LINE
        )
        pages = {path: [page.kind, page.saved_as, base64.b64encode(page.data).decode()] for path, page in site.items()}
        writer.write(json.dumps(pages).encode() + b"\n")
        try:
            async with asyncio.timeout(_STARTS_IN_S):
                await writer.drain()
                line = await reader.readline()
        except (OSError, TimeoutError) as error:
            raise SandboxFailure("guest", f"the local site did not come up: {error}") from error
        if line != b"ready\n":
            raise SandboxFailure("guest", f"the local site did not come up; it said {line[:200]!r}")
        return cls(process, reader, writer)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """What an agent makes the program say is data: a line that is no request is left out."""
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    told = json.loads(line)
                    body = base64.b64decode(told["body"])
                    if len(self.requests) < _MOST_REQUESTS:
                        self.requests.append(
                            Request(
                                str(told["method"]), str(told["path"]), body, str(told["kind"]),
                                "Chrome/" in str(told["agent"]) and str(told["mode"]) == "navigate",
                            )
                        )  # fmt: skip

    async def close(self) -> None:
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading
        self._writer.close()
