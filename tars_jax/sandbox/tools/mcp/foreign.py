"""One MCP server of others inside of a computer: started, asked for its tools, called, and started again when it ends.

The agent shares its user with the server, so whatever becomes of a running server is an answer that the agent can read.
A server that does not start before the agent has acted is a failure of the sandbox, and the machine's end always is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import mcp
import mcp_types as types
from mcp.client.session import IncomingMessage

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.forms import ToolResult
from tars_jax.sandbox.tools.mcp.content import answer_of
from tars_jax.sandbox.tools.mcp.spec import MOST_TOOLS, ServerSpec
from tars_jax.sandbox.tools.mcp.transports import ConnectionState, by_port, by_program

MOST_PAGES = 200  # of a list of tools
MOST_LISTED = 20_000
SLACK_S = 5.0
_DEAD = (types.CONNECTION_CLOSED,)
RESTARTED = "[the server had ended: this is a new one]\n"
UNDER_WAY = "a call of an MCP server must have ended before its computer is copied or suspended; got one under way"


class ForeignServer:
    """`start` it, and `close` it in the end; calls may come at the same time.

    Around a live copy of the machine it is let go and taken up again, with its process as it was; the copy's process is
    taken up by `copied`.
    """

    def __init__(self, machine: GuestMachine, spec: ServerSpec) -> None:
        self.spec = spec
        self.changed = False  # it has said that its tools are others now; functions stay as they were
        self.tools: tuple[types.Tool, ...] = ()
        self.left_out: tuple[tuple[str, str], ...] = ()  # tools that are none, and why
        self._machine = machine
        self._way = ConnectionState(why="it was not started")
        self._client: mcp.Client | None = None
        self._living: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._calling = 0
        self._left: dict[str, Any] | None = None  # how a process is taken up that runs and nothing is connected to
        self.kept: Callable[[], None] = lambda: None  # called when `snapshot` is another one

    async def start(self) -> None:
        """Raises InputError where its spec cannot be, SandboxFailure where it does not do what it should in time."""
        try:
            self.tools = self._wanted(await self._begin())
            self.left_out = tuple(self._way.left_out)
        except GuestError as error:
            raise InputError(f"mcp server {self.spec.name} must have a command that can be started; {error}") from error
        except _NoServer as error:
            raise SandboxFailure("mcp", f"server {self.spec.name} did not start: {error}") from error

    async def close(self) -> None:
        """Closes the server; a second call does nothing."""
        self._machine.links.remove(self)
        left, self._left = self._left, None
        await self._end()
        if left is not None and left["process"] is not None:
            with contextlib.suppress(GuestError, SandboxFailure):
                await self._machine.kill(left["process"])

    async def _end(self) -> None:
        """The connection, and the process unless that is only left."""
        living, self._living, self._client = self._living, None, None
        if living is not None and not living.done():
            living.cancel()
        if living is not None:
            await asyncio.wait([living])

    @property
    def process(self) -> int | None:
        """Inside, of its program; None: it does not run, or somebody else has started it."""
        return self._left["process"] if self._left is not None else self._way.process

    def snapshot(self) -> dict[str, Any]:
        """Snapshot with which `restore` goes on, as JSON."""
        tools = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in self.tools]
        way = self._left if self._left is not None else self._way_left()
        return {"tools": tools, "way": way}

    @classmethod
    def restore(cls, machine: GuestMachine, spec: ServerSpec, snapshot: Mapping[str, Any]) -> ForeignServer:
        """The server that another process has left in the same computer, or a copy of it, with all that it knows.

        Answers to calls of that process are nobody's. Where the server has ended, the next call begins it anew and says
        so. Raises KeyError, TypeError, ValueError for what is no snapshot.
        """
        server = cls(machine, spec)
        server.tools = tuple(types.Tool.model_validate(each) for each in snapshot["tools"])
        server._left = None if snapshot["way"] is None else dict(snapshot["way"])
        return server

    async def detach(self) -> None:
        """Nothing connects host and server until the next call. Raises InputError while one is under way."""
        if self._calling:
            raise InputError(UNDER_WAY)
        async with self._turn:
            if self._client is not None and not self._way.why:
                self._way.leaving = True
                way = self._way_left()
                await self._end()
                self._machine.links.remove(self)
                self._left = None if way is None else {**way, "rest": self._way.rest.decode("latin-1")}

    async def attach(self) -> None:
        """With the next call."""

    def _way_left(self) -> dict[str, Any] | None:
        """How the process of a connection that goes on is taken up without it; None: there is none."""
        if self._client is None or self._way.why:
            return None
        session = self._client.session
        greeting = session.initialize_result or session.discover_result
        return {
            "process": self._way.process, "rest": "", "round": self._way.round,
            "modern": session.protocol_version if session.discover_result is not None else "",
            "greeting": greeting.model_dump(by_alias=True, mode="json", exclude_none=True) if greeting else None,
        }  # fmt: skip

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Raises SandboxFailure where the machine is gone, and nothing else."""
        self._calling += 1
        try:
            return await self._called(tool, arguments)
        finally:
            self._calling -= 1

    async def _called(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        note = ""
        async with self._turn:
            if self._left is not None and not await self._taken_up():
                note = RESTARTED
            if self._client is None or self._way.why:
                note = RESTARTED
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
        return ToolResult(note + answer.text, answer.images, answer.failed)

    async def _of_error(self, error: mcp.MCPError) -> ToolResult:
        if error.code == types.REQUEST_TIMEOUT:
            return await self._failed(f"it did not answer in {self.spec.call_s:g} s")
        if error.code in _DEAD:
            await asyncio.sleep(0)  # for the reader, which knows why
            return await self._failed(self._way.why or "the connection has ended")
        return await self._failed(f"it refused: {error.message}")

    async def _failed(self, why: str) -> ToolResult:
        await self._machine.client.call("hello")  # raises SandboxFailure where the machine itself is gone
        return ToolResult(f"MCP server {self.spec.name}: {why[:2000]}", failed=True)

    async def _taken_up(self) -> bool:
        """Whether the process that was left goes on. Raises SandboxFailure where the machine is gone."""
        left, self._left = self._left, None
        assert left is not None
        greeting = None if left["modern"] else types.InitializeResult.model_validate(left["greeting"])
        way = ConnectionState(left["process"], rest=left["rest"].encode("latin-1"), round=left["round"] + 1)
        way.greeting = None if self.spec.port else greeting
        known = types.DiscoverResult.model_validate(left["greeting"]) if left["modern"] else None
        with contextlib.suppress(_NoServer, GuestError):
            await self._begin(way, left["modern"], known)
            return True
        return False

    async def _begin(
        self, way: ConnectionState | None = None, revision: str = "", known: types.DiscoverResult | None = None
    ) -> tuple[types.Tool, ...]:
        """Its tools. The library's contexts live in a task of their own, as they must end in the one they began in.

        `way`: to a process that runs, whose tools are known; `revision`, `known`: what it once said of itself.
        """
        await self._end()
        self._way = way or ConnectionState()
        ready: asyncio.Future[tuple[mcp.Client, tuple[types.Tool, ...]]] = asyncio.get_running_loop().create_future()
        mode = "legacy" if self._way.greeting is not None else revision or "auto"
        self._living = asyncio.create_task(self._live(self._way, ready, mode, known))
        try:
            self._client, tools = await ready
        except BaseException:
            await self._end()
            raise
        self._machine.links.add(self)
        self.kept()
        return tools

    async def _live(
        self, way: ConnectionState, ready: asyncio.Future[tuple[mcp.Client, tuple[types.Tool, ...]]], mode: str,
        known: types.DiscoverResult | None,
    ) -> None:  # fmt: skip
        open_way = by_port if self.spec.port else by_program
        again = way.process is not None  # its tools are known
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.spec.start_s):
                    client = await stack.enter_async_context(
                        mcp.Client(
                            open_way(self._machine, self.spec, way), read_timeout_seconds=self.spec.start_s, cache=None,
                            message_handler=self._heard, mode=mode, prior_discover=known,
                        )
                    )  # fmt: skip
                    tools = self.tools if again else await self._listed(client)
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
    """First error of a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
