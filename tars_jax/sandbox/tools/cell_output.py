"""What a cell wrote, showed and came to, gathered from the lines of its kernel (guest/kernel.py)."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.computer.guest.kept import Ends
from tars_jax.sandbox.shell.text import shown

MOST_TEXT = 256 << 10  # bytes that are kept of what a cell writes until it is cut, where `limit` is not more
MOST_SHOWN = 20  # images, and pages of HTML
LARGEST_IMAGE = 12 << 20  # bytes, in base64


@dataclasses.dataclass(frozen=True)
class CellResult:
    output: str = ""  # stdout and stderr as they came
    stdout: str = ""
    stderr: str = ""
    result: str = ""  # of the last expression
    result_html: str = ""
    error: str = ""  # traceback
    error_name: str = ""  # its class, where the kernel tells it apart
    images: tuple[bytes, ...] = ()  # PNG
    html: tuple[str, ...] = ()  # of what was displayed besides
    timed_out: bool = False  # it was interrupted
    restarted: bool = False  # the kernel has ended: the next cell has a new one, without its variables


class CellOutput:
    """What a cell says while it runs, as far as it is kept."""

    def __init__(self, limit: int, clean: bool) -> None:
        self._limit, self._clean = limit, clean
        most = max(MOST_TEXT, limit)
        self._texts = {name: Ends(most) for name in ("output", "stdout", "stderr", "result", "error")}
        self._error_name = ""
        self._page = _Pieces(MOST_TEXT)
        self._pages, self._images = _Pieces(MOST_TEXT), _Pieces(LARGEST_IMAGE)

    def add(self, message: Mapping[str, Any]) -> None:
        more = bool(message.get("more"))
        in_pieces = {"image": self._images, "html": self._pages, "result_html": self._page}
        for field, value in message.items():
            if not isinstance(value, str):
                continue
            if field == "error_name":
                self._error_name = value
            elif field in ("result", "error"):
                self._texts[field].add(value.encode(errors="replace"))
            elif field == "text":
                for name in ("output", "stderr" if message.get("stream") == "stderr" else "stdout"):
                    self._texts[name].add(value.encode(errors="replace"))
            elif field in in_pieces:
                in_pieces[field].add(value, more)

    def result(self, *, timed_out: bool, restarted: bool) -> CellResult:
        images: list[bytes] = []
        for image in self._images.whole:
            with contextlib.suppress(ValueError):
                images.append(base64.b64decode(image))
        texts = {name: shown(*text.halves(), self._limit, clean=self._clean) for name, text in self._texts.items()}
        return CellResult(
            **texts, error_name=self._error_name, images=tuple(images), html=tuple(self._pages.whole),
            result_html="".join(self._page.whole[:1]), timed_out=timed_out, restarted=restarted,
        )  # fmt: skip


class _Pieces:
    """Texts that come in pieces. One that is longer than `limit` is left out, and all behind the first few."""

    def __init__(self, limit: int) -> None:
        self._limit, self.whole = limit, list[str]()
        self._begun, self._size = list[str](), 0

    def add(self, piece: str, more: bool) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._begun.append(piece)
        if not more:
            if self._size <= self._limit and len(self.whole) < MOST_SHOWN:
                self.whole.append("".join(self._begun))
            self._begun, self._size = [], 0
