"""One bash of AIO's whose commands have stdout and stderr apart."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import secrets
import shlex
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.compat.aio.answers import Failed, iso
from tars_jax.sandbox.computer.guest_client import GuestError, GuestMachine
from tars_jax.sandbox.shell import Result, Shell, ShellBusy
from tars_jax.sandbox.shell.text import unfinished
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.named_sessions import LONGEST_S

LARGEST_READ = 2 << 20  # bytes of one answer
MOST_COMMANDS = 50  # that a session remembers
SLICE_S = 0.5
CHANGES_IN_S = 5.0
PARTING = b"exit\n"  # what bash says to stderr when it is left


@dataclasses.dataclass
class Command:
    id: str
    text: str
    begins: tuple[int, int]  # bytes of the session's stdout and stderr before it
    status: str = "running"
    ends_as: str = "completed"  # its status then
    exit_code: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {"command_id": self.id, "command": self.text, "status": self.status, "exit_code": self.exit_code}


class BashSession:
    """A shell whose commands write into two files of the computer."""

    def __init__(self, machine: GuestMachine, id: str, folder: str | None) -> None:
        self.id, self.folder = id, folder or machine.home
        self.made = time.time()
        self.count = 0
        self.commands: deque[Command] = deque(maxlen=MOST_COMMANDS)
        self._files, self._shell = Files(machine), Shell(machine, folder=folder)
        self._kept = f"/tmp/.bash-{secrets.token_hex(8)}"  # and .out, .err
        self._limit: asyncio.Task[None] | None = None
        self._left = False  # whether the last command ended the shell by exit

    async def open(self) -> None:
        for ending in ("out", "err"):
            await self._files.write(f"{self._kept}.{ending}", b"")
        await self._shell.open()

    async def close(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        await self._shell.close()
        for ending in ("out", "err"):
            with contextlib.suppress(GuestError):
                await self._files.remove(f"{self._kept}.{ending}")

    @property
    def last(self) -> Command | None:
        return self.commands[-1] if self.commands else None

    @property
    def running(self) -> Command | None:
        return self.last if self.last is not None and self.last.status == "running" else None

    async def is_busy(self) -> bool:
        await self.look()
        return self.running is not None

    async def run(self, text: str, folder: str | None, env: Mapping[str, str], wait_s: float, hard_s: float) -> Command:
        """Begins a command and waits for it at most `wait_s`; after `hard_s` it is killed.

        Raises ShellBusy while another runs, InputError for what bash cannot be given.
        """
        await self.look()
        if self.running:
            raise ShellBusy("a command is still running in this session: wait for it, write to it or kill it")
        if folder is not None:
            self.folder = (await self._shell.run(f"cd -- {shlex.quote(folder)}", CHANGES_IN_S)).folder
            if self.folder.rstrip("/") != folder.rstrip("/"):
                raise Failed(400, f"exec_dir must be a folder; got {folder!r:.200}")
        command = Command(secrets.token_hex(8), text, await self.sizes())
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in env.items())
        typed = f"{variables}eval {shlex.quote(text)} >>{self._kept}.out 2>>{self._kept}.err"
        result = await self._shell.run(typed, min(wait_s, SLICE_S))
        self.commands.append(command)
        self.count += 1
        self._take(result)
        if command.status == "running" and hard_s < LONGEST_S:
            self._limit = asyncio.create_task(self._killed_after(command, hard_s))
        await self.wait(wait_s)
        return command

    async def look(self, wait_s: float = 0.0) -> None:
        """Whether the command has ended meanwhile."""
        if self.running:
            self._take(await self._shell.more(wait_s))

    async def wait(self, wait_s: float) -> None:
        end = time.monotonic() + wait_s
        while self.running and (rest := end - time.monotonic()) > 0:
            await self.look(min(rest, SLICE_S))

    async def write(self, text: str) -> None:
        self._take(await self._shell.send(text, 0.1))

    async def kill(self, signal: str, status: str = "killed") -> None:
        if (command := self.running) is None:
            return
        command.ends_as = status  # another call may wait for the command, and see its end
        self._take(await (self._shell.interrupt() if signal == "SIGINT" else self._shell.kill()))
        if command.status == "running" and signal == "SIGINT":
            command.ends_as = "completed"  # it may catch the signal and go on

    async def sizes(self) -> tuple[int, int]:
        """Bytes of all that the session's commands have written to stdout and to stderr."""
        out, err = [(await self._files.stat(f"{self._kept}.{ending}")).size for ending in ("out", "err")]
        return out, err

    async def written(self, begins: tuple[int, int]) -> tuple[tuple[str, int], tuple[str, int]]:
        """What was written to stdout and stderr from these bytes on, and the bytes to go on from."""
        found = []
        for ending, begin in zip(("out", "err"), begins, strict=True):
            data = await self._files.read(f"{self._kept}.{ending}", begin, LARGEST_READ)
            if self.running or len(data) == LARGEST_READ:
                data = data[: len(data) - unfinished(data, commands=False)]  # the rest of a character comes with more
            told = data.removesuffix(PARTING) if ending == "err" and self._left else data
            found.append((told.decode(errors="replace"), begin + len(data)))
        return found[0], found[1]

    async def _killed_after(self, command: Command, hard_s: float) -> None:
        await asyncio.sleep(hard_s)
        if command is self.last:
            await self.kill("SIGKILL", "timed_out")

    def _take(self, result: Result) -> None:
        self.folder = result.folder
        command = self.running
        if command is not None and (result.ended or result.exit_code is not None):
            command.status, command.exit_code = command.ends_as, result.exit_code
            self._left = result.ended and (result.exit_code or 0) >= 0
            if self._limit is not None and self._limit is not asyncio.current_task():
                self._limit.cancel()

    def to_json(self) -> dict[str, Any]:
        return {
            "session_id": self.id, "status": "ready", "working_dir": self.folder, "created_at": iso(self.made),
            "current_command": self.running.text if self.running else None,
            "command_count": self.count,
        }  # fmt: skip
