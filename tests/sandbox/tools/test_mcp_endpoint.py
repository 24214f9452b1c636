"""A computer as an MCP server: the official client in both revisions, two sessions, and who is not let in."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

import httpx2
import jsonschema
import mcp
import uvicorn
from mcp.client.streamable_http import streamable_http_client

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.tools.file_forms import FILE_FUNCTIONS
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.sandbox.tools.kernels import Kernel
from tars_jax.sandbox.tools.mcp.endpoint import McpEndpoint
from tars_jax.sandbox.tools.mcp.tool_server import CALL_ID, ComputerServer
from tars_jax.sandbox.tools.pages import Pages
from tests.waiting import until

pytestmark = pytest.mark.multiprocess

TOKEN = "a secret of forty letters"
PAGES = Pages({"https://shop.example/apples": "<title>Apples</title><p>Red apples cost 3 coins.</p>"})


@contextlib.asynccontextmanager
async def served(endpoint: McpEndpoint) -> AsyncIterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(endpoint, lifespan="off", log_level="warning"))
    task = asyncio.create_task(server.serve([listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        await task


@contextlib.asynccontextmanager
async def client(url: str, token: str = TOKEN, mode: str = "auto", **headers: str) -> AsyncIterator[mcp.Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}", **headers}, timeout=120) as http,
        mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as connected,
    ):
        yield connected


def text(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def meta(id: str) -> Any:
    return {CALL_ID: id}


def with_computer(folder: Path, work: Callable[[str, GuestMachine, McpEndpoint], Awaitable[None]]) -> None:
    async def live() -> None:
        async with (
            LocalGuest(folder, folder / "s") as guest,
            ComputerServer(
                guest.machine, root=str(folder), pages=PAGES, kernel=Kernel(guest.machine, kind="python")
            ) as computer,
            McpEndpoint() as endpoint,
            served(endpoint) as address,
        ):
            await work(address + await endpoint.add("one", computer.server, TOKEN), guest.machine, endpoint)

    asyncio.run(live())


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_official_client(tmp_path: Path, mode: str, version: str) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        async with client(url, mode=mode) as one, client(url, mode=mode) as two:
            assert one.protocol_version == version
            tools = {tool.name: tool for tool in (await one.list_tools()).tools}
            assert tools.keys() == FUNCTIONS.keys() | FILE_FUNCTIONS.keys()
            for name, tool in tools.items():
                assert tool.input_schema == {**FUNCTIONS, **FILE_FUNCTIONS}[name].parameters
                jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            # One computer behind both clients, and its state lives on.
            await one.call_tool("execute_bash", {"command": "X='ü 5'; cd /"})
            assert text(await two.call_tool("execute_bash", {"command": "echo $X; pwd"})) == "ü 5\n/"
            await one.call_tool("JupyterCI", {"code": "y = 6 * 7"})
            assert text(await two.call_tool("JupyterCI", {"code": "y"})) == "42"
            assert "Red apples" in text(await one.call_tool("Search", {"query": "apples"}))
            written = await one.call_tool("write_file", {"path": "new folder/ä.txt", "content": "plum\n"})
            assert not written.is_error and (tmp_path / "new folder/ä.txt").read_text() == "plum\n"
            path = f"{tmp_path}/new folder/ä.txt"
            edit = {"command": "str_replace", "path": path, "old_str": "plum", "new_str": "pear"}
            assert not (await two.call_tool("str_replace_editor", edit)).is_error
            assert text(await one.call_tool("read_file", {"path": path})) == "pear\n"
            assert "new folder/ä.txt:1: pear" in text(
                await one.call_tool("search_files", {"path": ".", "pattern": "pe"})
            )
            outside = await one.call_tool("read_file", {"path": "/etc/passwd"})
            assert outside.is_error
            assert (await one.call_tool("str_replace_editor", {"command": "view"})).is_error
            with pytest.raises(mcp.MCPError, match="a tool must be one of execute_bash"):
                await one.call_tool("no_such_tool", {})

    with_computer(tmp_path, work)


def test_files(tmp_path: Path) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        async with client(url) as one:

            async def call(name: str, /, **arguments: Any) -> tuple[bool, str]:
                result = await one.call_tool(name, arguments)
                return result.is_error, text(result)

            (tmp_path / "binary").write_bytes(bytes(range(256)) * 20)
            failed, said = await call("read_file", path="binary")
            assert failed and said.endswith("is no text: read it with encoding base64")
            assert await call("read_file", path="binary", offset=1, limit=3, encoding="base64") == (False, "AQID")
            assert await call("write_file", path="b", content="AAH/", encoding="base64") == (
                False, f"{tmp_path}/b was written: 3 bytes",
            )  # fmt: skip
            assert (tmp_path / "b").read_bytes() == b"\0\1\xff"
            assert (await call("write_file", path="b", content="no base64!", encoding="base64"))[0]
            assert (await call("read_file", path="b", encoding="latin"))[0]
            assert (await call("read_file", path="b", offset=-1))[0]
            assert "file\t3\tb" in (await call("list_files", path="."))[1]
            assert (await call("make_folder", path="x/y"))[1].endswith("x/y is a folder")
            assert not (await call("move_file", path="b", to="x/y/b 2"))[0]
            assert (tmp_path / "x/y/b 2").is_file()
            assert (await call("remove_file", path="x"))[0]
            assert not (await call("remove_file", path="x", all=True))[0]
            assert not (tmp_path / "x").exists()
            assert (await call("search_files", path="."))[1].startswith("name or pattern must be given")
            assert await call("search_files", path=".", name="*.none") == (False, "nothing was found")

    with_computer(tmp_path, work)


def test_a_call_with_an_id_is_done_once(tmp_path: Path) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        async with client(url) as one:
            call: dict[str, Any] = {"name": "execute_bash", "arguments": {"command": "echo x >> said; wc -l < said"}}
            first = await one.call_tool(**call, meta=meta("7"))
            assert text(first) == text(await one.call_tool(**call, meta=meta("7"))) == "1"
            assert text(await one.call_tool(**call, meta=meta("8"))) == "2"
            assert text(await one.call_tool(**call)) == "3"
            with pytest.raises(mcp.MCPError, match="tars_jax/call must be a text"):
                await one.call_tool(**call, meta=meta("7" * 1000))
        # A client that gives up: its call goes on, and whoever asks with its id has the answer.
        slow: dict[str, Any] = {"name": "execute_bash", "arguments": {"command": "sleep 2; echo done >> said; echo ok"}}
        async with client(url) as one:
            with pytest.raises((mcp.MCPError, TimeoutError)):
                await one.call_tool(**slow, meta=meta("9"), read_timeout_seconds=0.5)
        async with client(url) as one:
            assert text(await one.call_tool(**slow, meta=meta("9"))) == "ok"
            assert (tmp_path / "said").read_text() == "x\nx\nx\ndone\n"

    with_computer(tmp_path, work)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_call_that_is_taken_back_is_interrupted(tmp_path: Path, mode: str) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        async with client(url, mode=mode) as one:
            await one.call_tool("execute_bash", {"command": "echo began"})
            with pytest.raises((mcp.MCPError, TimeoutError)):
                await one.call_tool("execute_bash", {"command": "sleep 100"}, read_timeout_seconds=1)

            async def answer() -> str:
                said = text(await one.call_tool("execute_bash", {"command": "echo free"}))
                return "" if "still running" in said else said

            said = await until(answer)
            assert "free" in said or "before the next" in said, said

    with_computer(tmp_path, work)


def test_calls_that_come_at_once_have_their_turns(tmp_path: Path) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        async with client(url, mode="legacy") as one, client(url) as two:

            async def said(of: mcp.Client, tool: str, **arguments: Any) -> str:
                return text(await of.call_tool(tool, arguments))

            each = [said((one, two)[n % 2], "execute_bash", command=f"sleep .2; echo {n}") for n in range(4)]
            each += [said(one, "bash", command=f"sleep .2; echo {n}") for n in range(4, 6)]
            each += [said(one, "JupyterCI", code=f"import time; time.sleep(.2); {n}") for n in range(6, 8)]
            assert await asyncio.gather(*each) == [str(n) for n in range(8)]
            nap = f"sleep 100.{os.getpid()}"  # nobody else's
            slow = asyncio.create_task(said(one, "execute_bash", command=nap))
            waiting = asyncio.create_task(said(two, "execute_bash", command="echo waited"))
            await until(lambda: running(nap))
            await said(two, "execute_bash", command="C-c")
            assert "130" in await slow and await waiting == "waited"

    with_computer(tmp_path, work)


async def running(command: str) -> bool:
    argv = command.replace(" ", "\0").encode()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if file.read_bytes().startswith(argv):
                return True
    return False


_KILLED = """
import asyncio, sys
from tests.sandbox.tools.test_mcp_endpoint import client

