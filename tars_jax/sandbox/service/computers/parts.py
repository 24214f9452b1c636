"""The parts of a session: brought up in a new computer, or found again in one that another process has left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.service.computers.desktop_calls import resume_desktop, start_desktop
from tars_jax.sandbox.service.computers.file_calls import FileCalls
from tars_jax.sandbox.service.computers.kernels import Kernels
from tars_jax.sandbox.service.computers.part import Part
from tars_jax.sandbox.service.computers.shells import Shells
from tars_jax.sandbox.service.computers.spec import ComputerSpec


async def bring_up(
    machine: GuestMachine, spec: ComputerSpec, states: Mapping[str, Any] | None = None
) -> dict[str, Part]:
    """The parts that a session is to have, by their names.

    Args:
        states: of the parts as another process has left them; None: all are new.

    Raises InputError where what one needs is not installed, SandboxFailure for one that does not come up or has ended,
    KeyError, TypeError, ValueError for what are no states.
    """
    parts: dict[str, Part] = {}
    env: Mapping[str, str] = {}
    if "desktop" in spec.parts:
        if states is None:
            desktop = await start_desktop(machine, spec.width, spec.height)
        else:
            desktop = await resume_desktop(machine, states["desktop"])
        parts["desktop"], env = desktop, desktop.env
    if "shell" in spec.parts:
        parts["shell"] = Shells(machine, env) if states is None else Shells.resumed(machine, env, states["shell"])
    if "files" in spec.parts:
        parts["files"] = FileCalls(machine)
    if "jupyter" in spec.parts:
        parts["jupyter"] = Kernels(machine, env) if states is None else Kernels.resumed(machine, env, states["jupyter"])
    return parts
