"""AIO Sandbox's own client, unmodified, over a page of ours: screenshots, actions, addresses, elements."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, Site
from tars_jax.sandbox.compat.aio import aio_app
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving
from tests.sandbox.compat.clients import GATE, TOKEN, client, refused

pytestmark = [pytest.mark.multiprocess, pytest.mark.browser]

PAGE = """<title>First</title><body style='margin:0' ondblclick='document.body.style.background=`red`'>
<a href='second.html' style='position:absolute;top:60px'>on to the second</a>
<p style='padding-top:100px'>Some words, WORDS.
<form onsubmit='document.title = `sent ${name.value} ${color.value} ${agreed.checked}`; return false'>
<input name=name value=old><select name=color><option value=r>red<option value=g>green</select>
<input type=checkbox name=agreed><button>Send</button></form>
<button style='position:absolute;top:2000px' onclick='setTimeout(() => document.title = `late`, 500)'>Below</button>"""


class OnItsLoop:
    """A page as the server's loop can call it."""

    def __init__(self, page: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._page, self._loop = page, loop

    def __getattr__(self, name: str) -> Any:
        async def called(*values: Any, **named: Any) -> Any:
            work = getattr(self._page, name)(*values, **named)
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

        return called


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text(PAGE)
    (folder / "second.html").write_text("<title>Second</title><h1>Second</h1>")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(90)

    manager = BrowserManager(BrowserConfig(browsers=1, width=320, height=240, call_timeout_s=60))
    try:
        run(manager.start())
        page = run(manager.open_page(Site(folder)))
        run(page.start("0", seed=1))
        over: Any = OnItsLoop(page, loop)
        machine: Any = None
        with serving(aio_app(machine, GATE, page=over), ListenAddress(), plain=True) as address:
            yield client("agent_sandbox").Sandbox(base_url=address, headers={"X-API-Key": TOKEN})
    finally:
        run(manager.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def titled(sandbox: Any) -> str:
    return sandbox.browser_tabs.list().data[0]["title"]


def test_it_is_seen_and_acted_on(sandbox: Any) -> None:
    browser = client("agent_sandbox.browser")
    info = sandbox.browser.get_info().data
    assert (info.viewport.width, info.viewport.height) == (320, 240)
    sandbox.browser.execute_action(request=browser.Action_DoubleClick(x=300, y=10))
    with Image.open(io.BytesIO(b"".join(sandbox.browser.screenshot()))) as image:
        assert image.convert("RGB").getpixel((310, 5)) == (255, 0, 0)
    with Image.open(io.BytesIO(b"".join(sandbox.browser_page.screenshot(format="jpeg")))) as image:
        assert (image.format, image.size) == ("JPEG", (320, 240))
    for action in (browser.Action_Typing(text="x"), browser.Action_Hotkey(keys=["ctrl", "a"])):
        assert sandbox.browser.execute_action(request=action).status == "success"
    with refused(400):
        sandbox.browser.execute_action(request=browser.Action_Press(key="no such key"))


def test_addresses(sandbox: Any) -> None:
    page = sandbox.browser_page
    (tab,) = sandbox.browser_tabs.list().data
    assert tab["title"] == "First" and tab["active"] and sandbox.browser_tabs.activate(0).success
    page.click(selector="a")
    assert titled(sandbox) == "Second"
    page.back()
    assert titled(sandbox) == "First"
    page.forward()
    assert titled(sandbox) == "Second"
    assert page.navigate(url=tab["url"]).data["title"] == "First"
    page.reload()
    page.wait(type="load")
    for call in (lambda: sandbox.browser_tabs.create(url=tab["url"]), lambda: page.wait(type="download"),
                 lambda: sandbox.browser_state.save(path="/x")):  # fmt: skip
        with refused(501):
            call()


def test_elements(sandbox: Any) -> None:
    page = sandbox.browser_page
    page.fill(selector="[name=name]", text="plum ü")
    page.select_option(selector="select", label="green")
    page.check(selector="[name=agreed]")
    elements = page.get_elements().data
    (send,) = [each["index"] for each in elements if each["text"] == "Send"]
    page.click(index=send)
    assert titled(sandbox) == "sent plum ü g true"
    page.uncheck(selector="[name=agreed]")
    page.fill_form(items=[{"selector": "[name=name]", "text": "fig"}])
    page.click(selector="[name=name]")
    page.press_key(key="enter")
    assert titled(sandbox) == "sent fig g false"
    page.click(selector="body > button")  # below what is seen
    page.wait(type="function", expression="document.title === 'late'")
    with refused(404):
        page.click(selector="#none")
    with refused(404):
        page.click(selector="[[")
    with refused(408):
        page.wait(type="selector", selector="#none", timeout=100)
    page.wait(type="selector", selector="#none", state="detached")


def test_what_it_holds(sandbox: Any) -> None:
    page = sandbox.browser_page
    assert "Some words" in page.get_text().data and "<form" in page.get_html().data
    assert [each["text"] for each in page.find_text(keyword="words").data] == ["Some words, WORDS."]
    assert page.evaluate(expression="6 * 7").data == 42
    with refused(400):
        page.evaluate(expression="no.such")
