"""A shell whose commands have stdout and stderr apart. Each is kept whole in a file inside, and read from a byte on."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import shlex
from collections.abc import Mapping

from tars_jax.sandbox.computer.guest_client import GuestError, GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell.shell import Result, Shell
from tars_jax.sandbox.shell.text import unfinished

LARGEST_READ = 2 << 20  # bytes of one stream
PARTING = b"exit\n"  # what bash says to stderr when it is left


@dataclasses.dataclass(frozen=True)
class StreamText:
    """What was written to a stream from a byte on."""

    text: str
    end: int  # the byte to go on from


class SplitShell(Shell):
    """Its results hold what was written to the terminal alone."""

    def __init__(self, machine: GuestMachine, *, folder: str | None = None) -> None:
        super().__init__(machine, folder=folder)
        name = f"/tmp/.bash-{secrets.token_hex(8)}"
        self._paths = f"{name}.out", f"{name}.err"
        self._left = False  # whether the last command ended the shell by exit

    async def open(self) -> None:
        """Also after it has ended: what was written stays."""
        for path in self._paths:
            try:
                await self._machine.client.call("write", path=path, new=True)
            except GuestError as error:
                if error.code != "EEXIST":
                    raise
        await super().open()

    async def remove_streams(self) -> None:
        """Removes what was written."""
        for path in self._paths:
            with contextlib.suppress(GuestError, SandboxFailure):
                await self._machine.client.call("remove", path=path)

    async def run_split(self, command: str, timeout_s: float, env: Mapping[str, str]) -> Result:
        """As `run`, with stdout and stderr apart. `env`: variables of this command alone."""
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in env.items())
        out, err = self._paths
        return await self.run(f"{variables}eval {shlex.quote(command)} >>{out} 2>>{err}", timeout_s)

    async def _result(self, timeout_s: float, restarted: bool = False) -> Result:
        result = await super()._result(timeout_s, restarted)
        if result.ended or result.exit_code is not None:
            self._left = result.ended and (result.exit_code or 0) >= 0
        return result

    async def sizes(self) -> tuple[int, int]:
        """Bytes of all that commands have written to stdout and to stderr."""
        out, err = [(await self._machine.client.call("stat", path=path))[0]["size"] for path in self._paths]
        return out, err

    async def written(self, begins: tuple[int, int]) -> tuple[StreamText, StreamText]:
        """Of stdout and stderr, from these bytes on, at most LARGEST_READ of each."""
        out, err = [await self._written(path, begin) for path, begin in zip(self._paths, begins, strict=True)]
        return out, err

    async def _written(self, path: str, begin: int) -> StreamText:
        _, data = await self._machine.client.call("read", path=path, offset=begin, limit=LARGEST_READ)
        if self.running or len(data) == LARGEST_READ:  # the rest of a character that was begun comes with what follows
            data = data[: len(data) - unfinished(data, commands=False)]
        told = data.removesuffix(PARTING) if self._left and path == self._paths[1] else data
        return StreamText(told.decode(errors="replace"), begin + len(data))
