"""Previews in a real Chromium: terminal and ports of a computer, opened from the live page."""

from __future__ import annotations

import asyncio
import io
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from playwright.async_api import Browser, Page, expect

from tests.sandbox.service.chromium import PATIENCE_MS, in_chromium, on_a_page, require_asset
from tests.sandbox.service.conftest import ANN, Service
from tests.waiting import until, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
PAGE = """<!doctype html><link rel=stylesheet href=style.css><body><h1>Plums</h1><p id=told></p><script>
document.cookie = 'app=1; path=/';
const seen = [document.cookie, location.pathname.replace(/[0-9a-f]{16}/, 'ID'),
  document.referrer ? 'referred' : 'direct'];
fetch('/v1/sessions').then((r) => seen.push(r.status)).then(() => fetch('data.txt')).then((r) => r.text()).then((t) => {
  seen.push(t.trim()); told.textContent = seen.join(' '); });</script>"""


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
        await expect(shown.locator("#mounts")).to_contain_text("port 3000")
        assert not problems

    in_chromium(use)
    assert service.call(session, "read", path="made.txt")["data"] == "plus\n"
    service.http.delete(f"/v1/sessions/{session['id']}")


def test_a_terminal_moves_on_the_live_page_and_a_person_takes_it_over(service: Service) -> None:
    session = service.lease(lease_seconds=3600)
    service.call(session, "run", command="echo ready")
    count = "until [ -e seen ]; do echo plum $((++i)); sleep 0.2; done"
    path = f"/v1/sessions/{session['id']}"

    async def use(page: Page) -> None:
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        await page.goto(f"{service.address}/#key={ANN}")
        await page.locator("#filter").fill(session["id"])
        card = page.locator(".card:visible")
        await expect(card.locator("img")).to_have_js_property("naturalWidth", 640)
        running = asyncio.create_task(asyncio.to_thread(service.call, session, "run", command=count))
        shown: set[str | None] = set()

        async def moves() -> bool:
            shown.add(await card.locator("img").get_attribute("src"))
            return len(shown) >= 4

        await until(moves)  # one call, and many pictures
        await asyncio.to_thread(service.call, session, "write", path="seen", data="")
        await running
        await card.click()
        await page.get_by_role("button", name="Take over").click()
        await page.get_by_label("Command").fill("echo by-hand > made.txt; read word; echo $word > typed.txt")
        await page.keyboard.press("Enter")
        await expect(page.locator("#hint")).to_contain_text("runs on")
        held = await asyncio.to_thread(
            service.http.post, f"{path}/call", json={"call": {"call": "run", "command": "echo agent"}}
        )
        assert held.status_code == 423
        await page.get_by_label("Command").fill("plüm 'pie'")
        await page.keyboard.press("Enter")
        await expect(page.locator("#hint")).to_be_empty()
        await page.get_by_role("button", name="Give back").click()
        await expect(page.get_by_label("Command")).to_be_hidden()

    on_a_page(use)
    wait_until(lambda: not service.http.get(path).json()["person"])
    assert service.call(session, "run", command="cat made.txt typed.txt")["output"] == "by-hand\nplüm 'pie'\n"
    service.http.delete(path)


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


def test_the_terminal_by_xterm(previews: Service) -> None:
    require_asset("@xterm/xterm")
    session = previews.lease()

    async def use(page: Page) -> None:
        await page.goto(f"{previews.address}/s/{session['id']}/terminal/?token={session['token']}")
        await expect(page.locator("#state")).to_have_text("connected")
        await expect(page.locator(".xterm-screen")).to_be_visible()
        await page.locator(".xterm-screen").click()
        await page.keyboard.type("printf '\\033[31m%s\\n' $((40 + 2))red; stty size; tty\n")
        await expect(page.locator(".xterm-rows, .xterm-accessibility")).to_contain_text("42red")
        # It fills its window, also when that changes, and a row is high enough for what hangs below its line.
        for height in (900, 500):
            await page.set_viewport_size({"width": 1000, "height": height})
            rows = "document.querySelector('.xterm-rows').getBoundingClientRect().bottom"
            await until(lambda: page.evaluate(f"Math.abs({rows} - innerHeight + 8) < 24"))  # noqa: B023
        await page.keyboard.type("PS1=; clear; sleep .5; printf '____\\n%.0s' 1 2 3 4\n")
        row = page.locator(".xterm-rows > div").nth(1)
        await expect(row).to_have_text("____")
        shot = await row.screenshot()
        assert np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"))[:, :30].max() > 100  # red underscores alone

    on_a_page(use)
    previews.http.delete(f"/v1/sessions/{session['id']}")
