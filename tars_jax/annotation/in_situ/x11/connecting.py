"""Connections with the X server that the person sits at. Each belongs to one thread."""

from __future__ import annotations

from typing import Any

from tars_jax import InputError
from tars_jax.annotation.in_situ.sources import require_library


def connect(name: str) -> Any:
    """A display of python-xlib; `name` as in DISPLAY, "" for that. Raises InputError where there is none."""
    require_library("Xlib", "X screens")
    from Xlib import display, error

    try:
        return display.Display(name or None)
    except (error.DisplayError, OSError, ValueError) as failed:
        raise InputError(f"config.display must be an X display that can be reached; got {name!r}: {failed}") from failed


def gone() -> tuple[type[BaseException], ...]:
    """Errors that calls raise once the server is gone."""
    import struct

    from Xlib import error

    return error.ConnectionClosedError, error.DisplayConnectionError, OSError, struct.error
