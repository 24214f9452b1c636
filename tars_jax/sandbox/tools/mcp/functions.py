"""Tools of MCP servers as functions of an action space: names that differ, schemas as they are."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import mcp_types as types

from tars_jax.environment import Function
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.tools.forms import ToolResult
from tars_jax.sandbox.tools.mcp.foreign import ForeignServer
from tars_jax.sandbox.tools.mcp.schemas import writable
from tars_jax.sandbox.tools.mcp.spec import ServerSpec
from tars_jax.sandbox.tools.names import folded, free_name

LONGEST_DESCRIPTION = 4000

log = logging.getLogger(__name__)


class ForeignTools:
    """The tools of several servers. Use as an async context manager, which starts them all at once.

    A function keeps its tool's name where that is free, and has the server's before it where it is not; so do
    parameters where they can be written. A tool that can be no function is left out, with a word. Functions stay as
    they were at the start, whatever a server says later: an episode has one action space.
    """

    def __init__(self, machine: GuestMachine, specs: Sequence[ServerSpec], taken: Iterable[str] = ()) -> None:
        """`taken`: names of functions and GUI actions that are there already."""
        self.servers = tuple(ForeignServer(machine, spec) for spec in specs)
        self._taken = tuple(taken)
        self._calls: dict[str, tuple[ForeignServer, str, dict[str, str]]] = {}
        self.functions: tuple[Function, ...] = ()
        self.left_out: tuple[str, ...] = ()  # why, of each tool

    async def __aenter__(self) -> Self:
        """Raises InputError for a server whose spec or tools cannot be, SandboxFailure for one that does not start."""
        starting = [asyncio.create_task(server.start()) for server in self.servers]
        try:
            for task in starting:
                await task
            self.functions = self._functions()
        except BaseException:
            for task in starting:
                task.cancel()
            await asyncio.gather(*starting, return_exceptions=True)
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(server.close() for server in self.servers))

    def snapshot(self) -> list[Any]:
        """Snapshot with which `restore` starts the servers again, as JSON."""
        return [server.snapshot() for server in self.servers]

    @classmethod
    def restore(
        cls, machine: GuestMachine, specs: Sequence[ServerSpec], snapshot: Sequence[Any], taken: Iterable[str] = ()
    ) -> Self:
        """The servers as another process has left them in the same computer, or a copy of it; begun already.

        Raises KeyError, TypeError, ValueError for what is no snapshot.
        """
        tools = cls(machine, (), taken)
        tools.servers = tuple(
            ForeignServer.restore(machine, spec, each) for spec, each in zip(specs, snapshot, strict=True)
        )
        tools.functions = tools._functions()
        return tools

    def restored(self, machine: GuestMachine, snapshot: Sequence[Any]) -> Self:
        """The same functions in a copy of the computer that has its programs, as a snapshot of these says."""
        return self.restore(machine, [server.spec for server in self.servers], snapshot, self._taken)

    async def detach(self) -> None:
        """Before the computer is copied or suspended. Raises InputError while a call is under way."""
        for server in self.servers:
            await server.detach()

    def __contains__(self, name: str) -> bool:
        return name in self._calls

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Raises SandboxFailure where the machine is gone."""
        server, tool, names = self._calls[name]
        return await server.call(tool, {names.get(each, each): value for each, value in arguments.items()})

    def leave_out(self, name: str, why: str) -> None:
        """A function that is no use to who calls."""
        server, tool, _ = self._calls.pop(name)
        self.functions = tuple(each for each in self.functions if each.name != name)
        self._say(server, tool, why)

    def _say(self, server: ForeignServer, tool: str, why: str) -> None:
        word = f"tool {tool!r:.80} of the MCP server {server.spec.name} is left out: {why}"
        self.left_out = (*self.left_out, word)
        _warn(word)

    def _functions(self) -> tuple[Function, ...]:
        functions = []
        taken = {folded(name) for name in self._taken}
        for server in self.servers:
            for refused, why in server.left_out:
                self._say(server, refused, why)
            for tool in server.tools:
                try:
                    schema, names = writable(tool.input_schema, "its schema")
                except Exception as error:  # a schema of others may be anything
                    self._say(server, tool.name, str(error))
                    continue
                name = free_name(tool.name, server.spec.name, taken)
                taken.add(folded(name))
                self._calls[name] = (server, tool.name, names)
                functions.append(Function(name, _description(tool), schema))
        return tuple(functions)


@functools.cache
def _warn(word: str) -> None:
    """Once, however many episodes have the server."""
    log.warning(word)


def _description(tool: types.Tool) -> str:
    text = tool.description or tool.title or ""
    with contextlib.suppress(UnicodeEncodeError):
        text.encode()
        return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - 4] + " ..."
    return ""
