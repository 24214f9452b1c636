"""The desktop of a session: events in, pictures out; its windows and its applications."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.desktop import DesktopConfig, Settle
from tars_jax.sandbox.desktop.applications import INSTALL
from tars_jax.sandbox.service.computers.part import SessionPart, Work, read_act
from tars_jax.web.protocol import RequestFields

if TYPE_CHECKING:
    from tars_jax.sandbox.desktop import Desktop

LONGEST_WAIT_MS = 60_000.0


async def start_desktop(machine: GuestMachine, width: int, height: int, *, browser: bool = False) -> DesktopCalls:
    """`browser`: a Chromium must be among its applications.

    Raises InputError where what a desktop needs is not installed, SandboxFailure for one that does not come up.
    """
    from tars_jax.sandbox.desktop import Desktop  # over X, whose library is an extra

    folder = f"/tmp/.desktop-{secrets.token_hex(4)}"  # a home holds what the agent puts there
    desktop = await Desktop.start(machine, DesktopConfig(width, height), folder=folder)
    if browser and "browser" not in desktop.applications:
        await desktop.close()
        raise InputError(f"browser must be a Chromium, and none is installed; {INSTALL} with --browser")
    return DesktopCalls(desktop)


async def restore_desktop(machine: GuestMachine, snapshot: Mapping[str, Any]) -> DesktopCalls:
    """The one that another process has left, by `snapshot`. Raises SandboxFailure where it has ended."""
    from tars_jax.sandbox.desktop import Desktop

    return DesktopCalls(await Desktop.restore(machine, snapshot))


class DesktopCalls(SessionPart):
    """Calls of a desktop."""

    def __init__(self, desktop: Desktop) -> None:
        self.desktop = desktop
        self.env = dict(desktop.env)
        self.calls = {
            "act": self._act, "screenshot": self._screenshot, "windows": self._windows, "launch": self._launch,
        }  # fmt: skip

    @property
    def sessions(self) -> frozenset[int]:
        """Sessions of processes: what the desktop has started, and what was started from its menus."""
        return frozenset(self.desktop.processes)

    def own(self) -> set[int]:
        return set(self.desktop.processes)

    def snapshot(self) -> Any:
        return self.desktop.snapshot()

    async def detach(self) -> None:
        await self.desktop.detach()

    async def attach(self) -> None:
        await self.desktop.attach()

    async def close(self) -> None:
        await self.desktop.close()

    async def picture(self) -> bytes:
        shown = await self.desktop.screenshot()
        return await asyncio.to_thread(lambda: shown.png)

    def _act(self, fields: RequestFields) -> Work:
        """{events, advance_ms?, settle?} -> {png, data: null}: as a page's call; time is real, and goes on by itself

        `settle`: {first_ms?, quiet_ms?, bound_ms?}, how long the effect is waited for.
        """
        events, wait_ms = read_act(fields, LONGEST_WAIT_MS, "a desktop evaluates nothing")
        settle = _settle(fields)

        async def work() -> Any:
            shown = await self.desktop.act(events, settle=settle)
            if wait_ms:
                await asyncio.sleep(wait_ms / 1000)
                shown = await self.desktop.screenshot()
            return await _picture(shown)

        return work

    def _screenshot(self, fields: RequestFields) -> Work:
        """{settle?} -> {png, data: null}"""
        settle = _settle(fields)

        async def work() -> Any:
            return await _picture(await self.desktop.screenshot(settle=settle))

        return work

    def _windows(self, fields: RequestFields) -> Work:
        async def work() -> Any:
            return {"windows": [dataclasses.asdict(window) for window in await self.desktop.windows()]}

        return work

    def _launch(self, fields: RequestFields) -> Work:
        """{application, arguments?}: by its name in the menu (terminal, editor, ...), once it shows a window"""
        application, arguments = fields.text("application"), fields.array("arguments")
        if not all(isinstance(each, str) for each in arguments):
            raise fields.error("arguments", "an array of texts")

        async def work() -> Any:
            process = await self.desktop.launch(application, *arguments)
            self.kept()
            return {"process": process}

        return work


def _settle(fields: RequestFields) -> Settle | None:
    """Reads how long to wait for a still screen. Raises RequestError, InputError."""
    if (value := fields.value("settle")) is None:
        return None
    given, usual = RequestFields(value, "settle"), Settle()
    times = {
        field.name: given.number(field.name, getattr(usual, field.name), 0.0, LONGEST_WAIT_MS)
        for field in dataclasses.fields(Settle)
    }
    given.done()
    return Settle(**times)


async def _picture(shown: Any) -> dict[str, Any]:
    png = await asyncio.to_thread(lambda: shown.png)
    return {"png": base64.b64encode(png).decode(), "data": None}
