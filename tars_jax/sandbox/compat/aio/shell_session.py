"""One shell of /v1/shell: its commands, what each has written, and whether it still runs."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import time
from typing import Any

from tars_jax.sandbox.compat.aio.answers import BUSY, Failed
from tars_jax.sandbox.compat.aio.command_session import CommandSession
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell import RESTARTED, Result, Shell, ShellBusy
from tars_jax.sandbox.shell.following import Limits, follow
from tars_jax.sandbox.shell.text import cut

TRUNCATED = 30_000  # characters of an output that a client has not asked for whole
LIMIT = 200_000  # of one that it has
STATUSES = {"killed": "hard_timeout", "quiet": "no_change_timeout"}


@dataclasses.dataclass
class CommandRecord:
    """A command and what came of it."""

    folder: str
    command: str
    output: str = ""
    status: str = "running"
    exit_code: int | None = None
    heard: bool = False  # it has begun

    def take(self, result: Result) -> None:
        self.heard = True
        self.output = cut(self.output + (f"{RESTARTED}\n" if result.restarted else "") + result.output, LIMIT)
        if result.exit_code is not None or result.ended:
            self.status, self.exit_code = "completed", result.exit_code

    def to_json(self) -> dict[str, Any]:
        return {
            "ps1": f"agent@computer:{self.folder} $",
            "command": self.command,
            "output": cut(self.output, TRUNCATED),
        }


class ShellSession(CommandSession[Shell, CommandRecord]):
    def __init__(self, machine: GuestMachine, id: str, folder: str | None, no_change_s: float) -> None:
        super().__init__(id, Shell(machine, limit=LIMIT, folder=folder))
        self.no_change_s = no_change_s
        self._waited = False  # a call waits for the command, and takes its output

    async def change_folder(self, folder: str, strict: bool) -> None:
        if self._waited or self.shell.running:
            await self.look()
        changed = await self.shell.change_folder(folder)
        if changed.exit_code and strict:
            raise Failed(400, f"exec_dir must be a folder; got {folder!r:.200}")

    async def run(
        self, command: str, wait_s: float, no_change_s: float | None = None, hard_s: float | None = None
    ) -> CommandRecord:
        """Runs a command until it ends, is silent too long, or has had its time; `hard_s` kills it."""
        await self.look()
        if self.running or self._waited:
            raise ShellBusy(BUSY)
        record = CommandRecord(self.shell.folder, command)
        limits = Limits(
            wait_s, self.no_change_s if no_change_s is None else no_change_s, math.inf if hard_s is None else hard_s
        )  # fmt: skip
        self._waited = True
        self.commands.append(record)  # it is listed as running from now on
        try:
            followed = await follow(
                self.shell, lambda seconds: self.shell.run(command, seconds), limits, most=LIMIT, heard=record.take
            )  # fmt: skip
            record.status = STATUSES.get(followed.why, record.status)
        except BaseException:
            if not record.heard:
                self.commands.remove(record)
            raise
        finally:
            self._waited = False
        return record

    async def look(self, wait_s: float = 0.0) -> None:
        """Takes what the running command has written, unless another call does."""
        record = self.last
        if record is None or self._waited or not self.shell.running:
            return
        self._waited = True
        try:
            result = await self.shell.more(wait_s)
            record.take(result)
        finally:
            self._waited = False

    async def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        await self.look(seconds)
        while self.running and time.monotonic() < until:  # another call waits, too
            await asyncio.sleep(0.05)

    async def write(self, text: str) -> None:
        result = await self.shell.send(text, 0.1)
        if self.last is not None:
            self.last.take(result)

    async def kill(self) -> CommandRecord | None:
        if self.last is None or not self.shell.running:
            return self.last
        result = await self.shell.kill()
        self.last.take(result)
        if self.last.status != "running":
            self.last.status = "terminated"
        return self.last
