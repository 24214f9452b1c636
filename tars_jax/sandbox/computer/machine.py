"""Machines on which the parts of a computer run: a container, a machine far away, or this machine itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tars_jax import InputError


class Machine(Protocol):
    """Starts programs, and says where this process sees their files. Paths inside are absolute."""

    @property
    def home(self) -> str:
        """The folder inside that a session's files are in, such as /home/agent."""
        ...

    def host_path(self, path: str) -> Path:
        """The path at which this process sees a file of the inside. For sockets and files of our own alone: an agent
        can change what lies behind a path of the inside, symbolic links for instance."""
        ...

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        output: str | None = None,
    ) -> int:  # fmt: skip
        """Starts a program in a process group of its own; its id inside.

        Args:
          env: variables besides those that every program of the machine has.
          cwd: a folder inside; None: `home`.
          output: a file inside that takes stdout and stderr; None: nobody reads them.

        Raises InputError for a program or a folder that is not there, SandboxFailure when the machine is gone.
        """
        ...

    async def wait(self, process: int, timeout_s: float | None = None) -> int | None:
        """The exit status of a program that `start` started, minus the signal's number if one ended it.

        None after `timeout_s`.
        """
        ...

    async def kill(self, process: int, number: int = signal.SIGKILL) -> None:
        """Sends a signal to the whole process group. One that has ended is nobody's mistake."""
        ...


class ThisMachine:
    """No isolation at all: programs run as this user, on this machine's files."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._processes: dict[int, asyncio.subprocess.Process] = {}

    @property
    def home(self) -> str:
        return str(self._home)

    def host_path(self, path: str) -> Path:
        return Path(path)

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        output: str | None = None,
    ) -> int:  # fmt: skip
        with open(output or os.devnull, "ab") as sink:
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv, env={**os.environ, **(env or {})}, cwd=cwd or self.home, stdin=asyncio.subprocess.DEVNULL,
                    stdout=sink, stderr=sink, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise InputError(f"argv must name a program that can be started; got {argv[0]!r}: {error}") from error
        self._processes[process.pid] = process
        return process.pid

    async def wait(self, process: int, timeout_s: float | None = None) -> int | None:
        try:
            return await asyncio.wait_for(asyncio.shield(self._processes[process].wait()), timeout_s)
        except TimeoutError:
            return None

    async def kill(self, process: int, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, number)

    async def close(self) -> None:
        """Ends what was started here and still runs."""
        for process in list(self._processes):
            await self.kill(process)
            await self.wait(process)
