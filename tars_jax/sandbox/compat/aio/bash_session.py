"""One bash of AIO's whose commands have stdout and stderr apart: which there were, and how each ended."""

from __future__ import annotations

import asyncio
import dataclasses
import secrets
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.compat.aio.answers import BUSY, Failed, iso
from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.shell import Result, ShellBusy
from tars_jax.sandbox.shell.split_shell import SplitShell, StreamText
from tars_jax.sandbox.tools.named_sessions import LONGEST_S

MOST_COMMANDS = 50  # that a session remembers
SLICE_S = 0.5  # of a wait: other calls look at the shell meanwhile


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
    def __init__(self, machine: GuestMachine, id: str, folder: str | None) -> None:
        self.id, self.folder = id, folder or machine.home
        self.made = time.time()
        self.count = 0
        self.commands: deque[Command] = deque(maxlen=MOST_COMMANDS)
        self._shell = SplitShell(machine, folder=folder)
        self._limit: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self._shell.open()

    async def close(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        await self._shell.close()
        await self._shell.remove_streams()

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
            raise ShellBusy(BUSY)
        if folder is not None:
            self.folder = (await self._shell.change_folder(folder)).folder
            if self.folder.rstrip("/") != folder.rstrip("/"):
                raise Failed(400, f"exec_dir must be a folder; got {folder!r:.200}")
        command = Command(secrets.token_hex(8), text, await self._shell.sizes())
        result = await self._shell.run_split(text, min(wait_s, SLICE_S), env)
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

    async def written(self, begins: tuple[int, int]) -> tuple[StreamText, StreamText]:
        """What was written to stdout and stderr from these bytes on."""
        return await self._shell.written(begins)

    async def _killed_after(self, command: Command, hard_s: float) -> None:
        await asyncio.sleep(hard_s)
        if command is self.last:
            await self.kill("SIGKILL", "timed_out")

    def _take(self, result: Result) -> None:
        self.folder = result.folder
        command = self.running
        if command is not None and (result.ended or result.exit_code is not None):
            command.status, command.exit_code = command.ends_as, result.exit_code
            if self._limit is not None and self._limit is not asyncio.current_task():
                self._limit.cancel()

    def to_json(self) -> dict[str, Any]:
        return {
            "session_id": self.id, "status": "ready", "working_dir": self.folder, "created_at": iso(self.made),
            "current_command": self.running.text if self.running else None,
            "command_count": self.count,
        }  # fmt: skip
