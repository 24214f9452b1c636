"""Serving the policy: as web/running.py does, with an engine's thread beside the event loop."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from starlette.types import ASGIApp

from tars_jax.inference.server.config import ServerConfig
from tars_jax.web import running

# The engine's thread and the event loop take turns at Python's lock. Python's own 5 ms would be paid for each chunk.
SWITCH_SECONDS = 0.0005


def serve(app: ASGIApp, config: ServerConfig, on_start: Callable[[str], None], say: Callable[[str], None]) -> None:
    """As web.running.serve."""
    with _quick_switches():
        running.serve(app, config, on_start, say, certificate=config.certificate)


@contextlib.contextmanager
def serving(app: ASGIApp, config: ServerConfig) -> Iterator[str]:
    """As web.running.serving."""
    with _quick_switches(), running.serving(app, config, certificate=config.certificate) as address:
        yield address


@contextlib.contextmanager
def _quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
