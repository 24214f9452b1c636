"""Computers of the service with a page of the sandbox's browser, and with a phone: one file system, over HTTP."""

from __future__ import annotations

import base64
import io
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from PIL import Image

from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.computers.kind import ComputersKind
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.sandbox.service.gateway.apis import api_mounts
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.web.running import serving
from tests.sandbox.service.conftest import ANN, OWNERS, Service, require_containers
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess, pytest.mark.slow]
FORM = (
    "<!doctype html><title>Fruit</title><style>* { margin: 0; font-size: 30px }</style>"
    "<a href=plum.txt download style='display: block; height: 60px; background: #c33'>plum</a>"
    "<a href=more.html style='display: block; height: 60px; background: #3c3'>more</a>"
    "<input type=file onchange=\"document.title = this.files[0].name\" style='height: 60px'>"
)


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with pages."""
    require_containers()
    config = ServiceConfig(OWNERS, port=0)
    sessions = ComputerSessions(
        ContainedComputers(), tmp_path_factory.mktemp("screens"), config=SessionsConfig(collect_seconds=0.05),
        browsers=BrowserConfig(browsers=1, pages_per_browser=4),
    )  # fmt: skip
    with (
        serving(make_app(config, ComputersKind(sessions), mounts=api_mounts()), config, plain=True) as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ANN}"}, timeout=100) as http,
    ):
        yield Service(address, sessions, http)


def size_of(answer: dict[str, Any]) -> tuple[int, int]:
    return Image.open(io.BytesIO(base64.b64decode(answer["png"]))).size


def click(x: int, y: int) -> list[dict[str, Any]]:
    return [{"type": kind, "x": x, "y": y} for kind in ("MouseMove", "MouseDown", "MouseUp")]


def test_a_page_the_shell_and_the_dialog_see_one_file_system(screens: Service) -> None:
    session = screens.lease(parts=["shell", "files", "browser"], width=320, height=240)
    screens.call(session, "make_folder", path="site")
    screens.call(session, "write", path="site/index.html", data=FORM)
    screens.call(session, "write", path="site/more.html", data="<title>More</title>")
    screens.call(session, "write", path="site/plum.txt", data="from the site\n")
    screens.call(session, "run", command="cd site && python3 -m http.server 8000 >/dev/null 2>&1 & disown; sleep 1")
    shown = screens.call(session, "navigate", address="localhost:8000")
    assert size_of(shown) == (320, 240) and not shown["restarted"]
    assert shown["data"]["title"] == "Fruit" and shown["data"]["url"] == "http://localhost:8000/"
    assert "one of this computer" in screens.refused(session, 400, "navigate", address="http://8.8.8.8/")["message"]
    shown = screens.call(session, "act", events=click(50, 20), advance_ms=200)
    paths = wait_until(lambda: screens.call(session, "downloads")["paths"])
    assert paths == ["/home/agent/Downloads/plum.txt"]
    assert screens.call(session, "run", command="cat Downloads/plum.txt")["output"] == "from the site\n"
    shown = screens.call(session, "act", events=click(50, 150), advance_ms=200)
    assert shown["data"]["dialog"] is not None
    shown = screens.call(session, "choose_files", paths=["Downloads/plum.txt"])
    assert shown["data"]["title"] == "plum.txt"
    assert screens.call(session, "act", events=click(50, 80), advance_ms=200)["data"]["title"] == "More"
    assert screens.call(session, "back")["data"]["url"] == "http://localhost:8000/"
    thumbnail = screens.http.get(f"/v1/sessions/{session['id']}/screenshot").content
    assert Image.open(io.BytesIO(thumbnail)).size == (320, 240)

    aio, bearer = f"/s/{session['id']}/aio/v1/browser", {"Authorization": f"Bearer {session['token']}"}
    info = screens.http.get(f"{aio}/info", headers=bearer).json()["data"]
    assert info["viewport"] == {"width": 320, "height": 240}
    pressed = {"action_type": "CLICK", "x": 50, "y": 80}
    assert screens.http.post(f"{aio}/actions", headers=bearer, json=pressed).status_code == 200
    assert screens.call(session, "screenshot")["data"]["title"] == "More"
    moved = screens.http.post(f"{aio}/page/navigate", headers=bearer, json={"url": "http://localhost:8000/"}).json()
    assert moved["data"] == {"url": "http://localhost:8000/", "title": "Fruit"}
    assert "[more]" in screens.http.get(f"{aio}/page/markdown", headers=bearer).json()["data"]["markdown"].lower()

    path = f"/v1/sessions/{session['id']}"
    (fork,) = screens.http.post(f"{path}/fork", json={"way": "files"}).json()["sessions"]
    assert screens.call(fork, "run", command="ls Downloads")["output"] == "plum.txt\n"
    assert screens.call(fork, "screenshot")["data"]["url"] == "about:blank"
    answer = screens.http.post(f"{path}/suspend", json={})
    assert answer.status_code == 200, answer.text
    shown = screens.call(session, "screenshot")  # resumes it
    assert shown["restarted"] and shown["data"]["title"] == "Fruit"
    assert not screens.call(session, "screenshot")["restarted"]
    screens.release()


def test_a_page_that_ends_costs_one_call(screens: Service, kill_browsers: Callable[[int], list[int]]) -> None:
    session = screens.lease(parts=["shell", "browser"], width=200, height=160)
    screens.call(
        session, "run", command="echo '<title>Here</title>' > a.html; python3 -m http.server >/dev/null 2>&1 &"
    )
    screens.call(session, "run", command="until (: </dev/tcp/localhost/8000) 2>/dev/null; do sleep 0.1; done")
    assert screens.call(session, "navigate", address="localhost:8000/a.html")["data"]["title"] == "Here"
    assert kill_browsers(os.getpid())
    assert screens.refused(session, 502, "act", events=click(5, 5), advance_ms=10)["code"] == "sandbox_failure"
    shown = screens.call(session, "screenshot")
    assert shown["restarted"] and shown["data"]["title"] == "Here"
    screens.release()


def test_what_a_page_cannot_be_asked(screens: Service, service: Service) -> None:
    response = service.http.post("/v1/sessions", json={"kind": "computer", "parts": ["browser"]})
    assert response.status_code == 400 and "no pages here" in response.json()["error"]["message"]
    session = screens.lease(parts=["browser"], width=200, height=160)
    for name, fields, words in (
        ("act", {"events": [], "read": "1"}, "read must be left out"),
        ("act", {"events": [{"type": "Nothing"}]}, "events"),
        ("navigate", {}, "address must be text"),
        ("choose_files", {"paths": ["a"] * 101}, "paths must be at most 100 texts"),
        ("choose_files", {"paths": ["a"]}, "a"),
        ("run", {"command": "ls"}, "call must be one of act"),
    ):
        assert words in screens.refused(session, 400, name, **fields)["message"]
    screens.release()


@pytest.fixture
def adb() -> None:
    pytest.importorskip("adbutils")
    if shutil.which("adb") is None:
        pytest.skip("needs adb")


@pytest.mark.usefixtures("adb")
def test_a_phone_is_used_by_touch_and_files_go_both_ways(screens: Service) -> None:
    session = screens.lease(parts=["shell", "files", "phone"], phone_width=180, phone_height=320)
    assert (session["width"], session["height"]) == (180, 320)
    shown = screens.call(session, "phone_act", actions=[{"action": "open_app", "app": "Notes"}])
    assert size_of(shown) == (180, 320) and "notes" in shown["data"]["package"] and not shown["restarted"]
    screens.call(session, "write", path="to the phone ü.txt", data="plum\n")
    screens.call(session, "phone_push", path="to the phone ü.txt", to="/sdcard/Download/a b.txt")
    ran = screens.call(session, "phone_shell", argv=["cat", "/sdcard/Download/a b.txt"])
    assert (ran["status"], ran["stdout"]) == (0, "plum\n")
    assert screens.call(session, "phone_pull", path="/sdcard/Download/a b.txt", to="back.txt") == {"bytes": 5}
    assert screens.call(session, "run", command="cat back.txt")["output"] == "plum\n"
    for fields, words in (
        ({"actions": []}, "actions must be 1 to 100"),
        ({"actions": [{"action": "fly"}]}, "actions[0].action must be one of click"),
        ({"actions": [{"action": "click", "x": 3}]}, "actions[0].y must be pixels"),
        ({"actions": [{"action": "open_app", "app": "Nothing"}]}, "Nothing"),
    ):
        assert words in screens.refused(session, 400, "phone_act", **fields)["message"]
    assert "No such" in screens.refused(session, 400, "phone_push", path="gone", to="/sdcard/x")["message"]
    assert "must be a file" in screens.refused(session, 400, "phone_pull", path="/sdcard/gone", to="x")["message"]

    path = f"/v1/sessions/{session['id']}"
    home = screens.call(session, "act", events=[{"type": "KeyDown", "key": "Home"}], advance_ms=100)
    assert home["data"]["package"] != shown["data"]["package"]
    thumbnail = screens.http.get(f"{path}/screenshot").content
    assert Image.open(io.BytesIO(thumbnail)).size == (180, 320)
    answer = screens.http.post(f"{path}/suspend", json={})
    assert answer.status_code == 200, answer.text
    again = screens.call(session, "phone_screenshot")
    assert not again["restarted"] and again["png"] == home["png"]
    screens.release()


@pytest.mark.usefixtures("adb")
def test_a_copy_of_a_computer_has_a_phone_that_goes_on_by_itself(screens: Service) -> None:
    session = screens.lease(parts=["shell", "phone"], phone_width=180, phone_height=320)
    shown = screens.call(session, "phone_act", actions=[{"action": "open_app", "app": "Notes"}])
    answer = screens.http.post(f"/v1/sessions/{session['id']}/fork", json={"way": "live"})
    if answer.status_code != 201 and "CRIU" in answer.text:
        pytest.skip("needs CRIU")
    (fork,) = answer.json()["sessions"]
    assert screens.call(fork, "phone_screenshot")["png"] == shown["png"]
    screens.call(fork, "phone_act", actions=[{"action": "press_home"}])
    assert screens.call(session, "phone_screenshot")["png"] == shown["png"]
    screens.release()
