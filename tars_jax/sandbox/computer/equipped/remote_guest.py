"""A computer far away, whose guest listens at a TCP port: one with Windows, as launch/windows_guest.md says.

async with RemoteGuest("10.0.0.7", 7321, token) as computer:
    await computer.machine.run(["cmd", "/c", "dir"])
    async with computer.shell() as shell, await computer.kernel() as kernel:
        print((await shell.run("cd C:\\Users; $where = pwd")).folder, (await kernel.run("1 + 1")).result)
    picture = await computer.act([MouseMove(40, 40), MouseDown(40, 40), MouseUp(40, 40)])
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from tars_jax import InputError
from tars_jax.sandbox.browser.events import (
    InputEvent,
    InsertText,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
    is_key,
)
from tars_jax.sandbox.computer.guest_client import GuestClient
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.desktop import Screenshot, Settle
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell.line_shell import LineShell
from tars_jax.sandbox.tools.kernels import Kernel

GUEST = Path(__file__).parents[1] / "guest"
BAND_BYTES = 4 << 20  # of the screen in one answer
POLL_S = 0.03  # between two looks at a screen that may still change
_CONNECT_S = 10.0


class RemoteGuest:
    """Use as an async context manager; its end leaves the guest running. Nothing there is isolated."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._address = host, port
        self.client = GuestClient(self._connect, token)
        self.machine = GuestMachine(self.client, self)

    async def __aenter__(self) -> Self:
        """Raises SandboxFailure where no guest answers, GuestError for a token that is not its own."""
        await self.machine.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.machine.__aexit__()

    def host_path(self, path: str) -> Path:
        raise InputError(f"a path of a computer far away must be read by its guest; got {path!r}")

    async def kernel(self, **settings: Any) -> Kernel:
        """A Python of that machine whose variables live from cell to cell; `settings` of the Kernel. Use as an async
        context manager. The guest is a single file, so the kernel's program is put beside its home first.
        """
        folder = f"{self.machine.home}/.tars_jax"
        await self.client.call("make_folder", path=folder)
        for program in ("kernel.py", "magics.py", "jupyter_kernel.py", "quiet_ipykernel.py"):
            await self.client.call("write", (GUEST / program).read_bytes(), path=f"{folder}/{program}")
        return Kernel(self.machine, **{"python": self.machine.python, "kind": "python", **settings, "programs": folder})

    def shell(self, kind: str = "powershell", **settings: Any) -> LineShell:
        """A shell whose commands keep what those before have left. Use as an async context manager."""
        return LineShell(self.machine, kind, **settings)

    async def screenshot(self) -> Screenshot:
        """Its screen as it is now. Raises GuestError where it has none."""
        first, pixels = await self.client.call("screen", top=0, rows=1)
        width, height = int(first["width"]), int(first["height"])
        if not (0 < width <= 16384 and 0 < height <= 16384 and len(pixels) == 4 * width):
            raise SandboxFailure("screen", f"the guest must send rows of its screen; got {first}")
        rows, bands = max(1, BAND_BYTES // (4 * width)), []
        for top in range(0, height, rows):
            count = min(rows, height - top)
            _, band = await self.client.call("screen", top=top, rows=count)
            if len(band) != 4 * width * count:
                raise SandboxFailure("screen", f"the guest must send {count} rows of its screen; got {len(band)} bytes")
            bands.append(np.frombuffer(band, np.uint8).reshape(count, width, 4))
        return Screenshot(np.concatenate(bands))

    async def act(self, events: Sequence[InputEvent], *, settle: Settle | None = None) -> Screenshot:
        """Does what a hand does, waits until the screen has settled, and looks."""
        settle = settle or Settle(quiet_ms=100)
        sent = [_to_json(event) for event in events]
        last = await self.screenshot()
        await self.client.call("input", events=sent)
        clock = asyncio.get_running_loop().time
        start = changed = clock()
        wait = settle.first_ms / 1000
        while clock() < start + settle.bound_ms / 1000:
            shown = await self.screenshot()
            if not np.array_equal(shown.pixels, last.pixels):
                changed, wait = clock(), settle.quiet_ms / 1000
            last = shown
            if clock() - changed >= wait:
                break
            await asyncio.sleep(POLL_S)
        return last

    async def _connect(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(*self._address, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        peer = socket.socket(family, kind, protocol)
        try:
            peer.setblocking(False)
            await asyncio.wait_for(loop.sock_connect(peer, address), _CONNECT_S)
        except BaseException:
            peer.close()
            raise
        return peer


def _to_json(event: InputEvent) -> dict[str, Any]:
    """Raises InputError for a key that there is not."""
    match event:
        case MouseMove(x, y):
            return {"type": "move", "x": x, "y": y}
        case MouseDown(x, y, button):
            return {"type": "down", "x": x, "y": y, "button": button}
        case MouseUp(x, y, button):
            return {"type": "up", "x": x, "y": y, "button": button}
        case Wheel(x, y, dx, dy):
            return {"type": "wheel", "x": x, "y": y, "dx": dx, "dy": dy}
        case KeyDown(key) | KeyUp(key):
            if not is_key(key):
                raise InputError(f"key must be one of a keyboard; got {key[:40]!r}")
            return {"type": "key_down" if isinstance(event, KeyDown) else "key_up", "key": key}
        case InsertText(text):
            return {"type": "text", "text": text}
