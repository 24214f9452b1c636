"""The desktop's preview: noVNC in a real Chromium, and the protocol behind it."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import websockets
from PIL import Image
from playwright.async_api import Page, expect

from tests.sandbox.desktop.conftest import require_desktop
from tests.sandbox.service.chromium import on_a_page, require_asset
from tests.sandbox.service.conftest import Service
from tests.waiting import PATIENCE_S, until, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
COPIES = """import tkinter; root = tkinter.Tk(); root.clipboard_clear()
root.clipboard_append('pl\\u00fcm \\u65e5\\u672c'); root.after(6000, root.destroy); root.mainloop()"""
PASTES = """import tkinter; root = tkinter.Tk(); root.withdraw(); print(ascii(root.clipboard_get()))"""
SCREEN = "document.querySelector('#screen canvas').toDataURL('image/png').split(',')[1]"


@pytest.fixture
def desktop(previews: Service) -> Iterator[dict[str, Any]]:
    require_desktop()
    require_asset("@novnc/novnc")
    session = previews.lease(parts=["shell", "files", "desktop"], width=640, height=480, lease_seconds=3600)
    yield session
    previews.http.delete(f"/v1/sessions/{session['id']}")


def file(service: Service, session: dict[str, Any], name: str, what: bytes) -> bool:
    def got() -> bool:
        answer = service.http.get(f"/v1/sessions/{session['id']}/files", params={"path": name})
        return bool(answer.content == what)

    return bool(wait_until(got))


def _pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


async def opened(page: Page, service: Service, session: dict[str, Any], token: str) -> None:
    await page.goto(f"{service.address}/s/{session['id']}/desktop/?token={token}")
    await expect(page.locator("#state")).to_have_text("watching")
    await expect(page.locator("#screen canvas")).to_have_js_property("width", 640)


def test_a_hand_on_a_desktop(previews: Service, desktop: dict[str, Any]) -> None:
    """Nothing is done before it is taken over, then keys and mouse are; an agent waits, and goes on behind it."""
    service = previews
    service.call(desktop, "launch", application="terminal")

    async def use(page: Page) -> None:
        await opened(page, service, desktop, desktop["token"])
        screen = page.locator("#screen canvas")
        await screen.click(position={"x": 300, "y": 200})
        await page.keyboard.type("touch early")
        await page.keyboard.press("Enter")
        await page.locator("#control").click()
        await expect(page.locator("#state")).to_contain_text("you have it")
        assert (await asyncio.to_thread(service.refused, desktop, 423, "run", command="echo"))["code"] == "held"
        await screen.click(position={"x": 300, "y": 200})
        await page.keyboard.type("ls > 'By Hand.txt'; echo \"~{[]}\" >> 'By Hand.txt'")
        await page.keyboard.press("Enter")
        assert await asyncio.to_thread(file, service, desktop, "By Hand.txt", b"By Hand.txt\n~{[]}\n")
        await page.locator("#control").click()
        await expect(page.locator("#state")).to_have_text("watching")
        ran = await asyncio.to_thread(service.call, desktop, "run", command="ls")
        assert "early" not in ran["output"]

    on_a_page(use)


def test_the_picture_is_the_desktop_s_to_the_pixel(previews: Service, desktop: dict[str, Any]) -> None:
    """A large change goes as JPEG first, and without loss once the screen stands still."""
    previews.call(desktop, "launch", application="terminal")
    previews.call(desktop, "act", events=[{"type": "MouseMove", "x": 630, "y": 470}])

    async def use(page: Page) -> None:
        await opened(page, previews, desktop, desktop["token"])

        async def shows_the_desktop() -> bool:
            shown = _pixels(base64.b64decode(await page.evaluate(SCREEN)))
            got = await asyncio.to_thread(previews.http.get, f"/v1/sessions/{desktop['id']}/screenshot")
            return bool((shown == _pixels(got.content)).all())

        await until(shows_the_desktop)

    on_a_page(use)


def test_the_clipboard_goes_both_ways(previews: Service, desktop: dict[str, Any]) -> None:
    service = previews

    async def use(page: Page) -> None:
        await opened(page, service, desktop, desktop["token"])
        await page.locator("#control").click()
        await expect(page.locator("#state")).to_contain_text("you have it")
        person = {"person": True}
        run = {"call": {"call": "run_program", "argv": ["python3", "-c", COPIES], "timeout_s": 20}, **person}
        copying = asyncio.create_task(
            asyncio.to_thread(service.http.post, f"/v1/sessions/{desktop['id']}/call", json=run)
        )
        await expect(page.locator("#text")).to_have_value("plüm 日本")
        await page.locator("#clipboard").click()
        await page.locator("#text").fill("für später\nzwei")
        paste = {"call": {"call": "run_program", "argv": ["python3", "-c", PASTES]}, **person}

        async def pasted() -> bool:
            got = await asyncio.to_thread(service.http.post, f"/v1/sessions/{desktop['id']}/call", json=paste)
            return bool(got.json()["stdout"] == "'f\\xfcr sp\\xe4ter\\nzwei'\n")

        await until(pasted)
        await copying

    on_a_page(use)


def test_who_may_only_watch(previews: Service, desktop: dict[str, Any]) -> None:
    """A link to watch opens the desktop's picture and no other mount, and whoever speaks RFB by it moves nothing."""
    service = previews
    service.call(desktop, "act", events=[{"type": "MouseMove", "x": 5, "y": 5}])
    info = service.http.get(f"/s/{desktop['id']}/page/info").json()
    assert info["watches"] is False and info["watch"] != desktop["token"]

    async def use(page: Page) -> None:
        await opened(page, service, desktop, info["watch"])
        await expect(page.locator("#control")).to_be_hidden()
        base = page.url.removesuffix("desktop/")
        for mount in ("terminal/", "code/about", "port/3000/", "aio/v1/sandbox"):
            assert await page.evaluate("(url) => fetch(url).then((r) => r.status)", base + mount) == 403
        told = await page.evaluate("(url) => fetch(url).then((r) => r.json())", base + "page/info")
        assert "watch" not in told and told["mounts"] == ["desktop"] and told["ports"] == []
        cookies = "; ".join(f"{each['name']}={each['value']}" for each in await page.context.cookies(page.url))
        address = "ws" + base.removeprefix("http") + "desktop/socket"
        here: dict[str, Any] = {"host": "127.0.0.1", "port": urlsplit(address).port, "max_size": None}
        async with websockets.connect(address, additional_headers={"Cookie": cookies}, **here) as socket:
            await socket.recv()
            await socket.send(b"RFB 003.008\n")
            assert await socket.recv() == b"\x01\x01"
            await socket.send(b"\x01")
            await socket.recv()
            await socket.send(b"\x01")
            await socket.recv()
            await socket.send('{"control": true}')
            await socket.send(b"\x05\x00" + (320).to_bytes(2) + (240).to_bytes(2))
            await socket.send(b"\x03\x00" + bytes(8))
            assert (await socket.recv())[:2] == b"\0\0"  # an update: what came before it was read
        assert not (await asyncio.to_thread(service.http.get, f"/v1/sessions/{desktop['id']}")).json()["person"]
        # The same browser, with the token, may have more.
        await page.goto(f"{page.url}?token={desktop['token']}")
        await expect(page.locator("#control")).to_be_visible()

    on_a_page(use)
    assert service.http.get("/v1/sessions", headers={"Authorization": f"Bearer {info['watch']}"}).status_code == 401
    path = f"/v1/sessions/{desktop['id']}"
    assert service.http.get(path, headers={"Authorization": f"Bearer {info['watch']}"}).status_code == 401


