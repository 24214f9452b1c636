"""The parts of a session: brought up in a new computer, or found again in one that another process has left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.service.computers.desktop_calls import restore_desktop, start_desktop
from tars_jax.sandbox.service.computers.file_calls import FileCalls
from tars_jax.sandbox.service.computers.function_calls import FunctionCalls
from tars_jax.sandbox.service.computers.kernels import KernelCalls
from tars_jax.sandbox.service.computers.page_calls import Browsers, PageCalls
from tars_jax.sandbox.service.computers.part import SessionPart
from tars_jax.sandbox.service.computers.phone_calls import start_phone
from tars_jax.sandbox.service.computers.programs import ProgramCalls
from tars_jax.sandbox.service.computers.shells import ShellCalls
from tars_jax.sandbox.service.computers.spec import ComputerRequest
from tars_jax.sandbox.service.computers.tool_calls import start_tools


async def bring_up(
    machine: GuestMachine,
    spec: ComputerRequest,
    snapshots: Mapping[str, Any] | None = None,
    browsers: Browsers | None = None,
) -> dict[str, SessionPart]:
    """The parts that a session is to have, by their names.

    Args:
        snapshots: of the parts as another process has left them; None: all are new.
        browsers: for a page; None: there is none.

    What was begun of them has ended where it raises: InputError where what one needs is not installed, SandboxFailure
    for one that does not come up or has ended, KeyError, TypeError, ValueError for what are no snapshots.
    """
    parts: dict[str, SessionPart] = {}
    try:
        await _bring_up(parts, machine, spec, snapshots, browsers)
    except BaseException:
        for part in parts.values():
            await part.close()
        raise
    return parts


async def _bring_up(
    parts: dict[str, SessionPart], machine: GuestMachine, spec: ComputerRequest, snapshots: Mapping[str, Any] | None,
    browsers: Browsers | None,
) -> None:  # fmt: skip
    if "desktop" in spec.parts:
        if snapshots is None:
            desktop = await start_desktop(machine, spec.width, spec.height, browser="browser" in spec.parts)
        else:
            desktop = await restore_desktop(machine, snapshots["desktop"])
        parts["desktop"] = desktop
        machine.variables = desktop.env  # also of what mounts start: programs of any client show their windows
    if spec.has_page:
        if browsers is None:
            raise InputError(
                "parts must have desktop where they have browser, as there are no pages here; got browser alone"
            )
        parts["browser"] = page = PageCalls(
            machine, browsers, (spec.width, spec.height), None if snapshots is None else snapshots["browser"]
        )
        if snapshots is None:
            await page.open()
    if "phone" in spec.parts:
        size = spec.phone_width, spec.phone_height
        saved = None if snapshots is None else snapshots["phone"]
        parts["phone"] = await start_phone(machine, *size, saved, screen=spec.screen == "phone")
    if "mcp" in spec.parts:  # the first of those that may fail when all else is well
        parts["mcp"] = await start_tools(machine, spec, None if snapshots is None else snapshots["mcp"])
    if "shell" in spec.parts:
        parts["shell"] = ShellCalls(machine) if snapshots is None else ShellCalls.restore(machine, snapshots["shell"])
        parts["programs"] = ProgramCalls(machine, None if snapshots is None else snapshots["programs"])
    if "functions" in spec.parts:
        parts["functions"] = FunctionCalls(machine, None if snapshots is None else snapshots["functions"])
    if "files" in spec.parts:
        parts["files"] = FileCalls(machine)
    if "jupyter" in spec.parts:
        kernels = {} if snapshots is None else snapshots["jupyter"]
        parts["jupyter"] = KernelCalls.restore(machine, kernels)
