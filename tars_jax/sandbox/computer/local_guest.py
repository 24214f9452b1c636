"""A guest without any isolation: it and its programs run as this user, on this machine's files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tars_jax.sandbox.computer.guest_client import GuestClient, connect_to
from tars_jax.sandbox.computer.guest_machine import GuestMachine

GUEST = Path(__file__).with_name("guest")


class LocalGuest:
    """Use as an async context manager: `machine` is then ready. Its end is that of all that it started, and comes with
    that of the thread that entered it, however that ends.
    """

    def __init__(self, home: Path, socket: Path, *, python: str = sys.executable, settings: Sequence[str] = ()) -> None:
        """`home`: the folder that programs begin in. `socket`: a path for the guest's, where nothing is.

        `settings` are further arguments of the guest, such as user=1000:1000.
        """
        self.home, self.socket = home, socket
        self._command = [python, "-I", "-S", str(GUEST)]
        self._settings = [f"home={home}", "subreaper=1", f"owner={os.getpid()}", *settings]
        self._token = secrets.token_hex(16)

    async def __aenter__(self) -> Self:
        """Raises SandboxFailure for a guest that does not answer."""
        listener = socket.socket(socket.AF_UNIX)
        with listener:
            listener.bind(str(self.socket))
            os.chmod(self.socket, 0o600)
            listener.listen(64)
            self.process = await asyncio.create_subprocess_exec(
                *self._command, f"fd:{listener.fileno()}", *self._settings, pass_fds=[listener.fileno()],
                env={**_environment(), "TARS_GUEST_TOKEN": self._token}, stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        self.machine = GuestMachine(GuestClient(lambda: connect_to(self.socket), self._token), self)
        try:
            await self.machine.__aenter__()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.machine.__aexit__()
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), 10)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        self.socket.unlink(missing_ok=True)

    def host_path(self, path: str) -> Path:
        return Path(path)


def _environment() -> dict[str, str]:
    """Environment variables that programs need, and none that are the host's own business."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "LD_LIBRARY_PATH") if name in os.environ}
