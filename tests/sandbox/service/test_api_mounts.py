"""Clients of other sandboxes, unmodified, against a session of the service: one computer behind all of them."""

from __future__ import annotations

import asyncio
import io
import shutil
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from PIL import Image

from tars_jax.sandbox.computer.pyautogui import pyautogui_folder
from tars_jax.sandbox.service.gateway.headers import to_inside
from tars_jax.sandbox.service.gateway.paths import read_path
from tests.sandbox.compat.clients import client, refused
from tests.sandbox.desktop.conftest import require_desktop
from tests.sandbox.service.conftest import Service

pytestmark = pytest.mark.multiprocess


def mount(service: Service, session: dict[str, Any], name: str) -> str:
    return f"{service.address}/s/{session['id']}/{name}"


def test_clients_of_other_sandboxes_see_one_computer(service: Service, computer: dict[str, Any]) -> None:
    token = computer["token"]
    aio = client("agent_sandbox").Sandbox(
        base_url=mount(service, computer, "aio"), headers={"X-API-Key": token}, timeout=60
    )
    assert aio.shell.exec_command(command="echo ö > by_aio; cat by_aio").data.output == "ö\n"

    async def swe_rex() -> str:
        words = client("swerex.runtime.abstract")
        runtime = client("swerex.runtime.remote").RemoteRuntime(
            host=mount(service, computer, "swe_rex"), auth_token=token, timeout=60.0
        )
        await runtime.create_session(words.CreateBashSessionRequest())
        ran = await runtime.run_in_session(words.BashAction(command="cat ~/by_aio", timeout=20))
        await runtime.close()
        return ran.output

    assert "ö" in asyncio.run(swe_rex())
    shown = service.sessions.get(computer["id"])  # it has a picture in lists
    assert "$ echo ö > by_aio; cat by_aio\nö\n" in shown.words() and "$ cat ~/by_aio\nö\n" in shown.words()
    assert aio.file.write_file(file="/tmp/secret", content="hidden").success
    assert "$ file/write /tmp/secret" in shown.words() and "hidden" not in shown.words()
    assert service.call(computer, "read", path="by_aio")["data"] == "ö\n"
    service.call(computer, "remove", path="by_aio")


def test_an_emptied_tmp_harms_no_session_and_a_full_disk_is_said(service: Service) -> None:
    """Also where the files that would hold stderr take no more; the session that filled it can still be closed."""
    session = service.lease(parts=["shell", "files"], disk_mib=16)
    address = f"{mount(service, session, 'aio')}/v1/bash"
    with httpx.Client(headers={"X-API-Key": session["token"]}, timeout=60) as http:

        def run(**body: Any) -> Any:
            return http.post(f"{address}/exec", json=body).json()["data"]

        emptied = run(command="find /tmp -mindepth 1 -delete 2>/dev/null; echo x")
        assert (emptied["stdout"], emptied["stderr"]) == ("x\n", "")
        assert run(command="pwd", session_id=emptied["session_id"])["exit_code"] == 0
        filled = run(command="yes; while echo y; do :; done")  # to the last byte
        assert "No space left" in filled["stderr"]
        other = run(command="echo x")
        assert (other["stdout"], other["exit_code"]) == ("", 1) and "disk is full" in other["stderr"]
        http.post(f"{address}/sessions/{filled['session_id']}/close")
        again = run(command="echo x; false", session_id=other["session_id"])
        assert (again["stdout"], again["stderr"]) == ("x\n", "")
    service.http.delete(f"/v1/sessions/{session['id']}")


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
        base_url=mount(service, session, "aio"), headers={"X-API-Key": session["token"]}, timeout=60
    )
    display = said["output"].partition("\n")[2]
    assert aio.shell.exec_command(command="echo $DISPLAY").data.output == display
    assert aio.bash.exec(command="echo $DISPLAY").data.stdout == display
    service.http.delete(f"/v1/sessions/{session['id']}")


PAGE = """<title>First</title><body style='margin:0;background:#fff'><a href=second.html>on</a>
<button style='position:absolute;left:300px;top:200px' onclick='document.body.style.background=`#f00`'>Red</button>
<input name=field style='position:absolute;top:300px'>"""


