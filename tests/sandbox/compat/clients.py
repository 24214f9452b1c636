"""Clients of others, where `launch/interop.sh` has installed them, and servers over a guest without isolation."""

from __future__ import annotations

import contextlib
import importlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.web.gate import Gate
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving

TOKEN = "a-token-for-tests"
GATE = Gate(TOKEN)
Make = Callable[[GuestMachine, Gate], ASGIApp]


def client(module: str) -> Any:
    """A module of a client; the test is skipped where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        pytest.skip(f"{module} needs {error.name}: ./launch/interop.sh installs the clients of others")


def refused(status: int) -> Any:
    """AIO's client raises an error with that status."""
    errors = client("agent_sandbox.core.api_error")
    return pytest.raises(errors.ApiError, check=lambda error: error.status_code == status)


@contextlib.contextmanager
def served(make: Make) -> Iterator[tuple[str, Path]]:
    """The address of the application over a guest, and the guest's home."""
    inner: dict[str, ASGIApp] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()

        @contextlib.asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            async with LocalGuest(folder / "home", folder / "s") as guest:
                inner["app"] = make(guest.machine, GATE)
                yield

        async def later(scope: Scope, receive: Receive, send: Send) -> None:
            await inner["app"](scope, receive, send)

        with serving(Starlette(routes=[Mount("/", later)], lifespan=lifespan), ListenAddress(), plain=True) as address:
            yield address, folder / "home"
