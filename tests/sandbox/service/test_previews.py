"""Previews in a real Chromium: terminal, ports and desktop of a computer, opened from the live page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tars_jax.sandbox.browser import find_executable
from tars_jax.sandbox.service.app import make_app
from tars_jax.sandbox.service.computers.kind import ComputersKind
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.web.running import serving
from tests.sandbox.desktop.conftest import require_desktop
from tests.sandbox.service.conftest import ANN, OPERATOR, OWNERS, Service, require_containers

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
PATIENCE_MS = 60_000
ASSETS = Path(__file__).parents[3] / ".cache" / "previews" / "node_modules"
PAGE = """<!doctype html><link rel=stylesheet href=style.css><body><h1>Plums</h1><p id=told></p><script>
document.cookie = 'app=1; path=/';
const seen = [document.cookie, location.pathname.replace(/[0-9a-f]{16}/, 'ID'),
  document.referrer ? 'referred' : 'direct'];
fetch('/v1/sessions').then((r) => seen.push(r.status)).then(() => fetch('data.txt')).then((r) => r.text()).then((t) => {
  seen.push(t.trim()); told.textContent = seen.join(' '); });</script>"""

Use = Callable[[Browser], Awaitable[None]]


def in_chromium(use: Use) -> None:
    async def run() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_executable(), args=["--no-sandbox"])
            try:
                await use(browser)
            finally:
                await browser.close()

    asyncio.run(run())


async def typed(page: Page, text: str) -> None:
    for letter in text:
        await page.keyboard.press({" ": "Space", "\n": "Enter", ">": "Shift+>"}.get(letter, letter))


def test_the_terminal_and_a_port_from_the_live_page(service: Service) -> None:
    session = service.lease(lease_seconds=3600)
    service.call(session, "make_folder", path="site")
    service.call(session, "write", path="site/index.html", data=PAGE)
    service.call(session, "write", path="site/data.txt", data="from inside")
    service.call(session, "write", path="site/style.css", data="h1 { color: rgb(1, 2, 3) }")
    service.call(session, "run", command="cd site && (python3 -m http.server 3000 >/dev/null 2>&1 & disown); cd")

    async def use(browser: Browser) -> None:
        context = await browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        live = await context.new_page()
        problems: list[str] = []
        live.on("pageerror", lambda error: problems.append(str(error)))
        await live.goto(f"{service.address}/#key={ANN}")
        await live.locator("#filter").fill(session["id"])
        card = live.locator(".card:visible")
        await expect(card).to_have_count(1)
        await expect(card.locator("img")).to_have_js_property("naturalWidth", 640)  # the words of its shell
        await card.click()
        await expect(live.locator("#facts")).to_contain_text("3000")
        async with context.expect_page() as opened:
            await live.get_by_role("button", name="terminal").click()
        terminal = await opened.value
        await expect(terminal.locator("#state")).to_have_text("connected")
        assert (
            terminal.url
            == f"http://{session['id']}.localhost:{urlsplit(service.address).port}/s/{session['id']}/terminal/"
        )
        await terminal.locator("#terminal").click()
        await typed(terminal, "echo $((6 * 7))tiny\n")
        await expect(terminal.locator("#terminal")).to_contain_text("42tiny")
        await typed(terminal, "cat > made.txt\nplum")
        await terminal.keyboard.press("Backspace")
        await typed(terminal, "s\n")
        await terminal.keyboard.press("Control+d")
        await typed(terminal, "echo done$((1 + 1))\n")
        await expect(terminal.locator("#terminal")).to_contain_text("done2")
        async with context.expect_page() as opened:
            await live.get_by_role("button", name="port 3000").click()
        shown = await opened.value
        await expect(shown.locator("#told")).to_contain_text("from inside")
        # Its own cookie and no other; not the service's API; no address of the service as its referrer.
        assert await shown.locator("#told").text_content() == "app=1 /s/ID/port/3000/ direct 404 from inside"
        assert await shown.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
        assert await shown.evaluate("opener") is None and not await shown.evaluate("sessionStorage.length")
        await shown.goto(shown.url.replace("port/3000/", ""))
        await expect(shown.locator("#doors")).to_contain_text("port 3000")
        assert not problems

    in_chromium(use)
    assert service.call(session, "read", path="made.txt")["data"] == "plus\n"
    service.http.delete(f"/v1/sessions/{session['id']}")


def test_a_page_of_a_session_reaches_no_other(service: Service, computer: dict[str, Any]) -> None:
    """A hostile page, in a browser that was let into both sessions: it is a stranger to the other one, and to us."""
    evil = service.lease()
    service.call(evil, "write", path="index.html", data="<!doctype html><body>evil")
    service.call(evil, "run", command="python3 -m http.server 3000 >/dev/null 2>&1 & disown; sleep 1")

    async def use(browser: Browser) -> None:
        context = await browser.new_context()
        victim, page = await context.new_page(), await context.new_page()
        await victim.goto(f"{service.address}/s/{computer['id']}/?token={computer['token']}")
        await page.goto(f"{service.address}/s/{evil['id']}/port/3000/?token={evil['token']}")
        other = victim.url
        tries = {
            "fetch": f"fetch('{other}page/info', {{credentials: 'include'}}).then((r) => r.text())",
            "post": f"fetch('{service.address}/v1/sessions', {{method: 'POST', body: '{{}}'}}).then((r) => r.text())",
            "frame": f"new Promise((done) => {{ const f = document.createElement('iframe'); f.src = '{other}';"
            " f.onload = () => { try { done(f.contentDocument.body.innerHTML) } catch (e) { done('refused') } };"
            " document.body.append(f) })",
            "socket": f"new Promise((done) => {{ const s = new WebSocket('ws{other[4:]}terminal/socket');"
            " s.onopen = () => done('open'); s.onerror = () => done('refused') })",
        }
        for name, script in tries.items():
            told = await page.evaluate(f"({script}).catch((error) => 'refused')")
            assert told == "refused" or (name == "frame" and computer["id"] not in str(told)), (name, told)
        assert evil["id"] in await page.evaluate("fetch(location.href).then((r) => r.url)")

    in_chromium(use)
    service.http.delete(f"/v1/sessions/{evil['id']}")


@pytest.mark.skipif(not ASSETS.is_dir(), reason="xterm.js is not installed: launch/previews.sh fetches it")
def test_the_terminal_by_xterm(tmp_path: Path) -> None:
    require_containers()
    config = ServiceConfig(OWNERS, port=0, assets=ASSETS)
    sessions = ComputerSessions(ContainedComputers(), tmp_path)

    async def use(browser: Browser) -> None:
        context = await browser.new_context()
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        await page.goto(f"{address}/s/{session['id']}/terminal/?token={session['token']}")
        await expect(page.locator("#state")).to_have_text("connected")
        await expect(page.locator(".xterm-screen")).to_be_visible()
        await page.locator(".xterm-screen").click()
        await page.keyboard.type("printf '\\033[31m%s\\n' $((40 + 2))red; stty size; tty\n")
        await expect(page.locator(".xterm-rows, .xterm-accessibility")).to_contain_text("42red")

    with serving(make_app(config, ComputersKind(sessions)), config, plain=True) as address:
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        leased = httpx.post(f"{address}/v1/sessions", json={"kind": "computer"}, headers=headers, timeout=60)
        session = leased.json()
        in_chromium(use)


@pytest.fixture
def desktop(service: Service) -> Iterator[dict[str, Any]]:
    require_desktop()
    session = service.lease(parts=["shell", "files", "desktop"], width=640, height=480, lease_seconds=3600)
    yield session
    service.http.delete(f"/v1/sessions/{session['id']}")


def test_a_desktop_as_it_moves_and_a_hand_on_it(service: Service, desktop: dict[str, Any]) -> None:
    service.call(desktop, "launch", application="terminal")
    path = f"/v1/sessions/{desktop['id']}/files"

    async def use(browser: Browser) -> None:
        page = await browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        await page.goto(f"{service.address}/s/{desktop['id']}/desktop/?token={desktop['token']}")
        screen = page.locator("#screen")
        await expect(screen).to_have_js_property("naturalWidth", 640)
        await screen.click(position={"x": 300, "y": 200})
        await typed(page, "echo by hand > hand.txt\n")
        await expect(screen).to_have_attribute("data-frames", re.compile(r"[2-9]|\d\d+"))
        # What is no event is no end of the stream.
        await page.evaluate('socket.send(\'nonsense\'); socket.send(\'{"events": [{"type": "Explode"}]}\')')
        for _ in range(600):
            made = await asyncio.to_thread(service.http.get, path, params={"path": "hand.txt"})
            if made.content == b"by hand\n":
                break
            await asyncio.sleep(0.1)
        assert made.content == b"by hand\n"
        assert service.refused(desktop, 423, "run", command="echo")["code"] == "held"
        await expect(page.locator("#state")).to_have_text("connected")

    in_chromium(use)
    assert service.call(desktop, "run", command="echo free")["output"] == "free\n"  # it was given back
    moved = service.call(desktop, "act", events=[{"type": "MouseMove", "x": 5, "y": 5}])
    assert moved["png"] and moved["data"] is None
    assert service.http.get(f"/v1/sessions/{desktop['id']}/screenshot").content[:4] == b"\x89PNG"
