"""One bash of /v1/bash, whose commands have stdout and stderr apart: which there were, and how each ended."""

from __future__ import annotations

import asyncio
import dataclasses
import secrets
import time
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.compat.aio.answers import BUSY, Failed, iso
from tars_jax.sandbox.compat.aio.command_session import CommandSession
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell import Result, ShellBusy
from tars_jax.sandbox.shell.split_shell import SplitShell
from tars_jax.sandbox.tools.named_sessions import LONGEST_S

SLICE_S = 0.5  # of a wait: other calls look at the shell meanwhile


@dataclasses.dataclass
class Command:
    id: str
    text: str
    begins: tuple[int, int]  # bytes of the session's stdout and stderr before it
    status: str = "running"
    ends_as: str = "completed"  # its status then
    exit_code: int | None = None
    notice: str = ""  # what is wrong with its output, until a client has been told

    def take_notice(self) -> str:
        """For the end of its stderr, once."""
        notice, self.notice = self.notice, ""
        return notice

    def to_json(self) -> dict[str, Any]:
        return {"command_id": self.id, "command": self.text, "status": self.status, "exit_code": self.exit_code}


class BashSession(CommandSession[SplitShell, Command]):
    def __init__(self, machine: GuestMachine, id: str, folder: str | None) -> None:
        super().__init__(id, SplitShell(machine, folder=folder))
        self.count = 0
        self._limit: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        await super().close()
        await self.shell.remove_streams()

    async def run(self, text: str, folder: str | None, env: Mapping[str, str], wait_s: float, hard_s: float) -> Command:
        """Begins a command and waits for it at most `wait_s`; after `hard_s` it is killed.

        Raises ShellBusy while another runs, InputError for what bash cannot be given.
        """
        await self.look()
        if self.running:
            raise ShellBusy(BUSY)
        if folder is not None:
            await self.shell.change_folder(folder)
            if self.shell.folder.rstrip("/") != folder.rstrip("/"):
                raise Failed(400, f"exec_dir must be a folder; got {folder!r:.200}")
        command = Command(secrets.token_hex(8), text, await self.shell.sizes())
        result = await self.shell.run_split(text, min(wait_s, SLICE_S), env)
        self.commands.append(command)
        self.count += 1
        await self._take(result)
        if command.status == "running" and hard_s < LONGEST_S:
            self._limit = asyncio.create_task(self._killed_after(command, hard_s))
        await self.wait(wait_s)
        return command

    async def look(self, wait_s: float = 0.0) -> None:
        """Whether the command has ended meanwhile."""
        if self.running:
            await self._take(await self.shell.more(wait_s))

    async def wait(self, wait_s: float) -> None:
        end = time.monotonic() + wait_s
        while self.running and (rest := end - time.monotonic()) > 0:
            await self.look(min(rest, SLICE_S))

    async def write(self, text: str) -> None:
        await self._take(await self.shell.send(text, 0.1))

    async def kill(self, signal: str, status: str = "killed") -> None:
        if (command := self.running) is None:
            return
        command.ends_as = status  # another call may wait for the command, and see its end
        await self._take(await (self.shell.interrupt() if signal == "SIGINT" else self.shell.kill()))
        if command.status == "running" and signal == "SIGINT":
            command.ends_as = "completed"  # it may catch the signal and go on

    async def _killed_after(self, command: Command, hard_s: float) -> None:
        await asyncio.sleep(hard_s)
        if command is self.last:
            await self.kill("SIGKILL", "timed_out")

    async def _take(self, result: Result) -> None:
        command = self.running
        if command is not None and (result.ended or result.exit_code is not None):
            command.status, command.exit_code = command.ends_as, result.exit_code
            if self._limit is not None and self._limit is not asyncio.current_task():
                self._limit.cancel()
            command.notice = await self.shell.notice(command.begins, failed=bool(result.exit_code))

    def to_json(self) -> dict[str, Any]:
        return {
            "session_id": self.id, "status": "ready", "working_dir": self.shell.folder, "created_at": iso(self.made),
            "current_command": self.running.text if self.running else None,
            "command_count": self.count,
        }  # fmt: skip
