"""One desktop whose server OSWorld's controllers drive, as they call PyAutoGUI inside.

Those clients take an address and no headers: the token is the password of their host name, as in
`PythonController(vm_ip="any:TOKEN@127.0.0.1", server_port=5000)`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.types import ASGIApp

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.desktop.osworld.app import osworld_app
from tars_jax.web.gate import Gate, Guarded


def served_desktop(
    spec: ComputerSpec, gate: Gate, isolation: str = "auto",
    prepare: Callable[[EquippedComputer], Awaitable[None]] | None = None,
) -> ASGIApp:  # fmt: skip
    """The application: the computer opens when the server starts, is prepared, and ends with it.

    Raises InputError for a spec without a desktop.
    """
    if "desktop" not in spec.parts:
        raise InputError(f"parts must have desktop; got {', '.join(spec.parts)}")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with Computers(isolation) as computers:
            computer = await EquippedComputer.open(computers, spec)
            assert computer.desktop is not None
            guest = osworld_app(computer.desktop, computer.computer.machine)
            app.mount("/", Guarded(guest, gate))
            try:
                if prepare is not None:
                    await prepare(computer)
                async with guest.router.lifespan_context(guest):
                    yield
            finally:
                await computer.close()

    return Starlette(lifespan=lifespan)
