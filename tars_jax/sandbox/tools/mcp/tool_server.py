"""Functions as an MCP server: their names, schemas and answers; and a computer's functions as one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server

from tars_jax.environment import Function
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.file_forms import FILE_FUNCTIONS, FileForms
from tars_jax.sandbox.tools.files import Files
from tars_jax.sandbox.tools.forms import FUNCTIONS, NEEDS_PAGES, Toolbox, ToolResult
from tars_jax.sandbox.tools.mcp.content import result_of
from tars_jax.sandbox.tools.mcp.endpoint import GONE
from tars_jax.sandbox.tools.pages import Pages

CALL_ID = "tars_jax/call"  # in a call's _meta: the same call again has the same answer, and is not done twice
MOST_REMEMBERED = 256
LONGEST_CALL_ID = 200
MOST_SEEN = 2000  # characters

Call = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
_READS = ("read_file", "list_files", "search_files", "Search", "LinkReader")
_INSTRUCTIONS = (
    "A Linux computer of its own: shells and a Python kernel keep their state from call to call. Files lie in the home "
    "folder, and paths that are not absolute lead from there on. There is no network."
)


class ToolServer:
    """`server` is the library's, for any of its transports.

    Where a client goes away, or takes a call back, `call` is cancelled; but a call that has an id in its _meta
    (CALL_ID) goes on, and its answer waits for the same id.
    """

    def __init__(self, name: str, functions: Sequence[Function], call: Call, *, instructions: str = "") -> None:
        self._functions = {function.name: function for function in functions}
        self._call = call
        self._remembered: OrderedDict[str, asyncio.Task[ToolResult]] = OrderedDict()
        self._going: set[asyncio.Task[ToolResult]] = set()
        self.server: Server[Any] = Server(
            name, version="1", instructions=instructions or None, on_list_tools=self._list, on_call_tool=self._called
        )

    async def close(self) -> None:
        """Ends the calls that go on without a client."""
        for task in list(self._going):
            task.cancel()
        await asyncio.gather(*self._going, return_exceptions=True)

    async def _list(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=function.name, description=function.description, input_schema=dict(function.parameters),
                    annotations=types.ToolAnnotations(read_only_hint=function.name in _READS, open_world_hint=False),
                )
                for function in self._functions.values()
            ]
        )  # fmt: skip

    async def _called(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in self._functions:
            known = ", ".join(self._functions)
            raise MCPError(types.INVALID_PARAMS, f"a tool must be one of {known}; got {params.name!r:.80}")
        id = self._call_id(context)
        task = self._remembered.get(id) if id else None
        if task is None:
            task = asyncio.create_task(self._answer(params.name, params.arguments or {}))
            self._going.add(task)
            task.add_done_callback(self._going.discard)
            if id:
                self._remember(id, task)
        try:
            if not id and not await _stays(task, context):
                raise MCPError(types.CONNECTION_CLOSED, "the client has gone")
            return result_of(await asyncio.shield(task))
        except SandboxFailure as error:
            message = f"the computer has failed: {error}"
            raise MCPError(types.INTERNAL_ERROR, message, {"kind": error.kind}) from error
        except asyncio.CancelledError:
            if not id:
                task.cancel()
            raise

    async def _answer(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        return await self._call(name, arguments)

    @staticmethod
    def _call_id(context: ServerRequestContext[Any]) -> str:
        id = (context.meta or {}).get(CALL_ID, "")
        if not isinstance(id, str) or len(id) > LONGEST_CALL_ID:
            raise MCPError(types.INVALID_PARAMS, f"{CALL_ID} must be a text of at most {LONGEST_CALL_ID} characters")
        return id

    def _remember(self, id: str, task: asyncio.Task[ToolResult]) -> None:
        self._remembered[id] = task
        for old in list(self._remembered):
            if len(self._remembered) <= MOST_REMEMBERED:
                break
            if self._remembered[old].done():
                del self._remembered[old]


async def _stays(task: asyncio.Task[ToolResult], context: ServerRequestContext[Any]) -> bool:
    """Waits for a call. One whose client has gone is cancelled, which the older revision's transport leaves to us."""
    gone = None if context.request is None else context.request.scope.get(GONE)
    if gone is None:
        return True
    leaving = asyncio.create_task(gone.wait())
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return task.done() or not task.cancel()
    finally:
        leaving.cancel()


class ComputerServer:
    """A computer's shell, editor, kernel, files and search as an MCP server. Use as an async context manager."""

    def __init__(
        self, machine: GuestMachine, tools: Sequence[str] = (), *, root: str = "/", pages: Pages | None = None,
        more: Sequence[Function] = (), call_more: Call | None = None, seen: Callable[[str, str], None] | None = None,
        **settings: Any,
    ) -> None:  # fmt: skip
        """`tools`: names of FUNCTIONS and FILE_FUNCTIONS; empty: all that there can be. `settings`: of the Toolbox.

        `more`: functions of others, which `call_more` calls. `seen`: is told what is called, with
        an empty name, and what comes of it, with the function's.

        Raises InputError for a name that is none.
        """
        names = list(tools) or [name for name in (*FUNCTIONS, *FILE_FUNCTIONS) if pages or name not in NEEDS_PAGES]
        files = [name for name in names if name in FILE_FUNCTIONS]
        self._toolbox = Toolbox(
            machine, [name for name in names if name not in files], root=root, pages=pages, **settings
        )  # fmt: skip
        self._files = FileForms(Files(machine, root))
        functions = [*(FILE_FUNCTIONS.get(name) or FUNCTIONS[name] for name in names), *more]
        self._seen = seen
        self._more, self._call_more = frozenset(function.name for function in more), call_more
        self.tools = ToolServer("tars_jax computer", functions, self._call, instructions=_INSTRUCTIONS)

    @property
    def server(self) -> Server[Any]:
        return self.tools.server

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.tools.close()
        await self._toolbox.__aexit__()

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        if self._seen is None:
            return await self._called(name, arguments)
        told = str(next(iter(arguments.values()), ""))[:MOST_SEEN]
        self._seen(f"$ {told}\n" if name == "execute_bash" else f"$ {name} {told}\n", "")
        answer = await self._called(name, arguments)
        self._seen(f"{answer.text[-MOST_SEEN:].rstrip()}\n", name)
        return answer

    async def _called(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        if name in self._more and self._call_more is not None:
            return await self._call_more(name, arguments)
        forms = self._files if name in FILE_FUNCTIONS else self._toolbox
        return await forms.call(name, arguments)
