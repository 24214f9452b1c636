"""Shells of a session by their names."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tars_jax.sandbox.computer.guest_client import naming
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.service.computers.part import MAIN, SessionPart, Work, data_of, name_of, seconds
from tars_jax.sandbox.service.computers.programs import environment
from tars_jax.sandbox.shell import Result, Shell
from tars_jax.sandbox.tools.named_sessions import MOST_SESSIONS, NamedSessions
from tars_jax.web.protocol import RequestFields

SEEN = 4000  # characters of what lists show


class ShellCalls(SessionPart):
    """Calls of one shell are carried out in turn; `interrupt`, `type` and `more` while another one waits."""

    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._shells = NamedSessions[Shell]("shell", MOST_SESSIONS)
        self._seen = ""
        self.calls = {
            "open_shell": self._open, "close_shell": self._close, "shells": self._list, "run": self._run,
            "more": self._more, "type": self._type, "interrupt": self._interrupt, "kill": self._kill,
        }  # fmt: skip

    @classmethod
    def restore(cls, machine: GuestMachine, snapshot: Mapping[str, Any]) -> ShellCalls:
        """Raises KeyError, TypeError, ValueError for what is none."""
        shells = cls(machine)
        for name, each in snapshot["shells"].items():
            shells._add(name, Shell.restore(machine, each))
        shells._seen = str(snapshot["seen"])
        return shells

    def snapshot(self) -> Any:
        return {"shells": {name: shell.snapshot() for name, shell in self._shells.named.items()}, "seen": self._seen}

    def _add(self, name: str, shell: Shell) -> None:
        self._shells.add(name, shell).kept = lambda: self.kept()

    def own(self) -> set[int]:
        """Shells, not what runs in them."""
        return {process for shell in self._shells.named.values() if (process := shell.first_process) is not None}

    def words(self) -> str:
        return "".join([self._seen, *(shell.untold for shell in self._shells.named.values())])

    async def close(self) -> None:
        await self._shells.close()

    async def _shell(self, name: str) -> Shell:
        return await self._shells.open(name, self._make()) if name == MAIN else self._shells.known(name)

    def _make(self, folder: str | None = None, env: Mapping[str, str] | None = None) -> Callable[[], Awaitable[Shell]]:
        async def make() -> Shell:
            shell = Shell(self._machine, folder=folder, env=env)
            with naming(cwd="folder"):
                await shell.open()
            shell.kept = lambda: self.kept()
            return shell

        return make

    def _open(self, fields: RequestFields) -> Work:
        """{shell, folder?, env?} -> {shell}: another shell, with a name of the caller's"""
        name, folder, env = name_of(fields, "shell"), fields.optional_text("folder"), environment(fields)

        async def work() -> Any:
            await self._shells.open_new(name, self._make(folder, env))
            self.kept()
            return {"shell": name}

        return work

    def _close(self, fields: RequestFields) -> Work:
        name = name_of(fields, "shell")

        async def work() -> Any:
            if closed := name in self._shells.named:
                await self._shells.close_one(name)
                self.kept()
            return {"shell": name, "closed": closed}

        return work

    def _list(self, fields: RequestFields) -> Work:
        async def work() -> Any:
            return {"shells": [{"shell": name, "running": shell.running} for name, shell in self._shells.named.items()]}

        return work

    def _run(self, fields: RequestFields) -> Work:
        """{shell?, command, timeout_s?} -> {output, exit_code, folder, ...}; exit_code null: it runs on"""
        name, command, timeout_s = name_of(fields, "shell"), fields.text("command"), seconds(fields, 120.0)

        async def work() -> Any:
            shell = await self._shell(name)
            self._saw(f"$ {command}")
            return self._told(await shell.run(command, timeout_s))

        return work

    def _more(self, fields: RequestFields) -> Work:
        name, timeout_s = name_of(fields, "shell"), seconds(fields, 10.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).more(timeout_s))

        return work

    def _type(self, fields: RequestFields) -> Work:
        """{shell?, text, timeout_s?}: input of the command that runs"""
        name, text, timeout_s = name_of(fields, "shell"), data_of(fields, "text"), seconds(fields, 1.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).send(text, timeout_s))

        return work

    def _interrupt(self, fields: RequestFields) -> Work:
        name, timeout_s = name_of(fields, "shell"), seconds(fields, 2.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).interrupt(timeout_s))

        return work

    def _kill(self, fields: RequestFields) -> Work:
        name, timeout_s = name_of(fields, "shell"), seconds(fields, 2.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).kill(timeout_s))

        return work

    def _told(self, result: Result) -> Any:
        self._saw(result.output)
        return dataclasses.asdict(result)

    def _saw(self, text: str) -> None:
        if text:
            self._seen = f"{self._seen}{text.rstrip()}\n"[-SEEN:]
