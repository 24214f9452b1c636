"""Clients of other sandboxes, unmodified, against a session of the service: one computer behind all of them."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tars_jax.sandbox.computer.pyautogui import pyautogui_folder
from tars_jax.sandbox.service.gateway.headers import to_inside
from tars_jax.sandbox.service.gateway.paths import read_path
from tests.sandbox.compat.clients import client
from tests.sandbox.desktop.conftest import require_desktop
from tests.sandbox.service.conftest import Service

pytestmark = pytest.mark.multiprocess


def door(service: Service, session: dict[str, Any], name: str) -> str:
    return f"{service.address}/s/{session['id']}/{name}"


def test_clients_of_other_sandboxes_see_one_computer(service: Service, computer: dict[str, Any]) -> None:
    token = computer["token"]
    aio = client("agent_sandbox").Sandbox(
        base_url=door(service, computer, "aio"), headers={"X-API-Key": token}, timeout=60
    )
    assert aio.shell.exec_command(command="echo ö > by_aio; cat by_aio").data.output == "ö\n"

    async def swe_rex() -> str:
        words = client("swerex.runtime.abstract")
        runtime = client("swerex.runtime.remote").RemoteRuntime(
            host=door(service, computer, "swe_rex"), auth_token=token, timeout=60.0
        )
        await runtime.create_session(words.CreateBashSessionRequest())
        ran = await runtime.run_in_session(words.BashAction(command="cat ~/by_aio", timeout=20))
        await runtime.close()
        return ran.output

    assert "ö" in asyncio.run(swe_rex())
    assert service.call(computer, "read", path="by_aio")["data"] == "ö\n"
    service.call(computer, "remove", path="by_aio")


def test_osworlds_controller_and_any_shell_share_a_desktop(service: Service) -> None:
    """By an address alone: its path is given as a part of the port."""
    require_desktop()
    module = client("desktop_env.controllers.python")
    session = service.lease(parts=["shell", "desktop"])
    host, _, port = service.address.removeprefix("http://").rpartition(":")
    controller = module.PythonController(
        vm_ip=f"any:{session['token']}@{host}", server_port=f"{port}/s/{session['id']}/osworld"
    )
    assert controller.get_screenshot().startswith(b"\x89PNG")
    said = controller.run_bash_script("python -c 'print(6 * 7)'; echo $DISPLAY")
    assert said["output"].startswith("42\n:")
    if pyautogui_folder() is not None:
        controller.execute_action({"action_type": "CLICK", "parameters": {"x": 300, "y": 200}})
        assert controller.execute_python_command("print(*pyautogui.position())")["output"] == "300 200\n"
    aio = client("agent_sandbox").Sandbox(
        base_url=door(service, session, "aio"), headers={"X-API-Key": session["token"]}, timeout=60
    )
    display = said["output"].partition("\n")[2]
    assert aio.shell.exec_command(command="echo $DISPLAY").data.output == display
    assert aio.bash.exec(command="echo $DISPLAY").data.stdout == display
    assert aio.browser_page.navigate(url="about:blank").data["url"] == "about:blank"
    assert aio.browser_page.back().success and aio.browser_tabs.list().data[0]["url"] == "about:blank"
    service.http.delete(f"/v1/sessions/{session['id']}")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_session_is_an_mcp_server_until_it_ends(service: Service, mode: str) -> None:
    mcp, httpx2 = pytest.importorskip("mcp", reason="the extra mcp"), pytest.importorskip("httpx2")
    from mcp.client.streamable_http import streamable_http_client

    session = service.lease(parts=["shell"])
    address = f"{door(service, session, 'mcp')}/"

    async def talk() -> None:
        headers = {"Authorization": f"Bearer {session['token']}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as http,
            mcp.Client(streamable_http_client(address, http_client=http), mode=mode) as connected,
        ):
            names = {tool.name for tool in (await connected.list_tools()).tools}
            assert {"execute_bash", "str_replace_editor"} <= names
            answer = await connected.call_tool("execute_bash", {"command": "echo $((6 * 7))"})
            assert "42" in answer.content[0].text and not answer.is_error
            listed = service.sessions.get(session["id"])
            assert "42" in listed.words() and listed.calls == 1  # it has a picture in lists

    asyncio.run(talk())
    assert httpx.post(address, headers={"Authorization": "Bearer nobody"}, json={}).status_code == 401
    service.http.delete(f"/v1/sessions/{session['id']}")
    assert httpx.post(address, headers={"Authorization": f"Bearer {session['token']}"}, json={}).status_code == 404


def test_a_token_stands_in_two_headers_and_reaches_no_program(service: Service, computer: dict[str, Any]) -> None:
    for name in ("aio", "swe_rex"):
        assert httpx.get(f"{door(service, computer, name)}/", headers={"X-API-Key": "nobody"}).status_code == 401
    target = read_path(b"/s/0123456789abcdef/port/3000/")
    both = [(b"X-API-Key", b"own"), (b"Authorization", b"Bearer token")]

    def passed(headers: list[tuple[bytes, bytes]]) -> set[bytes]:
        return {name for name, _ in to_inside(headers, target, "localhost", "http", by_header=True)}

    assert b"x-api-key" not in passed(both[:1]) and b"authorization" not in passed(both[1:])
    assert b"x-api-key" in passed(both) and b"authorization" not in passed(both)
