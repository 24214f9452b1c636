"""A desktop as a part of a computer: X, a window manager, applications; input, screenshots, windows.

What talks to X needs python-xlib, which the extra `desktop` brings: it is asked for with the first `Desktop`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tars_jax import InputError
from tars_jax.sandbox.desktop.applications import APPLICATIONS
from tars_jax.sandbox.desktop.config import DesktopConfig, Settle
from tars_jax.sandbox.desktop.screenshot import Screenshot, WindowInfo

if TYPE_CHECKING:
    from tars_jax.sandbox.desktop.desktop import Desktop

__all__ = ["APPLICATIONS", "Desktop", "DesktopConfig", "Screenshot", "Settle", "WindowInfo"]

_OVER_X = {"Desktop": "desktop"}


def __getattr__(name: str) -> Any:
    """Raises InputError where python-xlib is not installed."""
    if name not in _OVER_X:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_OVER_X[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "Xlib":
            raise
        raise InputError(
            "a desktop must have python-xlib, which the extra desktop brings: pip install 'tars_jax[desktop]'"
        ) from error
