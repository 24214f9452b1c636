"""Tools of MCP servers that run inside of a session's computer: listed, and called by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.service.computers.function_calls import answer_to_json
from tars_jax.sandbox.service.computers.part import SessionPart, Work
from tars_jax.sandbox.service.computers.spec import ComputerRequest
from tars_jax.sandbox.tools.file_forms import FILE_FUNCTIONS
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.sandbox.tools.mcp.spec import check_library
from tars_jax.web.protocol import RequestFields

if TYPE_CHECKING:
    from tars_jax.sandbox.tools.mcp.functions import ForeignTools

SEEN = 4000  # characters of what lists show
TAKEN = (*FUNCTIONS, *FILE_FUNCTIONS)  # names at the session's own MCP address


async def start_tools(machine: GuestMachine, spec: ComputerRequest, snapshot: Any = None) -> ToolCalls:
    """`snapshot`: of the servers as another process has left them; None: all are started.

    Raises InputError for a server that cannot be started or without the extra `mcp`, SandboxFailure for one that does
    not answer, KeyError, TypeError, ValueError for what is no snapshot.
    """
    check_library()
    from tars_jax.sandbox.tools.mcp.functions import ForeignTools

    taken = (*TAKEN, *spec.taken)
    if snapshot is not None:
        return ToolCalls(ForeignTools.restore(machine, spec.mcp, snapshot, taken))
    return ToolCalls(await ForeignTools(machine, spec.mcp, taken).__aenter__())


class ToolCalls(SessionPart):
    """A server that has ended begins anew with the next call of a tool of it, whose answer says so."""

    def __init__(self, tools: ForeignTools) -> None:
        self.tools = tools
        self._seen = ""
        for server in tools.servers:
            server.kept = lambda: self.kept()
        self.calls = {"list_tools": self._list, "call_tool": self._call}

    def own(self) -> set[int]:
        return {server.process for server in self.tools.servers if server.process is not None}

    @property
    def sessions(self) -> frozenset[int]:
        """Sessions of processes: those of the servers, and what they have started."""
        return frozenset(self.own())

    def words(self) -> str:
        return self._seen

    def snapshot(self) -> Any:
        return self.tools.snapshot()

    async def detach(self) -> None:
        await self.tools.detach()

    async def close(self) -> None:
        await self.tools.__aexit__()

    def _list(self, fields: RequestFields) -> Work:
        """-> {tools: [{name, description, parameters}], left_out: [WHY]}: `parameters` is a JSON schema"""

        async def work() -> Any:
            told = [
                {"name": each.name, "description": each.description, "parameters": dict(each.parameters)}
                for each in self.tools.functions
            ]
            return {"tools": told, "left_out": list(self.tools.left_out)}

        return work

    def _call(self, fields: RequestFields) -> Work:
        """{tool, arguments?} -> {text, images, failed}: `failed` is the server's word, or what became of it"""
        name, arguments = fields.text("tool"), fields.value("arguments")
        if name not in self.tools:
            known = ", ".join(each.name for each in self.tools.functions[:24]) or "none"
            raise fields.error("tool", f"one of {known}")
        if arguments is not None and not isinstance(arguments, dict):
            raise fields.error("arguments", "an object")

        async def work() -> Any:
            answer = await self.tools.call(name, arguments or {})
            self._seen = f"{self._seen}{name}\n{answer.text.rstrip()}\n"[-SEEN:]
            return answer_to_json(answer)

        return work