def test_what_is_no_rfb_ends_the_connection_alone(previews: Service, desktop: dict[str, Any]) -> None:
    async def run() -> None:
        address = previews.address.replace("http", "ws") + f"/s/{desktop['id']}/desktop/socket?token={desktop['token']}"
        for first in (b"GET / HTTP/1.1\r\n\r\n", b"RFB 003.008\n\x01\x01\xff", b"RFB 003.008\n\x02"):
            async with websockets.connect(address) as socket:
                await socket.send(first)
                with pytest.raises(websockets.ConnectionClosed) as closed:
                    while True:
                        await asyncio.wait_for(socket.recv(), PATIENCE_S)
            assert closed.value.rcvd is not None and "RFB" in closed.value.rcvd.reason

    asyncio.run(run())
    assert previews.call(desktop, "run", command="echo on")["output"] == "on\n"


def test_without_novnc_the_page_says_what_to_run(service: Service) -> None:
    require_desktop()
    session = service.lease(parts=["desktop"])
    answer = service.http.get(f"/s/{session['id']}/desktop/")
    assert answer.status_code == 501 and "./launch/previews.sh" in answer.json()["error"]["message"]
    service.http.delete(f"/v1/sessions/{session['id']}")


def test_vncdotool_acts(previews: Service, desktop: dict[str, Any], tmp_path: Path) -> None:
    """A client of others over TCP, unmodified: the session's token opens a port and tells its password."""
    program = shutil.which(
        "vncdotool", path=f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', '')}"
    )
    if program is None:
        pytest.skip("vncdotool is not installed: ./launch/interop.sh installs it")
    service = previews
    address = f"/s/{desktop['id']}/desktop/vnc"
    assert service.http.post(address, headers={"Authorization": "Bearer wrong"}).status_code in (401, 403)
    mount = service.http.post(address, headers={"Authorization": f"Bearer {desktop['token']}"}).json()
    again = service.http.post(address, headers={"Authorization": f"Bearer {desktop['token']}"}).json()
    assert mount["host"] == "127.0.0.1" and again == mount

    def vncdo(*words: str, password: str = mount["password"]) -> subprocess.CompletedProcess[str]:
        command = [
            program,
            "-s",
            f"{mount['host']}::{mount['port']}",
            "-p",
            password,
            "--timeout",
            str(PATIENCE_S),
            *words,
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL)

    service.call(desktop, "launch", application="terminal")
    ran = vncdo("move", "300", "200", "click", "1", "type", "echo by vnc >v", "key", "enter",
                "capture", str(tmp_path / "screen.png"))  # fmt: skip
    assert ran.returncode == 0, ran
    assert file(service, desktop, "v", b"by vnc\n")
    assert Image.open(tmp_path / "screen.png").size == (640, 480)
    assert vncdo("key", "x", password="wrong").returncode != 0
