"""The X server of a desktop inside a machine: Xvfb on a unix socket, closed to whoever lacks the cookie."""

from __future__ import annotations

import asyncio
import secrets
import signal
import struct
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.machine import Machine
from tars_jax.sandbox.desktop.applications import INSTALL
from tars_jax.sandbox.desktop.connection import FAMILY_LOCAL, FAMILY_WILD, GONE, XConnection, authority_entry
from tars_jax.sandbox.desktop.files import Inside
from tars_jax.sandbox.failures import SandboxFailure

START_S, POLL_S = 20.0, 0.004
HELD_S = 0.5  # until one is held that does not hear a stranger
STATE_READS, STATE_PAUSE_S = 10, 0.05
STRANGER = struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0)  # the setup of protocol 11 without a cookie
SOCKETS = "/tmp/.X11-unix"
NOT_FOUND = 127  # a shell's exit status for a program that is not there
# $1 the folder, $2 its authority file as a format of printf, $3 the size. The authority file is written here as the
# folder belongs to who runs inside; an entry names the machine, as python-xlib takes no other.
SCRIPT = r"""
command -v Xvfb >/dev/null || exit 127
umask 077
mkdir -p "$1" && cd "$1" && rm -f display Xvfb_screen0 || exit 1
name=$(uname -n)
printf '\001\000\000'"\\$(printf %03o ${#name})"'%s'"$2" "$name" >authority || exit 1
mkdir -p /tmp/.X11-unix && chmod 1777 /tmp/.X11-unix 2>/dev/null
exec Xvfb -screen 0 "$3" -fbdir . -auth authority -nolisten tcp -noreset -dpi 96 -s 0 -dpms -extension GLX \
    -displayfd 3 3>display
"""


class XServer:
    """An X server, from its start on."""

    def __init__(self, machine: Machine, inside: Inside, folder: str, process: int, number: int, cookie: bytes) -> None:
        self._machine, self._inside, self.process, self._cookie = machine, inside, process, cookie
        self.folder, self.number = folder, number

    @classmethod
    async def start(cls, machine: Machine, inside: Inside, folder: str, size: tuple[int, int]) -> XServer:
        """Raises InputError where Xvfb is not installed, SandboxFailure for a server that does not come up."""
        cookie = secrets.token_bytes(16)
        wild = authority_entry(FAMILY_WILD, b"", cookie)
        rest = authority_entry(FAMILY_LOCAL, b"", cookie)[4:]  # what follows an address
        script = ["sh", "-c", SCRIPT, "sh", folder, _octal(rest + wild), f"{size[0]}x{size[1]}x24"]
        log = f"/tmp/desktop-{secrets.token_hex(6)}.log"
        process = await machine.start(script, output=log)
        end = asyncio.get_running_loop().time() + START_S
        while not (number := inside.text(f"{folder}/display")).endswith("\n"):
            if (status := await machine.wait(process, POLL_S)) is not None:
                if status == NOT_FOUND:
                    raise InputError(f"desktop must have an X server, and Xvfb is not installed; {INSTALL}")
                raise SandboxFailure("desktop", f"the X server ended with status {status}: {inside.text(log)[-500:]}")
            if asyncio.get_running_loop().time() > end:
                await machine.kill(process)
                raise SandboxFailure("desktop", f"the X server was not ready within {START_S:g} s")
        if not number.strip().isdigit():
            raise SandboxFailure("desktop", f"the X server must say its display's number; got {number[:80]!r}")
        return cls(machine, inside, folder, process, int(number), cookie)

    def snapshot(self) -> dict[str, Any]:
        return {
            "folder": self.folder, "process": self.process, "number": self.number, "cookie": self._cookie.hex(),
        }  # fmt: skip

    @classmethod
    def restore(cls, machine: Machine, inside: Inside, snapshot: Mapping[str, Any]) -> XServer:
        """The server that another process has left in the same computer, or a copy of it."""
        cookie = bytes.fromhex(snapshot["cookie"])
        return cls(machine, inside, snapshot["folder"], snapshot["process"], snapshot["number"], cookie)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables by which programs find the display."""
        return {"DISPLAY": f":{self.number}", "XAUTHORITY": f"{self.folder}/authority", "XDG_SESSION_TYPE": "x11"}

    def frame_buffer(self) -> int:
        """A descriptor of the file that holds the screen."""
        try:
            return self._inside.open(f"{self.folder}/Xvfb_screen0")
        except OSError as error:
            raise SandboxFailure("desktop", f"the X server's frame buffer cannot be read: {error}") from error

    def is_stopped(self) -> bool:
        """Whether a signal or a debugger lets it stand still, by the kernel's word."""
        return self._state() in ("T", "t")

    async def is_held(self) -> bool:
        """Whether it sleeps and hears nobody, as while a single client has it (XGrabServer). One that computes is only
        slow, and where it hears a stranger it is us who are late.
        """
        if await asyncio.to_thread(self._hears_a_stranger):
            return False
        for _ in range(STATE_READS):  # one that was just waked waits for a core, and sleeps again
            if self._state() == "S":
                return True
            await asyncio.sleep(STATE_PAUSE_S)
        return False

    def _hears_a_stranger(self) -> bool:
        """Whether it says anything, be it no, to somebody without a cookie. Blocks for HELD_S at most."""
        try:
            with self._inside.connect(f"{SOCKETS}/X{self.number}") as stranger:
                stranger.settimeout(HELD_S)
                stranger.sendall(STRANGER)
                return bool(stranger.recv(1))
        except OSError:
            return False

    def _state(self) -> str:
        """By the kernel's word; empty: it has ended."""
        return self._inside.text(f"/proc/{self.process}/stat").rpartition(") ")[2][:1]

    def connect(self) -> XConnection:
        """A connection of its own. Blocks. Raises SandboxFailure when the server is gone."""
        try:
            return XConnection(self._inside.connect(f"{SOCKETS}/X{self.number}"), self._cookie)
        except GONE as error:
            raise SandboxFailure("desktop", f"no connection to the X server: {error}") from error

    async def close(self) -> None:
        for number in (signal.SIGTERM, signal.SIGCONT):  # one that was stopped hears of it
            await self._machine.kill(self.process, number)
        if await self._machine.wait(self.process, 5) is None:
            await self._machine.kill(self.process)
            await self._machine.wait(self.process, 5)


def _octal(data: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in data)
