"""A Python whose variables live from cell to cell, for computers without Jupyter. Takes Python's own library alone.

    python3 kernel.py        (stdin and stdout are one socket)

Reads {"code": TEXT, "cell": NUMBER} and writes, a JSON object a line: {"ready": PROCESS} once, and for each cell any
number of {"stream": "stdout" or "stderr", "text"}, {"result": TEXT}, {"result_html": HTML}, {"html": HTML that was
displayed}, {"image": PNG in base64}, {"error": TRACEBACK}, before which node_kernel.js says {"error_name": CLASS}, and
at last {"done": true, "cell": NUMBER}. What is long comes in pieces, all but the last with {"more": true}: who reads
takes no line of any length. A line that is none, as a host that was killed leaves it, is left out.
SIGINT interrupts a cell; on Windows, CTRL_BREAK.
"""

import ast
import asyncio
import base64
import codecs
import contextlib
import inspect
import io
import json
import linecache
import os
import secrets
import signal
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from typing import Any

import magics  # type: ignore[import-not-found]  # beside this file inside

FLUSH_S = 0.2
MOST_OUTPUT = 1 << 20  # bytes of a cell's stdout, and of its stderr
PIECE = 16_384  # characters, which are 192 KiB of JSON at most
INTERRUPT: signal.Signals = getattr(signal, "SIGBREAK", signal.SIGINT)


class Channel:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.lines = os.fdopen(os.dup(0), "rb", closefd=True)
        self._out = os.dup(1)

    def say(self, message: dict[str, Any]) -> None:
        with self._lock:
            write(self._out, message)


def write(out: int, message: dict[str, Any]) -> None:
    """Writes a message to a descriptor, whole."""
    for piece in _pieces(message):
        data = memoryview(json.dumps(piece).encode() + b"\n")
        while data:
            data = data[os.write(out, data) :]


