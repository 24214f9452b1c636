"""Shells of a session by their names."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.service.computers.part import NAME, Reader, data_of, seconds
from tars_jax.sandbox.service.computers.programs import environment
from tars_jax.sandbox.shell import Result, Shell
from tars_jax.web.protocol import Fields, RequestError

MOST_SHELLS = 64
MAIN = "main"  # the shell that is there without being opened
SEEN = 4000  # characters of what lists show

Work = Callable[[], Awaitable[Any]]


class Shells:
    """A `Part`. Calls of one shell are carried out in turn; `interrupt`, `type` and `more` while another one waits."""

    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine
        self._shells: dict[str, Shell] = {}
        self._opening = asyncio.Lock()
        self._seen = ""
        self.kept: Callable[[], None] = lambda: None
        self.calls: Mapping[str, Reader] = {
            "open_shell": self._open, "close_shell": self._close, "shells": self._list, "run": self._run,
            "more": self._more, "type": self._type, "interrupt": self._interrupt, "kill": self._kill,
        }  # fmt: skip

    @classmethod
    def resumed(cls, machine: GuestMachine, state: Mapping[str, Any]) -> Shells:
        """Those that another process has left, by `state`. Raises KeyError, TypeError, ValueError for what is none."""
        shells = cls(machine)
        for name, each in state["shells"].items():
            shells._add(name, Shell.resumed(machine, each))
        shells._seen = str(state["seen"])
        return shells

    def state(self) -> Any:
        return {"shells": {name: shell.state() for name, shell in self._shells.items()}, "seen": self._seen}

    async def let_go(self) -> None:
        """They hold none."""

    async def take_up(self) -> None:
        pass

    def _add(self, name: str, shell: Shell) -> None:
        self._shells[name] = shell
        shell.kept = lambda: self.kept()

    def own(self) -> set[int]:
        """Shells, not what runs in them."""
        return {process for shell in self._shells.values() if (process := shell.first_process) is not None}

    def words(self) -> str:
        return "".join([self._seen, *(shell.untold for shell in self._shells.values())])

    async def close(self) -> None:
        shells, self._shells = self._shells, {}
        await asyncio.gather(*(shell.close() for shell in shells.values()))

    async def _shell(self, name: str) -> Shell:
        if name in self._shells:  # which waits for no other's start
            return self._shells[name]
        async with self._opening:
            if name not in self._shells:
                if name != MAIN:
                    known = ", ".join(self._shells) or "none"
                    raise InputError(f"shell must be one that is open (open_shell opens it): {known}; got {name!r}")
                await self._start(name)
            return self._shells[name]

    async def _start(self, name: str, folder: str | None = None, env: Mapping[str, str] | None = None) -> None:
        shell = Shell(self._machine, folder=folder, env=env)
        await shell.open()
        self._add(name, shell)
        self.kept()

    def _open(self, fields: Fields) -> Work:
        """{shell, folder?, env?} -> {shell}: another shell, with a name of the caller's"""
        name, folder, env = _name(fields), fields.optional_text("folder"), environment(fields)

        async def work() -> Any:
            async with self._opening:
                if name in self._shells:
                    raise InputError(f"shell must be a new name; got {name!r}, which is open")
                if len(self._shells) >= MOST_SHELLS:
                    raise InputError(f"shells must be at most {MOST_SHELLS} at once; close one first")
                await self._start(name, folder, env)
            return {"shell": name}

        return work

    def _close(self, fields: Fields) -> Work:
        name = _name(fields)

        async def work() -> Any:
            if (shell := self._shells.pop(name, None)) is not None:
                await shell.close()
                self.kept()
            return {"shell": name, "closed": shell is not None}

        return work

    def _list(self, fields: Fields) -> Work:
        async def work() -> Any:
            return {"shells": [{"shell": name, "running": shell.running} for name, shell in self._shells.items()]}

        return work

    def _run(self, fields: Fields) -> Work:
        """{shell?, command, timeout_s?} -> {output, exit_code, folder, ...}; exit_code null: it runs on"""
        name, command, timeout_s = _name(fields), fields.text("command"), seconds(fields, 120.0)

        async def work() -> Any:
            shell = await self._shell(name)
            self._saw(f"$ {command}")
            return self._told(await shell.run(command, timeout_s))

        return work

    def _more(self, fields: Fields) -> Work:
        name, timeout_s = _name(fields), seconds(fields, 10.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).more(timeout_s))

        return work

    def _type(self, fields: Fields) -> Work:
        """{shell?, text, timeout_s?}: input of the command that runs"""
        name, text, timeout_s = _name(fields), data_of(fields, "text"), seconds(fields, 1.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).send(text, timeout_s))

        return work

    def _interrupt(self, fields: Fields) -> Work:
        name, timeout_s = _name(fields), seconds(fields, 2.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).interrupt(timeout_s))

        return work

    def _kill(self, fields: Fields) -> Work:
        name, timeout_s = _name(fields), seconds(fields, 2.0)

        async def work() -> Any:
            return self._told(await (await self._shell(name)).kill(timeout_s))

        return work

    def _told(self, result: Result) -> Any:
        self._saw(result.output)
        return dataclasses.asdict(result)

    def _saw(self, text: str) -> None:
        if text:
            self._seen = f"{self._seen}{text.rstrip()}\n"[-SEEN:]


def _name(fields: Fields) -> str:
    name = fields.text("shell", MAIN)
    if not 0 < len(name) <= NAME:
        raise RequestError(f"shell must be a name of 1 to {NAME} characters; got {name[:80]!r}", "shell")
    return name
