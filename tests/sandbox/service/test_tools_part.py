"""MCP servers of others as a part of a leased computer: listed, called, copied, there after a kill of the service."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

from tests.sandbox.service.conftest import Service
from tests.sandbox.service.test_service_kill import Killed

pytestmark = pytest.mark.multiprocess
ODD = Path(__file__).parents[1] / "tools" / "odd_mcp_server.py"
# A server that a lease brings by itself: it needs no file of this machine.
SERVER = {
    "name": "odd", "command": "python3", "args": ["-I", "-c", ODD.read_text(), "good"], "start_s": 300, "call_s": 5,
}  # fmt: skip
PARTS = ["shell", "mcp"]


def count(service: Service, session: dict[str, Any]) -> str:
    return service.call(session, "call_tool", tool="count")["text"]


def test_tools_are_listed_and_called(service: Service) -> None:
    session = service.lease(parts=PARTS, mcp=[SERVER, {**SERVER, "name": "zwei"}])
    tools = {each["name"]: each for each in service.call(session, "list_tools")["tools"]}
    assert len(tools) == 38 and tools["echo"]["parameters"]["required"] == ["text"] and "zwei_echo" in tools
    echoed = service.call(session, "call_tool", tool="echo", arguments={"text": "grün 🌳"})
    assert echoed == {"text": "grün 🌳", "images": [], "failed": False}
    assert len(service.call(session, "call_tool", tool="picture")["images"]) == 1
    assert (count(service, session), count(service, session)) == ("3", "4")
    assert service.call(session, "call_tool", tool="zwei_count")["text"] == "1"
    assert service.call(session, "call_tool", tool="die")["failed"]
    assert count(service, session) == "[the server had ended: this is a new one]\n1"
    assert "tool must be one of echo" in service.refused(session, 400, "call_tool", tool="none")["message"]
    assert "arguments must be" in service.refused(session, 400, "call_tool", tool="echo", arguments=[1])["message"]
    aio, bearer = f"/s/{session['id']}/aio/v1/mcp", {"Authorization": f"Bearer {session['token']}"}
    assert service.http.get(f"{aio}/servers", headers=bearer).json()["data"] == ["odd", "zwei"]
    told = service.http.get(f"{aio}/odd/tools", headers=bearer).json()["data"]["tools"]
    assert "echo" in [each["name"] for each in told]
    said = service.http.post(f"{aio}/odd/tools/echo", headers=bearer, json={"text": "grün"}).json()["data"]
    assert said == {"content": [{"type": "text", "text": "grün"}], "isError": False}
    assert service.http.post(f"{aio}/odd/tools/none", headers=bearer, json={}).status_code == 404
    assert service.http.get(f"/v1/sessions/{session['id']}").status_code == 200
    assert service.sessions.get(session["id"]).jobs == 0  # servers keep no session alive
    assert service.http.delete(f"/v1/sessions/{session['id']}").status_code == 204


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"parts": PARTS}, 400, "mcp must name servers where it is among the parts"),
        ({"mcp": [SERVER]}, 400, "mcp must name servers where it is among the parts"),
        ({"parts": PARTS, "mcp": [{**SERVER, "show": ["/root"]}]}, 400, "mcp must leave show out"),
        ({"parts": PARTS, "mcp": [{**SERVER, "shell": 1}]}, 400, "mcp[0].shell must be left out"),
        ({"parts": PARTS, "mcp": [{**SERVER, "command": "no_such"}]}, 400, "must have a command that can be started"),
        ({"parts": PARTS, "mcp": [{**SERVER, "command": "false"}]}, 502, "server odd did not start"),
    ],
)
def test_servers_that_cannot_be(service: Service, given: dict[str, Any], status: int, words: str) -> None:
    before = len(service.sessions)
    response = service.http.post("/v1/sessions", json={"kind": "computer", **given})
    assert response.status_code == status and words in response.json()["error"]["message"], response.text
    assert len(service.sessions) == before


def test_a_session_without_its_computer_costs_no_task(service: Service) -> None:
    session = service.lease(parts=PARTS, mcp=[SERVER])
    taken = service.sessions.get(session["id"])
    tools = taken.tools
    assert tools is not None
    living = tools.tools.servers[0]._living
    assert service.http.delete(f"/v1/sessions/{session['id']}").status_code == 204
    assert living is not None and living.done()


def test_the_address_of_the_session_has_them_too(service: Service) -> None:
    import httpx2
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    session = service.lease(parts=PARTS, mcp=[SERVER])

    async def ask() -> None:
        headers = {"Authorization": f"Bearer {session['token']}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            mcp.Client(
                streamable_http_client(f"{service.address}/s/{session['id']}/mcp/", http_client=http)
            ) as connected,
        ):
            names = [tool.name for tool in (await connected.list_tools()).tools]
            assert {"execute_bash", "read_file", "echo", "count"} <= set(names) and len(names) == len(set(names))
            answer = await connected.call_tool("echo", {"text": "plum"})
            assert answer.content[0].text == "plum" and not answer.is_error  # type: ignore[union-attr]
            assert (await connected.call_tool("error", {})).is_error

    asyncio.run(ask())
    assert count(service, session) == "3"  # the same server
    assert service.http.delete(f"/v1/sessions/{session['id']}").status_code == 204


@pytest.mark.slow
def test_servers_go_on_in_copies_and_behind_a_suspension(service: Service) -> None:
    computers = service.sessions._computers
    if computers.forks != "live":  # type: ignore[attr-defined]
        pytest.skip(f"no live forks here: {computers.why_not_live}")  # type: ignore[attr-defined]
    parent = service.lease(parts=PARTS, mcp=[SERVER])
    path = f"/v1/sessions/{parent['id']}"
    assert [count(service, parent) for _ in range(2)] == ["1", "2"]
    answer = service.http.post(f"{path}/fork", json={"way": "live", "count": 2})
    assert answer.status_code == 201, answer.text
    forks = answer.json()["sessions"]
    assert [count(service, forks[0]) for _ in range(3)] == ["3", "4", "5"]
    assert count(service, forks[1]) == count(service, parent) == "3"
    assert service.http.post(f"{path}/suspend", json={}).json()["suspended"] == "disk"
    assert count(service, parent) == "4"  # which resumes it
    (again,) = service.http.post(f"{path}/fork", json={"way": "files"}).json()["sessions"]
    assert count(service, again) == "1"  # programs do not come along
    for each in (parent, *forks, again):
        assert service.http.delete(f"/v1/sessions/{each['id']}").status_code == 204


@pytest.mark.full
@pytest.mark.slow
def test_servers_outlive_a_kill_of_the_service(tmp_path: Path) -> None:
    killed = Killed(tmp_path / "run")

    async def work() -> None:
        async with killed.client() as client:
            idle = await client.open(parts=PARTS, mcp=[SERVER])
            busy = await client.open(parts=PARTS, mcp=[SERVER])
            for each in (idle, busy):
                assert (await each.call("call_tool", tool="count"))["text"] == "1"
            later = asyncio.create_task(busy.call("call_tool", tool="later"))
            await asyncio.sleep(0.5)
            later.cancel()
            await killed.again()
            assert (await idle.call("call_tool", tool="count"))["text"] == "2"
            assert (await busy.call("call_tool", tool="count"))["text"] == "3"
            for each in (idle, busy):
                await each.close()

    killed.use(work)
