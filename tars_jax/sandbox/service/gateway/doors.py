"""Doors of a session besides its ports: small ASGI applications, each over one session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp

from tars_jax.sandbox.service.computers.session import ComputerSession

PAGES = Path(__file__).with_name("pages")
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
# These pages show what programs of the inside have drawn or written: they run their own code and nothing else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; "
    "connect-src 'self'; font-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

# An application for one session; its paths are those behind /s/ID/NAME. It is dropped when the session ends.
Door: TypeAlias = Callable[[ComputerSession], ASGIApp]


def page(name: str, folders: Mapping[str, Path] | None = None) -> Response:
    """A file of ours, or one of `folders`: name -> the file that stands for it. Raises HTTPException(404)."""
    file = (folders or {}).get(name) or PAGES / name
    if "/" in name or name.startswith(".") or not file.is_file() or file.suffix not in KINDS:
        raise HTTPException(404)
    headers = {
        "Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
    }  # fmt: skip
    return FileResponse(file, media_type=KINDS[file.suffix], headers=headers)
