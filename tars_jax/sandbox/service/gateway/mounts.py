"""Mounts of a session besides its ports: small ASGI applications, each over one session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp
from starlette.websockets import WebSocketDisconnect

from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.computers.session import ComputerSession

ENDED, FAILED = 1000, 1011  # RFC 6455
PAGES = Path(__file__).with_name("pages")
NO_DESKTOP = "this session has no desktop"
KINDS = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json",
    ".wasm": "application/wasm", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
    ".gif": "image/gif", ".ttf": "font/ttf", ".woff": "font/woff", ".woff2": "font/woff2", ".mp3": "audio/mpeg",
    ".tmLanguage": "application/xml", ".md": "text/plain", ".txt": "text/plain",
}  # fmt: skip
# These pages show what programs of the inside have drawn or written: they run their own code and nothing else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; "
    "connect-src 'self'; font-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

# An application for one session; its paths are those behind /s/ID/NAME. It is dropped when the session ends. Raises
# RequestError where the session lacks what it shows.
SessionMount: TypeAlias = Callable[[ComputerSession], ASGIApp]


def page(name: str, folders: Mapping[str, Path] | None = None, *, policy: str = POLICY) -> Response:
    """A file of ours, or one of `folders`: name -> the file that stands for it. Raises HTTPException(404)."""
    file = (folders or {}).get(name) or PAGES / name
    if "/" in name or name.startswith("."):
        raise HTTPException(404)
    return _file(file, policy)


def asset(folder: Path | None, path: str, tops: Collection[str], *, policy: str = POLICY) -> Response:
    """A file below one of the folders (or of the files) `tops` of `folder`. Raises HTTPException(404)."""
    if folder is None or path.partition("/")[0] not in tops:
        raise HTTPException(404)
    file = (folder / path).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise HTTPException(404)
    return _file(file, policy, "private, max-age=3600")  # a pinned version: hundreds of files


def require_assets(folder: Path | None, name: str, option: str = "") -> None:
    """Raises HTTPException(501) with the words of a user who can mend it."""
    if folder is None or not folder.is_dir():
        words = f"{name} must be installed for this page and is not: ./launch/previews.sh{option} fetches it"
        raise HTTPException(501, words)


def _file(file: Path, policy: str, cache: str = "no-cache") -> Response:
    if not file.is_file() or file.suffix not in KINDS:
        raise HTTPException(404)
    headers = {
        "Content-Security-Policy": policy, "Cache-Control": cache, "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
    }  # fmt: skip
    return FileResponse(file, media_type=KINDS[file.suffix], headers=headers)


async def until_first(*works: Coroutine[Any, Any, None]) -> None:
    """Runs all of them until the first ends, cancels the others, and raises what the first has raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()


class StreamsSocket(Protocol):
    async def close(self, code: int, reason: str) -> None: ...


async def stream_both_ways(
    socket: StreamsSocket,
    session: ComputerSession,
    outwards: Coroutine[Any, Any, None],
    inwards: Coroutine[Any, Any, None],
) -> None:
    """Runs both until one of them or the session ends, and closes the connection with the reason."""
    tasks = {asyncio.create_task(outwards), asyncio.create_task(inwards)}
    code, why = ENDED, ""
    try:
        with session.when_over(*(task.cancel for task in tasks)):
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError, asyncio.CancelledError):
                task.result()
    except (GuestError, SandboxFailure, SessionEnded) as error:
        code, why = FAILED, str(error)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await socket.close(code, why[:100])