async def live():
    async with client(sys.argv[1], mode=sys.argv[2]) as one:
        await one.call_tool("execute_bash", {"command": sys.argv[3]})

asyncio.run(live())
"""


@pytest.mark.parametrize(("mode", "heeds"), [("legacy", True), ("auto", True), ("auto", False)])
def test_a_client_that_is_killed_ends_its_command(tmp_path: Path, mode: str, heeds: bool) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        nap = f"sleep 61.{os.getpid()}"
        command = nap if heeds else f"(trap '' INT; {nap})"
        killed = await asyncio.create_subprocess_exec(sys.executable, "-c", _KILLED, url, mode, command)
        try:
            await until(lambda: running(nap))
            async with client(url, mode=mode) as other:
                waiting = asyncio.create_task(other.call_tool("execute_bash", {"command": "echo mine"}))
                killed.kill()
                assert text(await waiting) == "mine"
            assert not await running(nap)
        finally:
            await killed.wait()

    with_computer(tmp_path, work)


def test_a_call_that_waits_for_its_turn_and_is_taken_back_interrupts_nobody(tmp_path: Path) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        async with client(url) as one, client(url) as two:
            waits = "touch began; until [ -e go ]; do sleep .1; done; echo whole"
            first = asyncio.create_task(one.call_tool("execute_bash", {"command": waits}))
            await until((tmp_path / "began").exists)
            with pytest.raises((mcp.MCPError, TimeoutError)):
                await two.call_tool("execute_bash", {"command": "echo never > never"}, read_timeout_seconds=0.3)
            (tmp_path / "go").touch()
            assert text(await first) == "whole"
            assert text(await one.call_tool("execute_bash", {"command": "echo next"})) == "next"
            assert not (tmp_path / "never").exists()

    with_computer(tmp_path, work)


def test_who_is_not_let_in(tmp_path: Path) -> None:
    async def work(url: str, machine: GuestMachine, endpoint: McpEndpoint) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        accept = {"Accept": "application/json, text/event-stream"}
        owner = {"Authorization": f"Bearer {TOKEN}", **accept}
        async with httpx2.AsyncClient(timeout=60) as http:

            async def status(address: str = url, **headers: str) -> int:
                written = [(name.encode(), value.encode()) for name, value in headers.items()]
                return (await http.post(address, json=body, headers=written)).status_code

            assert await status(**accept) == 401
            assert await status(**{**owner, "Authorization": "Bearer " + TOKEN[:-1]}) == 401
            assert await status(**{**owner, "Authorization": f"Basic {TOKEN}"}) == 401
            assert await status(**{**owner, "Authorization": "Bearer ä"}) == 401
            assert await status(**owner, Origin="https://evil.example") == 403
            assert await status(**owner, Host="evil.example") == 421
            assert await status(url.replace("one", "two"), **owner) == 404
            assert await status(url.replace("/mcp", "/mcp/../../two/mcp"), **owner) == 404
            assert await status(**owner, **{"Content-Type": "text/plain"}) in (400, 415)
            big = await http.post(url, content=b"x" * (17 << 20), headers={**owner, "Content-Type": "application/json"})
            assert big.status_code == 413
            for nonsense in (b"{", b"[]", b"null", b'{"jsonrpc": "2.0", "id": 1}', b"[" * 100_000, b"\xff\xfe"):
                answer = await http.post(url, content=nonsense, headers={**owner, "Content-Type": "application/json"})
                assert 400 <= answer.status_code < 500, (nonsense[:20], answer.status_code, answer.text[:200])
        with pytest.raises(InputError, match="id must be new"):
            await endpoint.add("one", None, TOKEN)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="id must be new"):
            await endpoint.add("../x", None, TOKEN)  # type: ignore[arg-type]
        async with client(url) as one:  # and the owner still is
            assert (await one.list_tools()).tools
            await endpoint.remove("one")
            with pytest.raises(mcp.MCPError):
                await one.call_tool("execute_bash", {"command": "true"})

    with_computer(tmp_path, work)


def test_a_machine_that_is_gone_is_an_error_of_its_kind(tmp_path: Path) -> None:
    async def live() -> None:
        async with LocalGuest(tmp_path, tmp_path / "s") as guest, McpEndpoint() as endpoint:
            computer = ComputerServer(guest.machine, ["execute_bash"])
            async with served(endpoint) as address:
                url = address + await endpoint.add("one", computer.server, TOKEN)
                async with client(url) as one:
                    await one.call_tool("execute_bash", {"command": "true"})
                    guest.process.kill()
                    await guest.process.wait()
                    with pytest.raises(mcp.MCPError, match="the computer has failed: guest") as raised:
                        await one.call_tool("execute_bash", {"command": "true"})
                    assert raised.value.data == {"kind": "guest"}

    asyncio.run(live())
