"""One desktop whose server OSWorld's controllers drive, with the `python` and the PyAutoGUI that they call inside.

Those clients take an address and no headers: the token is the password of their host name, as in
`PythonController(vm_ip="any:TOKEN@127.0.0.1", server_port=5000)`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.types import ASGIApp

from tars_jax import InputError
from tars_jax.sandbox.compat.serving import Gate, Guarded
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.desktop.osworld.app import osworld_app

_INSIDE = "/opt/pyautogui"


def pyautogui_folder() -> Path | None:
    """Where launch/pyautogui.sh has put it, or TARS_JAX_PYAUTOGUI says that it is; None: it is not installed."""
    folder = Path(os.environ.get("TARS_JAX_PYAUTOGUI") or Path(__file__).parents[3] / ".cache" / "pyautogui")
    return folder if (folder / "made-by").is_file() else None


def with_pyautogui(spec: ComputerSpec, folder: Path) -> ComputerSpec:
    """The computer with `python` and PyAutoGUI in it, for all its programs."""
    room = spec.room
    path = room.variables("", "")["PATH"]
    environment = {"PATH": f"{_INSIDE}/bin:{path}", "PYTHONPATH": f"{_INSIDE}/packages"}
    container = dataclasses.replace(
        room, binds={**room.binds, _INSIDE: folder}, environment={**room.environment, **environment}
    )
    return dataclasses.replace(spec, container=container)


def served_desktop(spec: ComputerSpec, gate: Gate, isolation: str = "auto") -> ASGIApp:
    """The application: the computer opens when the server starts and ends with it.

    Raises InputError for a spec without a desktop.
    """
    if "desktop" not in spec.parts:
        raise InputError(f"parts must have desktop; got {', '.join(spec.parts)}")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with Computers(isolation) as computers:
            computer = await EquippedComputer.open(computers, spec)
            assert computer.desktop is not None
            guest = osworld_app(computer.desktop)
            app.mount("/", Guarded(guest, gate))
            try:
                async with guest.router.lifespan_context(guest):
                    yield
            finally:
                await computer.close()

    return Starlette(lifespan=lifespan)