@pytest.fixture(scope="module")
def desktop(service: Service) -> Iterator[tuple[Any, str]]:
    """AIO's client of a session with a desktop, and the address of a folder that a program inside serves."""
    require_desktop()
    if shutil.which("chromium") is None:
        pytest.skip("a full Chromium is not installed: ./launch/desktop.sh installs it")
    session = service.lease(parts=["shell", "desktop", "files"], width=900, height=700)
    aio = client("agent_sandbox").Sandbox(
        base_url=mount(service, session, "aio"), headers={"X-API-Key": session["token"]}, timeout=100
    )
    aio.shell.exec_command(command="mkdir ~/site")
    for name, text in (("index.html", PAGE), ("second.html", "<title>Second</title><h1>Second</h1>")):
        service.call(session, "write", path=f"site/{name}", data=text)
    serve = "cd ~/site && (setsid python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &)"
    up = "until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep .1; done"
    aio.shell.exec_command(command=f"{serve}; {up}")
    yield aio, "http://127.0.0.1:8000/"
    service.http.delete(f"/v1/sessions/{session['id']}")


def test_a_chromium_on_the_desktop_is_navigated_and_read(desktop: tuple[Any, str]) -> None:
    aio, address = desktop
    page = aio.browser_page
    assert page.navigate(url=address).data == {"url": address, "title": "First"}
    page.click(selector="button")
    assert page.evaluate(expression="document.body.style.background").data == "rgb(255, 0, 0)"
    page.fill(selector="[name=field]", text="plum")
    assert page.evaluate(expression="document.querySelector('input').value").data == "plum"
    with Image.open(io.BytesIO(b"".join(page.screenshot()))) as view:
        assert view.convert("RGB").getpixel((600, 400)) == (255, 0, 0)
        inner = page.evaluate(expression="[innerWidth, innerHeight]").data
        assert list(view.size) == inner
    with Image.open(io.BytesIO(b"".join(aio.browser.screenshot()))) as screen:
        assert screen.size == (900, 700)
    page.click(selector="a")
    page.wait(type="function", expression="document.title === 'Second'")
    assert "Second" in page.get_text().data and "<h1>" in page.get_html().data
    assert page.back().data["title"] == "First" and page.forward().data["title"] == "Second"
    assert [each["tag"] for each in page.get_elements().data] == []
    with refused(400):
        page.navigate(url="http://127.0.0.1:1/")


def test_a_chromium_on_the_desktop_has_tabs(desktop: tuple[Any, str]) -> None:
    aio, address = desktop
    page, tabs = aio.browser_page, aio.browser_tabs
    page.navigate(url=address)
    assert tabs.create(url=f"{address}second.html").data["title"] == "Second"

    def shown() -> list[tuple[str, bool]]:
        return [(tab["title"], tab["active"]) for tab in tabs.list().data]

    assert shown() == [("First", False), ("Second", True)]
    assert page.evaluate(expression="document.title").data == "Second"
    tabs.activate(0)
    assert shown() == [("First", True), ("Second", False)]
    page.click(selector="button")
    assert page.evaluate(expression="document.body.style.background").data == "rgb(255, 0, 0)"
    tabs.close(0)
    assert shown() == [("Second", True)]
    tabs.close(0)  # of the last one something has to be left
    assert [tab["url"] for tab in tabs.list().data] == ["about:blank"]
    with refused(404):
        tabs.activate(1)


def test_a_computer_without_a_desktop_has_no_osworld(service: Service, computer: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {computer['token']}"}
    for answer in (
        httpx.post(f"{mount(service, computer, 'osworld')}/execute", headers=headers, json={"command": 5}),
        httpx.get(f"{mount(service, computer, 'osworld')}/screenshot", headers=headers),
    ):
        assert answer.status_code == 404 and answer.json()["error"]["message"] == "this session has no desktop"


def test_a_session_is_an_mcp_server_until_it_ends(service: Service) -> None:
    mcp, httpx2 = pytest.importorskip("mcp", reason="the extra mcp"), pytest.importorskip("httpx2")
    from mcp.client.streamable_http import streamable_http_client

    session = service.lease(parts=["shell"])
    address = f"{mount(service, session, 'mcp')}/"

    async def talk() -> None:
        headers = {"Authorization": f"Bearer {session['token']}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120) as http,
            mcp.Client(streamable_http_client(address, http_client=http), mode="legacy") as connected,
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
        assert httpx.get(f"{mount(service, computer, name)}/", headers={"X-API-Key": "nobody"}).status_code == 401
    target = read_path(b"/s/0123456789abcdef/port/3000/")
    both = [(b"X-API-Key", b"own"), (b"Authorization", b"Bearer token")]

    def passed(headers: list[tuple[bytes, bytes]]) -> set[bytes]:
        return {name for name, _ in to_inside(headers, target, "localhost", "http", by_header=True)}

    assert b"x-api-key" not in passed(both[:1]) and b"authorization" not in passed(both[1:])
    assert b"x-api-key" in passed(both) and b"authorization" not in passed(both)
