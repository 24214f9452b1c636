"""One MCP server of others inside of a computer: started, asked for its tools, called, and started again when it ends.

The agent shares its user with the server, so whatever becomes of a running server is an answer that the agent can read.
A server that does not start before the agent has acted is a failure of the sandbox, and the machine's end always is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

import mcp
import mcp_types as types
from mcp.client.session import IncomingMessage

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError, GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.forms import Answer
from tars_jax.sandbox.tools.mcp.content import answer_of
from tars_jax.sandbox.tools.mcp.spec import MOST_TOOLS, ServerSpec
from tars_jax.sandbox.tools.mcp.transports import Way, by_port, by_program

MOST_PAGES = 200  # of a list of tools
MOST_LISTED = 20_000
SLACK_S = 5.0
_DEAD = (types.CONNECTION_CLOSED,)


class ForeignServer:
    """`start` it, and `close` it in the end; calls may come at the same time."""

    def __init__(self, machine: GuestMachine, spec: ServerSpec) -> None:
        self.spec = spec
        self.changed = False  # it has said that its tools are others now; functions stay as they were
        self.tools: tuple[types.Tool, ...] = ()
        self._machine = machine
        self._way = Way(why="it was not started")
        self._client: mcp.Client | None = None
        self._living: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Raises InputError where its spec cannot be, SandboxFailure where it does not do what it should in time."""
        try:
            self.tools = self._wanted(await self._begin())
        except GuestError as error:
            raise InputError(f"mcp server {self.spec.name} must have a command that can be started; {error}") from error
        except _NoServer as error:
            raise SandboxFailure("mcp", f"server {self.spec.name} did not start: {error}") from error

    async def close(self) -> None:
        """Twice is once."""
        living, self._living, self._client = self._living, None, None
        if living is not None and not living.done():
            living.cancel()
        if living is not None:
            await asyncio.wait([living])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Raises SandboxFailure where the machine is gone, and nothing else."""
        note = ""
        async with self._turn:
            if self._client is None or self._way.why:
                note = "[the server had ended: this is a new one]\n"
                try:
                    await self._begin()
                except (_NoServer, GuestError) as error:
                    return await self._failed(f"the server has ended and does not start again: {error}")
            client = self._client
        assert client is not None
        try:
            async with asyncio.timeout(self.spec.call_s + SLACK_S):
                result = await client.call_tool(tool, dict(arguments), read_timeout_seconds=self.spec.call_s)
            answer = answer_of(result)
        except TimeoutError:
            return await self._failed(f"it did not answer in {self.spec.call_s:g} s")
        except mcp.MCPError as error:
            return await self._of_error(error)
        except SandboxFailure:
            raise
        except Exception as error:  # the library's checks of what came raise many kinds
            return await self._failed(f"its answer is none: {type(error).__name__}: {error}")
        return Answer(note + answer.text, answer.images, answer.failed)

    async def _of_error(self, error: mcp.MCPError) -> Answer:
        if error.code == types.REQUEST_TIMEOUT:
            return await self._failed(f"it did not answer in {self.spec.call_s:g} s")
        if error.code in _DEAD:
            await asyncio.sleep(0)  # for the reader, which knows why
            return await self._failed(self._way.why or "the connection has ended")
        return await self._failed(f"it refused: {error.message}")

    async def _failed(self, why: str) -> Answer:
        await self._machine.client.call("hello")  # raises SandboxFailure where the machine itself is gone
        return Answer(f"MCP server {self.spec.name}: {why[:2000]}", failed=True)

    async def _begin(self) -> tuple[types.Tool, ...]:
        """Its tools. The library's contexts live in a task of their own, as they must end in the one they began in."""
        await self.close()
        self._way = Way()
        ready: asyncio.Future[tuple[mcp.Client, tuple[types.Tool, ...]]] = asyncio.get_running_loop().create_future()
        self._living = asyncio.create_task(self._live(self._way, ready))
        try:
            self._client, tools = await ready
        except BaseException:
            await self.close()
            raise
        return tools

    async def _live(self, way: Way, ready: asyncio.Future[tuple[mcp.Client, tuple[types.Tool, ...]]]) -> None:
        open_way = by_port if self.spec.port else by_program
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.spec.start_s):
                    client = await stack.enter_async_context(
                        mcp.Client(
                            open_way(self._machine, self.spec, way), read_timeout_seconds=self.spec.start_s, cache=None,
                            message_handler=self._heard,
                        )
                    )  # fmt: skip
                    tools = await self._listed(client)
                ready.set_result((client, tools))
                await asyncio.Event().wait()  # until `close`
        except asyncio.CancelledError:
            if not ready.done():
                ready.cancel()
            raise
        except TimeoutError:
            self._tell(ready, _NoServer(f"it did not answer in {self.spec.start_s:g} s"))
        except (Exception, BaseExceptionGroup) as error:
            cause = _cause(error)
            if isinstance(cause, GuestError | SandboxFailure):
                self._tell(ready, cause)
            else:
                self._tell(ready, _NoServer(way.why or f"{type(cause).__name__}: {cause}"))
        finally:
            way.why = way.why or "it was closed"

    @staticmethod
    def _tell(ready: asyncio.Future[Any], error: Exception) -> None:
        if not ready.done():
            ready.set_exception(error)

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self.changed = True

    async def _listed(self, client: mcp.Client) -> tuple[types.Tool, ...]:
        tools: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or len(tools) > MOST_LISTED:
                break
        return tuple(tools[:MOST_LISTED])

    def _wanted(self, tools: tuple[types.Tool, ...]) -> tuple[types.Tool, ...]:
        by_name = {tool.name: tool for tool in reversed(tools)}  # of two with one name, the first
        name = f"mcp server {self.spec.name}"
        if self.spec.tools:
            if missing := [each for each in self.spec.tools if each not in by_name]:
                known = ", ".join(list(by_name)[::-1][:24]) or "none"
                raise InputError(f"tools of {name} must be of {known}; got {missing[0]!r}")
            return tuple(by_name[each] for each in self.spec.tools)
        if len(by_name) > MOST_TOOLS:
            raise InputError(f"tools of {name} must name those that are wanted, as it has {len(by_name)}; got none")
        return tuple(by_name[each] for each in reversed(by_name))


class _NoServer(Exception):
    """What was started is no MCP server, or does not answer."""


def _cause(error: BaseException) -> BaseException:
    """Of a group of errors, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