def _pieces(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    field = next((name for name, value in message.items() if isinstance(value, str) and len(value) > PIECE), "")
    if not field:
        yield message
        return
    text = message[field]
    for at in range(0, len(text), PIECE):
        yield {**message, field: text[at : at + PIECE], "more": at + PIECE < len(text)}


class Capture(threading.Thread):
    """Capture of a descriptor: what this process and its children write to it."""

    def __init__(self, channel: Channel, descriptor: int, name: str) -> None:
        super().__init__(daemon=True)
        self._channel, self._descriptor, self._stream = channel, descriptor, name
        self._mark = f"\x1e{secrets.token_hex(16)}\x1e".encode()
        self._reached = threading.Event()
        self._read, write = os.pipe()
        os.dup2(write, descriptor)
        os.close(write)
        self._said = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def run(self) -> None:
        held = b""
        while chunk := os.read(self._read, 1 << 16):
            held += chunk
            while self._mark in held:
                before, _, held = held.partition(self._mark)
                self._say(before, last=True)
                self._said = 0
                self._reached.set()
            end = held.rfind(b"\x1e")  # the mark may have begun there
            end = end if end >= 0 and len(held) - end < len(self._mark) else len(held)
            self._say(held[:end])
            held = held[end:]

    def _say(self, data: bytes, *, last: bool = False) -> None:
        """`last`: of a cell. A character that comes in two pieces is said with the second."""
        room = max(MOST_OUTPUT - self._said, 0)
        self._said += len(data)
        full = 0 < room < len(data)
        text = self._decoder.decode(data[:room], final=last or full)
        text += "\n[... further output of this cell is cut ...]\n" if full else ""
        if text:
            self._channel.say({"stream": self._stream, "text": text})

    def settle(self) -> None:
        """Waits until everything that was written has been said."""
        self._reached.clear()
        os.write(self._descriptor, self._mark)
        self._reached.wait(10)


class PlainKernel:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._main = types.ModuleType("__main__")
        sys.modules["__main__"] = self._main
        self._loop: asyncio.AbstractEventLoop | None = None
        self._count = 0
        self._streams: dict[str, Any] = {"stdout": sys.stdout, "stderr": sys.stderr}

    def run(self, code: str) -> None:
        self._count += 1
        name = f"<cell {self._count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        self._restore_streams()
        signal.signal(INTERRUPT, signal.default_int_handler)
        try:
            try:
                value = self._evaluated(code, name)
                if value is not None:
                    self._main.__dict__["_"] = value
                    self._show(value)
                self._figures()
            finally:
                signal.signal(INTERRUPT, signal.SIG_IGN)
        except BaseException as error:  # also SystemExit and KeyboardInterrupt
            frames = error.__traceback__
            while frames is not None and frames.tb_frame.f_code.co_filename != name:
                frames = frames.tb_next
            text = "".join(traceback.format_exception(type(error), error, frames))
            self._channel.say({"error": text})

    def _restore_streams(self) -> None:
        """A cell may have closed them, or put others in their places, which would keep what later ones print."""
        for number, name in ((1, "stdout"), (2, "stderr")):
            with contextlib.suppress(Exception):
                getattr(sys, name).flush()
            if self._streams[name].closed:
                plain = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
                self._streams[name] = io.TextIOWrapper(plain, "utf-8", "backslashreplace")
            setattr(sys, name, self._streams[name])

    def _evaluated(self, code: str, name: str) -> Any:
        tree, last = magics.parsed(code, name), None
        if tree.body and isinstance(end := tree.body[-1], ast.Expr):
            last = ast.Expression(end.value)
            tree.body.pop()
        self._executed(compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
        return self._executed(compile(last, name, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)) if last else None

    def _executed(self, code: types.CodeType) -> Any:
        value = eval(code, self._main.__dict__)
        if code.co_flags & inspect.CO_COROUTINE:
            self._loop = self._loop or asyncio.new_event_loop()
            return self._loop.run_until_complete(value)
        return value

    def _show(self, value: Any) -> None:
        if isinstance(image := _shown(value, "_repr_png_"), bytes):
            self._channel.say({"image": base64.b64encode(image).decode()})
        if isinstance(page := _shown(value, "_repr_html_"), str):
            self._channel.say({"result_html": page[:MOST_OUTPUT]})
        self._channel.say({"result": repr(value)[:MOST_OUTPUT]})

    def _figures(self) -> None:
        if (plots := sys.modules.get("matplotlib.pyplot")) is None:
            return
        for number in plots.get_fignums():
            picture = io.BytesIO()
            plots.figure(number).savefig(picture, format="png", bbox_inches="tight")
            self._channel.say({"image": base64.b64encode(picture.getvalue()).decode()})
        plots.close("all")


def _shown(value: Any, way: str) -> Any:
    """By a method of IPython's, if it has that."""
    if not isinstance(value, type):
        with contextlib.suppress(Exception):
            return getattr(value, way)()
    return None


def keep_flushing() -> None:
    """Flushes what a cell prints while it runs, without a write for each line."""
    while True:
        time.sleep(FLUSH_S)
        with contextlib.suppress(Exception):
            sys.stdout.flush()


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path = ["", *(path for path in sys.path if path and os.path.abspath(path) != here)]
    sys.argv = [""]
    signal.signal(INTERRUPT, signal.SIG_IGN)
    os.environ.setdefault("MPLBACKEND", "agg")
    warnings.filterwarnings("ignore", message=".*non-interactive.*")
    channel = Channel()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    captures = [Capture(channel, 1, "stdout"), Capture(channel, 2, "stderr")]
    for capture in captures:
        capture.start()
    kernel = PlainKernel(channel)
    threading.Thread(target=keep_flushing, daemon=True).start()
    channel.say({"ready": os.getpid()})
    for line in channel.lines:
        try:
            cell = json.loads(line)
        except ValueError:
            continue
        kernel.run(cell["code"])
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        for capture in captures:
            capture.settle()
        channel.say({"done": True, "cell": cell.get("cell")})


if __name__ == "__main__":
    main()
