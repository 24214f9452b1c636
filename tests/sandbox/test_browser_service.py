"""The browser service: sessions over HTTP, the client in the manager's place, what it refuses, its debugger."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import websockets.sync.client as websockets
from playwright.async_api import async_playwright, expect
from websockets.exceptions import ConnectionClosed

from tars_jax import InputError
from tars_jax.envs.browser_game import BrowserGame
from tars_jax.envs.gym import GameEnv
from tars_jax.envs.kept_pages import KeptPages
from tars_jax.sandbox.browser import (
    BrowserConfig,
    BrowserManager,
    MouseDown,
    MouseUp,
    PageError,
    SandboxFailure,
    Site,
    find_executable,
)
from tars_jax.sandbox.browser.service import BrowserClient, PagesKind, debugging
from tars_jax.sandbox.browser.sessions import PageSessions
from tars_jax.sandbox.browser.sessions.recording import play
from tars_jax.sandbox.failures import QuotaExceeded
from tars_jax.sandbox.service.api import openings
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.config import Owner, ServiceConfig, read_owners
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.tasks.sampling import sample_task
from tars_jax.web.running import _Server, serving
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
OPERATOR, ANN, BOB = "operator-key", "key-of-ann", "key-of-bob"
OWNERS = (Owner("operator", OPERATOR), Owner("ann", ANN), Owner("bob", BOB, 1))
PAGE = """<body style="margin:0; background: #124"><script>let clicks = 0;
  addEventListener('click', () => { clicks += 1; document.body.style.background = `rgb(${clicks * 40}, 80, 90)`;
    console.log('click', clicks); });</script>"""
CLICK = (MouseDown(30, 60), MouseUp(30, 60))
ACT = {"call": "act", "events": [{"type": "MouseDown", "x": 3, "y": 4}], "advance_ms": 20}

COOKIE = {"name": "a", "value": "b", "domain": "sandbox.invalid", "path": "/", "expires": -1, "sameSite": "Lax"}
COOKIE |= {"httpOnly": False, "secure": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service")
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text(f"<!doctype html>{PAGE}")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    config = ServiceConfig(OWNERS, port=0, roots=(folder / "site",), max_body_megabytes=1, person_seconds=0.2)
    sessions = PageSessions(
        BrowserManager(BrowserConfig(browsers=1, pages_per_browser=6, call_timeout_s=60)),
        SessionsConfig(max_sessions=5),
        folder / "sessions",
    )
    with serving(make_app(config, PagesKind(sessions, config)), config, plain=True) as address:
        yield address


@pytest.fixture
def http(address: str) -> Iterator[httpx.Client]:
    """As ann, whose sessions are released after each test."""
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ANN}"}, timeout=100) as http:
        yield http
        for session in http.get("/v1/sessions").json()["sessions"]:
            http.delete(f"/v1/sessions/{session['id']}")


def leased(http: httpx.Client, folder: Path, **more: Any) -> dict[str, Any]:
    response = http.post("/v1/sessions", json={"site": {"root": str(folder / "site")}, **more})
    assert response.status_code == 201, response.text
    return response.json()


def refused(response: httpx.Response, status: int, param: str | None = None) -> str:
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert param is None or error["param"] == param, error
    return error["message"]


def test_sessions_over_http(http: httpx.Client, folder: Path) -> None:
    one = leased(http, folder, lease_seconds=33, width=64, height=48)
    path = f"/v1/sessions/{one['id']}"
    assert (one["lease_seconds"], one["calls"], len(one["token"])) == (33, 0, 32)
    answer = http.post(f"{path}/call", json={"call": {**ACT, "read": "innerWidth"}, "idempotency_key": "x"}).json()
    assert answer["data"] == 64 and http.get(f"{path}/screenshot").content[:4] == b"\x89PNG"
    assert (
        http.post(f"{path}/call", json={"call": {**ACT, "read": "innerWidth"}, "idempotency_key": "x"}).json() == answer
    )
    assert http.post(f"{path}/call", json={"call": {"call": "evaluate", "expression": "1 + 1"}}).json() == {"value": 2}
    seen = http.get(path).json()
    assert (seen["calls"], seen["data"], seen["last_call"]["expression"]) == (2, 64, "1 + 1")
    assert http.post(f"{path}/renew", json={"lease_seconds": 50}).json()["lease_seconds"] == 50
    assert http.post("/v1/renewals", json={"ids": [one["id"], "gone"]}).json() == {"ended": ["gone"]}
    refused(http.post("/v1/renewals", json={"ids": [7]}), 400, "ids")
    assert [each["id"] for each in http.get("/v1/sessions").json()["sessions"]] == [one["id"]]
    place = http.get(f"{path}/checkpoint").json()
    assert place["url"] == "http://sandbox.invalid/index.html" and place["clock_ms"] == 20
    fork = http.post("/v1/sessions", json={"checkpoint": place}).json()
    assert http.get(f"/v1/sessions/{fork['id']}/screenshot").content == http.get(f"{path}/screenshot").content
    assert http.delete(path).status_code == 204
    refused(http.delete(path), 404)
    assert http.get("/v1/stats").json()["browsers"]["browsers"] >= 2  # one for each of the pages


def test_a_lease_that_is_asked_for_twice_is_one_session(http: httpx.Client, address: str, folder: Path) -> None:
    one = leased(http, folder, idempotency_key="w")
    again = leased(http, folder, idempotency_key="w")
    assert (again["id"], again["token"]) == (one["id"], one["token"])
    assert len(http.get("/v1/sessions").json()["sessions"]) == 1
    assert leased(http, folder, idempotency_key="v")["id"] != one["id"]
    assert http.delete(f"/v1/sessions/{one['id']}").status_code == 204
    assert leased(http, folder, idempotency_key="w")["id"] != one["id"]  # the first is over
    # A caller that goes away before the answer finds the page that is being opened.
    both = [threading.Thread(target=leased, args=(http, folder), kwargs={"idempotency_key": "u"}) for _ in range(3)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert len(http.get("/v1/sessions").json()["sessions"]) == 3


def test_a_lease_that_is_asked_for_again_after_a_restart_is_the_same_session(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    config = ServiceConfig(OWNERS, port=0, roots=(tmp_path,))
    body = {"site": {"root": str(tmp_path)}, "single_canvas": True, "idempotency_key": "w"}
    found = []
    for _ in range(2):
        sessions = PageSessions(BrowserManager(BrowserConfig(browsers=1)), folder=tmp_path / "sessions")
        with (
            serving(make_app(config, PagesKind(sessions, config)), config, plain=True) as address,
            httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ANN}"}, timeout=100) as http,
        ):
            session = leased_in_time(http, body)
            found.append((session["id"], session["token"]))
            assert len(http.get("/v1/sessions").json()["sessions"]) == 1
            refused(http.post("/v1/sessions", json={**body, "single_canvas": False}), 400)
            bearer = {"Authorization": f"Bearer {session['token']}"}
            assert httpx.get(f"{address}/v1/sessions/{session['id']}", headers=bearer).status_code == 200
    assert found[0] == found[1]
    (file,) = tmp_path.glob("sessions/*/session.json")
    assert file.stat().st_mode & 0o777 == 0o600  # a token is in it


def test_a_lease_that_nobody_waits_for_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that died while all places were taken keeps none from those that come after it."""
    monkeypatch.setattr(openings, "COMES_BACK_S", 0.3)
    (tmp_path / "index.html").write_text(PAGE)
    config = ServiceConfig(OWNERS, port=0, roots=(tmp_path,), open_seconds=0.5)
    manager = BrowserManager(BrowserConfig(browsers=1, pages_per_browser=1, call_timeout_s=60))
    body = {"site": {"root": str(tmp_path)}, "single_canvas": True}  # which opens in the browser that runs already
    with (
        serving(make_app(config, PagesKind(PageSessions(manager), config)), config, plain=True) as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ANN}"}, timeout=100) as http,
    ):
        first = leased_in_time(http, {**body, "idempotency_key": "v"})
        refused(http.post("/v1/sessions", json={**body, "idempotency_key": "w"}), 429)
        # Whoever comes back in time still waits for the same one.
        refused(http.post("/v1/sessions", json={**body, "idempotency_key": "w"}), 429)
        time.sleep(0.6)
        assert http.delete(f"/v1/sessions/{first['id']}").status_code == 204
        assert wait_until(lambda: http.get("/v1/sessions").json() == {"sessions": []})
        leased_in_time(http, {**body, "idempotency_key": "w"})


def leased_in_time(http: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    """Comes back at once where a busy machine takes longer than `open_seconds` to launch a browser and open a page."""
    while (response := http.post("/v1/sessions", json=body)).status_code != 201:
        refused(response, 429)
    return response.json()


def test_a_recording_that_cannot_be_packed_is_an_answer(http: httpx.Client, address: str, folder: Path) -> None:
    """And not a download that breaks off."""
    path = f"/v1/sessions/{leased(http, folder)['id']}"
    assert http.post(f"{path}/recording").status_code == 204
    whole = http.get(f"{path}/recording")
    assert whole.status_code == 200 and int(whole.headers["content-length"]) == len(whole.content)
    (journal,) = (file for file in (folder / "sessions").rglob("journal.jsonl") if (file.parent / "frames").is_dir())
    journal.rename(journal.with_suffix(".away"))
    # The server ends a connection on which an exception was raised.
    failed = httpx.get(f"{address}{path}/recording", headers={"Authorization": f"Bearer {ANN}"})
    assert "its log says more" in refused(failed, 500)
    journal.with_suffix(".away").rename(journal)
    assert http.get(f"{path}/recording").content == whole.content


def test_keys_and_tokens(http: httpx.Client, address: str, folder: Path) -> None:
    one = leased(http, folder)
    path = f"{address}/v1/sessions/{one['id']}"

    def status(key: str, method: str = "GET", url: str = path, **more: Any) -> int:
        return httpx.request(method, url, headers={"Authorization": f"Bearer {key}"}, **more).status_code

    assert [status(key) for key in (ANN, one["token"], OPERATOR, BOB, "nobody")] == [200, 200, 200, 404, 401]
    assert httpx.get(path).status_code == 401 and httpx.get(f"{path}?token={one['token']}").status_code == 401
    everybody = f"{address}/v1/sessions"
    assert [status(key, url=everybody) for key in (ANN, OPERATOR, one["token"])] == [200, 200, 401]
    for key, count in ((ANN, 1), (BOB, 0), (OPERATOR, 1)):
        listed = httpx.get(everybody, headers={"Authorization": f"Bearer {key}"}).json()["sessions"]
        assert len(listed) == count and not any("token" in session for session in listed)
    site = {"site": {"root": str(folder / "site")}}
    assert [status(BOB, "POST", everybody, json=site) for _ in range(2)] == [201, 429]  # his quota is one
    for _ in range(3):
        leased(http, folder)
    full = http.post("/v1/sessions", json=site)
    assert "all 5 sessions" in refused(full, 429) and full.headers["Retry-After"] == "1"
    assert httpx.get(f"{address}/health", headers={"Host": "evil.example"}).status_code == 400
    for session in httpx.get(everybody, headers={"Authorization": f"Bearer {BOB}"}).json()["sessions"]:
        assert status(BOB, "DELETE", f"{everybody}/{session['id']}") == 204


def test_what_is_malformed_is_refused_by_its_field(http: httpx.Client, folder: Path, tmp_path: Path) -> None:
    root = str(folder / "site")
    for body, param in (
        ({}, "site"),
        ([], None),
        ({"site": {}}, "site.root"),
        ({"site": {"root": "/etc"}}, "site.root"),
        ({"site": {"root": f"{root}/{'x' * 300}"}}, "site.root"),
        ({"site": {"root": f"{root}/../.."}}, "site.root"),
        ({"site": {"root": "tars_jax/../.."}}, "site.root"),
        ({"site": {"root": root, "mounts": {"x": "/etc"}}}, "site.mounts"),
        ({"site": {"root": root, "path": "x"}}, "site.path"),
        ({"site": {"root": root}, "width": 0}, "width"),
        ({"site": {"root": root}, "width": 1e3}, "width"),
        ({"site": {"root": root}, "lease_seconds": "long"}, "lease_seconds"),
        ({"site": {"root": root}, "network": "example.com"}, "network"),
        ({"site": {"root": root}, "network": ["http://x/"]}, "network[0]"),
        ({"site": {"root": root}, "widht": 3}, "widht"),
        ({"checkpoint": {"journal": [{"version": 1}]}}, "checkpoint"),
    ):
        refused(http.post("/v1/sessions", json=body), 400, param)
    assert "got 'none.html'" in refused(
        http.post("/v1/sessions", json={"site": {"root": root, "index": "none.html"}}), 400
    )
    refused(http.post("/v1/sessions", json={"site": {"root": root, "index": "x" * 300}}), 400)
    assert http.get("/v1/sessions").json()["sessions"] == []
    one = leased(http, folder)
    path = f"/v1/sessions/{one['id']}"
    place, stolen = (http.get(f"{path}/checkpoint").json() for _ in range(2))
    stolen["journal"][0]["page"]["root"] = "/etc"
    refused(http.post("/v1/sessions", json={"checkpoint": stolen}), 400, "checkpoint")
    secret = tmp_path / "storage.json"  # a text would be the path of a file that is read into the page
    secret.write_text('{"cookies": [], "origins": []}')
    for name, value in (
        ("storage", str(secret)),
        ("storage", {"origins": [{"origin": "file:///etc"}]}),
        ("storage", {"cookies": [{"name": "a"}]}),
        ("storage", {"cookies": [{**COOKIE, "sameSite": "Never"}]}),
        ("storage", {"cookies": [{**COOKIE, "expires": "soon"}]}),
        ("storage", {"origins": [{"origin": "http://a", "localStorage": [{"name": 1, "value": ""}]}]}),
        ("storage", {"origins": [{"origin": "http://a", "localStorage": 5}]}),
        ("width", 10**7),
        ("height", 0),
        ("mounts", []),
        ("root", root + "\0"),
        ("network", [5]),
        ("index", 5),
        ("at", "file:///etc/passwd"),
        ("clock", {"now": "0"}),
    ):
        forged = {**place, "journal": [{**place["journal"][0], "page": {**place["journal"][0]["page"], name: value}}]}
        assert f"page.{name}" in refused(http.post("/v1/sessions", json={"checkpoint": forged}), 400, "checkpoint")
    store = {"name": "s", "autoIncrement": False, "records": [{"key": {"no": "key"}, "value": 1}], "indexes": []}
    for databases in (7, [{"name": "d", "version": 0, "stores": []}], [{"name": "d", "version": 1, "stores": [store]}]):
        origins = [{"origin": "http://a", "localStorage": [], "indexedDB": databases}]
        page = {**place["journal"][0]["page"], "storage": {"origins": origins}}
        forged = {**place, "journal": [{**place["journal"][0], "page": page}]}
        assert "storage" in refused(http.post("/v1/sessions", json={"checkpoint": forged}), 400)
    heads: tuple[dict[str, Any], ...] = ({"before": -1}, {"before": 10**400}, {"page": []})
    for head in heads:
        forged = {**place, "journal": [{**place["journal"][0], **head}]}
        refused(http.post("/v1/sessions", json={"checkpoint": forged}), 400, "checkpoint")
    for call, param in (
        (None, "call"),
        ({"call": "jump"}, "call"),
        ({**ACT, "advance_ms": -1}, "advance_ms"),
        ({**ACT, "advance_ms": True}, "advance_ms"),
        ({**ACT, "advance_ms": 10**400}, "advance_ms"),
        ({**ACT, "events": [{"type": "MouseDown", "x": 1, "y": 1, "clicks": 0}]}, "events[0].clicks"),
        ({**ACT, "rate": 0}, "rate"),
        ({**ACT, "rate": "fast"}, "rate"),
        ({**ACT, "events": 3}, "events"),
        ({**ACT, "events": [{"type": "MouseDown", "x": 1}]}, "events[0].y"),
        ({**ACT, "events": [*ACT["events"], {"type": "Tap"}]}, "events[1].type"),  # type: ignore[misc]
        ({**ACT, "events": [{"type": "MouseDown", "x": 1, "y": 1, "button": "thumb"}]}, None),
        ({**ACT, "events": [{"type": "KeyDown", "key": "Hyper"}]}, "key"),
        ({**ACT, "read": 3}, "read"),
        ({"call": "start", "expression": "1", "seed": -1}, "seed"),
        ({"call": "evaluate", "expression": "1", "more": 1}, "more"),
    ):
        refused(http.post(f"{path}/call", json={"call": call}), 400, param)
    refused(http.post(f"{path}/call", content=b"{", headers={"Content-Type": "application/json"}), 400)
    refused(http.post(f"{path}/call", content=b"{}"), 415)
    refused(http.post(f"{path}/call", json={"call": ACT, "idempotency_key": "x" * 65}), 400, "idempotency_key")
    refused(http.post(f"{path}/call", content=b"1" * (2 << 20), headers={"Content-Type": "application/json"}), 413)
    refused(http.post(f"{path}/person", json={}), 400, "holds")
    for after in ("x", "²"):
        refused(http.get(f"{path}/events", params={"after": after}), 400, "after")
    refused(http.get(f"{path}/recording"), 404)
    refused(http.get("/v1/nothing"), 404)
    refused(http.put("/v1/sessions"), 405)
    assert "nothing is not defined" in refused(
        http.post(f"{path}/call", json={"call": {"call": "evaluate", "expression": "nothing"}}), 422
    )
    assert http.get(path).json()["calls"] == 1  # of all these only the last reached the page


def test_owners_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "owners.json"
    file.write_text('{"ann": {"key": "long-enough", "sessions": 2}, "bob": {"key": "also-long-enough"}}')
    assert read_owners(file) == (Owner("ann", "long-enough", 2), Owner("bob", "also-long-enough"))
    for text, words in (
        ("[]", "must hold a JSON object"),
        ("{", "must be a whole JSON file"),
        ('{"ann": "key"}', "ann must be an object"),
        ('{"ann": {"key": "long-enough", "sessions": -1}}', "ann.sessions must be .*; got -1"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=words):
            read_owners(file)
    for owners in ((Owner("operator", "short"),), (Owner("ann", "long-enough"),), (OWNERS[0], Owner("ann", OPERATOR))):
        with pytest.raises(InputError, match="service.owners"):
            ServiceConfig(owners)


def test_events_are_streamed(http: httpx.Client, folder: Path) -> None:
    one = leased(http, folder)
    path = f"/v1/sessions/{one['id']}"
    click = [{"type": kind, "x": 5, "y": 5} for kind in ("MouseDown", "MouseUp")]
    http.post(f"{path}/call", json={"call": {"call": "act", "events": click, "advance_ms": 0}})
    seen = []
    with http.stream("GET", f"{path}/events") as stream:
        for line in stream.iter_lines():
            if line.startswith("data: {"):
                seen.append(json.loads(line.removeprefix("data: ")))
                if seen[-1]["kind"] == "console":  # which may come after the answer to the call
                    http.post(f"{path}/person", json={"holds": True})
                if seen[-1]["kind"] == "person":
                    http.delete(path)
    assert [event["kind"] for event in seen] == ["hello", "navigation", "console", "person", "ended"]
    assert seen[2]["data"]["text"] == "click 1"


def test_a_download_is_fetched_by_its_number(http: httpx.Client, address: str, folder: Path) -> None:
    one = leased(http, folder)
    path = f"/v1/sessions/{one['id']}"
    link = "link = document.createElement('a'); link.href = 'data:text/html,hello'; link.download = 'naïve.html'"
    http.post(f"{path}/call", json={"call": {"call": "evaluate", "expression": f"{link}; link.click()"}})
    with http.stream("GET", f"{path}/events") as stream:
        told = next(json.loads(line[6:]) for line in stream.iter_lines() if '"download"' in line)["data"]
    (listed,) = http.get(f"{path}/downloads").json()["downloads"]
    assert {**listed, "kept": True} == told and (told["number"], told["name"], told["bytes"]) == (1, "naïve.html", 5)
    file = http.get(f"{path}/downloads/1")
    assert file.content == b"hello" and file.headers["content-type"] == "application/octet-stream"
    assert file.headers["content-disposition"] == "attachment; filename*=utf-8''na%C3%AFve.html"
    for number in ("0", "2", "-1", "²", "1.json", "..%2fsession.json", "9" * 5000):
        refused(http.get(f"{path}/downloads/{number}"), 404)
    for key, status in ((one["token"], 200), (BOB, 404), ("nobody", 401)):
        headers = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{address}{path}/downloads/1", headers=headers).status_code == status


def test_a_person_makes_calls_wait(http: httpx.Client, folder: Path) -> None:
    one = leased(http, folder)
    path = f"/v1/sessions/{one['id']}"
    assert http.post(f"{path}/call", json={"call": ACT, "person": True}).status_code == 200
    assert http.get(path).json()["person"]
    assert "a person holds the session" in refused(http.post(f"{path}/call", json={"call": ACT}), 423)
    assert http.post(f"{path}/person", json={"holds": False}).status_code == 200
    assert http.post(f"{path}/call", json={"call": ACT}).status_code == 200


def test_a_client_stands_in_for_a_manager(laboratory: Any, address: str, folder: Path, tmp_path: Path) -> None:
    """The same task, played in process and through the service: the same bytes."""
    task = sample_task("maze_path_of_light", "train", 3, seed=1, options={"level": 2})

    async def frames(opener: Any) -> list[bytes]:
        game = BrowserGame(opener)
        frame = await game.reset(task)
        page: Any = game.page
        shown = [frame.screenshot]
        for x, y in ((20, 50), (70, 40)):
            shown.append((await page.act([MouseDown(x, y), MouseUp(x, y)], advance_ms=120)).png)
        await game.close()
        return shown

    async def live() -> None:
        async with BrowserClient(address, ANN, lease_s=0.6) as client:
            assert await frames(client) == await frames(laboratory.manager)
            page = await client.open_page(Site(folder / "site"), record=True)
            await page.start("0", seed=1)
            await page.act(CLICK, advance_ms=10)
            await asyncio.sleep(1)  # longer than the lease: the client renews it
            with pytest.raises(PageError, match="nothing is not defined"):
                await page.evaluate("nothing")
            began = time.monotonic()
            assert (await page.act(CLICK, advance_ms=200, read="clicks", rate=1)).data == 2
            assert time.monotonic() - began >= 0.2  # virtual time took its time
            packed = tmp_path / "film.zip"
            packed.write_bytes(await page.recording())
            assert await play(packed, laboratory.manager) == 3
            assert (await page.checkpoint())["clock_ms"] == 210
            await page.close()
            await page.close()
            with pytest.raises(RuntimeError, match="closed"):
                await page.evaluate("1")
            with pytest.raises(InputError, match=r"site\.root must be .*; got '/etc'"):
                await client.open_page(Site(Path("/etc")))
        async with BrowserClient(address, BOB) as client:
            gone = await client.open_page(Site(folder / "site"))
            with pytest.raises(QuotaExceeded, match="bob has 1 sessions, of 1"):
                await client.open_page(Site(folder / "site"))
            await client.request("DELETE", f"/v1/sessions/{gone.id}")
            kept = KeptPages(client, 2)  # of its one session the page that waits gives way
            for size in ((100, 100), (200, 100)):
                await (await kept.open_page(Site(folder / "site"), size=size)).close()
            with pytest.raises(SandboxFailure) as lost:
                await gone.evaluate("1")
            assert lost.value.kind == "service"
        with pytest.raises(InputError, match="Authorization must be Bearer KEY"):
            await BrowserClient(address, "nobody").__aenter__()
        with pytest.raises(InputError, match=r"sandbox.address must be .* answers; got http://127.0.0.1:1: .*Connect"):
            await BrowserClient("http://127.0.0.1:1", "x", patience_s=0.1).__aenter__()

    laboratory.run(live())


def test_a_gymnasium_environment_plays_at_a_service(address: str, tmp_path: Path) -> None:
    def frames(**sandbox: str) -> list[np.ndarray]:
        env = GameEnv("maze_path_of_light", sandbox=sandbox)
        try:
            env.action_space.seed(3)
            return [env.reset(seed=1)[0], *(env.step(env.action_space.sample())[0] for _ in range(3))]
        finally:
            env.close()

    here = frames()
    with pytest.raises(InputError, match="sandbox.key_file must be a file with an owner's key"):
        frames(address=address)
    with pytest.raises(InputError, match="sandbox.key_file must be a file of the key alone; no such"):
        frames(address=address, key_file="no such")
    (tmp_path / "key").write_text(f"{BOB}\n")
    there = frames(address=address, key_file=str(tmp_path / "key"))
    assert all(np.array_equal(one, other) for one, other in zip(here, there, strict=True))


def test_the_live_page_shows_sessions_and_hands_one_over(http: httpx.Client, address: str, folder: Path) -> None:
    ids = [leased(http, folder, width=200, height=200)["id"] for _ in range(2)]
    for id in ids:
        http.post(f"/v1/sessions/{id}/call", json={"call": {**ACT, "read": "({score: clicks})"}})
    leased(http, folder)

    async def look() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_executable(), args=["--no-sandbox"] if os.geteuid() == 0 else []
            )
            page = await browser.new_page()
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda message: errors.append(message.text))
            await page.goto(f"{address}/#key={OPERATOR}")
            await expect(page.locator(".card img[src^=blob]")).to_have_count(2, timeout=1000 * PATIENCE_S)
            await expect(page.locator(".card img").nth(2)).to_be_hidden()  # of a session without a picture
            assert page.url == f"{address}/"  # the key does not stay there
            assert await page.inner_text(".card .chips") == "score 0" and await page.inner_text(".card .last")
            await page.click(".card")
            await page.click("#hand")
            await page.wait_for_selector("#stage.held")
            await page.click("#screen", position={"x": 50, "y": 50})
            await expect(page.locator("#facts")).to_contain_text("score1", timeout=1000 * PATIENCE_S)
            await page.wait_for_selector("#events .console")
            await page.keyboard.press("a")
            await page.click("#hand")
            await page.wait_for_selector("#stage:not(.held)")
            assert errors == []
            await browser.close()

    asyncio.run(look())
    states = [http.get(f"/v1/sessions/{id}").json() for id in ids]
    assert [state["data"] for state in states] == [{"score": 1}, {"score": 0}]
    assert states[0]["calls"] > 2 == states[1]["calls"] + 1 and not states[0]["person"]


def test_playwright_debugs_a_session(http: httpx.Client, laboratory: Any, address: str, folder: Path) -> None:
    one, other = leased(http, folder), leased(http, folder)
    endpoint = f"{address.replace('http', 'ws')}/v1/sessions/{one['id']}/cdp?token={one['token']}"

    async def debug() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.connect_over_cdp(endpoint)
            (page,) = browser.contexts[0].pages  # and not the other session's
            assert page.url == "http://sandbox.invalid/index.html"
            logged: list[str] = []
            page.on("console", lambda message: logged.append(message.text))
            await page.mouse.click(30, 30)
            assert await page.evaluate("clicks") == 1 and logged == ["click 1"]
            assert (await page.screenshot())[:4] == b"\x89PNG"
            with pytest.raises(Exception, match="refused"):
                await page.goto("file:///etc/passwd")
            await browser.close()

    laboratory.run(debug())
    path = f"/v1/sessions/{one['id']}/call"
    assert http.post(path, json={"call": {"call": "evaluate", "expression": "clicks"}}).json() == {"value": 1}
    assert http.get(f"/v1/sessions/{other['id']}").json()["live"]


def test_the_debugging_endpoint_has_one_page_and_no_browser(http: httpx.Client, address: str, folder: Path) -> None:
    one, other = leased(http, folder), leased(http, folder)
    place = f"{address.replace('http', 'ws')}/v1/sessions/{one['id']}/cdp"
    for query in ("", "?token=wrong", f"?token={other['token']}"):
        with pytest.raises(Exception, match="403|1008"):
            websockets.connect(place + query)
    with websockets.connect(f"{place}?token={one['token']}") as socket:

        def ask(method: str, params: Any = None, **more: Any) -> dict[str, Any]:
            socket.send(json.dumps({"id": 5, "method": method, "params": params, **more}))
            while True:
                answer = json.loads(socket.recv(timeout=PATIENCE_S))
                if "id" in answer:
                    return answer

        (target,) = ask("Target.getTargets")["result"]["targetInfos"]
        session = ask("Target.attachToTarget", {"targetId": target["targetId"]})["result"]["sessionId"]
        evaluate = ask("Runtime.evaluate", {"expression": "6 * 7"}, sessionId=session)
        assert evaluate["result"]["result"]["value"] == 42
        for method, params, more in (
            ("Target.createTarget", {"url": "about:blank"}, {}),
            ("Target.attachToTarget", {"targetId": "other"}, {}),
            ("Browser.crash", {}, {}),
            ("SystemInfo.getInfo", {}, {"sessionId": session}),
            ("Target.attachToBrowserTarget", {}, {"sessionId": session}),
            ("Page.close", {}, {"sessionId": session}),
            ("Page.navigate", {"url": "file:///etc/passwd"}, {"sessionId": session}),
            ("DOM.setFileInputFiles", {"files": ["/etc/passwd"]}, {"sessionId": session}),
            ("Runtime.evaluate", {"expression": "1"}, {"sessionId": "0" * 32}),
        ):
            assert "error" in ask(method, params, **more), method
        strange = '{"id": 3, "method": "Runtime.enable", "sessionId": []}'
        for text in ("{", "[]", '{"id": 3}', '{"id": 3, "method": "Runtime.enable", "params": 7}', strange):
            socket.send(text)
            assert json.loads(socket.recv(timeout=PATIENCE_S))["error"]["code"] == -32600
        assert ask("Browser.getVersion")["result"]["protocolVersion"]
        socket.send(json.dumps({"id": 9, "method": "Page.crash", "sessionId": session}))
        with pytest.raises(ConnectionClosed, match="the page is gone"):
            while True:
                socket.recv(timeout=PATIENCE_S)
    http.delete(f"/v1/sessions/{one['id']}")


def test_a_debugger_that_does_not_read_is_let_go(
    http: httpx.Client, address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = leased(http, folder)
    place = f"{address.replace('http', 'ws')}/v1/sessions/{one['id']}/cdp?token={one['token']}"
    with websockets.connect(place) as socket:
        socket.send(json.dumps({"id": 1, "method": "Target.setAutoAttach", "params": {"autoAttach": True}}))
        session = json.loads(socket.recv(timeout=PATIENCE_S))["params"]["sessionId"]
        socket.send(json.dumps({"id": 2, "method": "Runtime.enable", "sessionId": session}))
        while json.loads(socket.recv(timeout=PATIENCE_S)).get("id") != 2:
            pass
        monkeypatch.setattr(debugging, "MOST_WAITING", 5000)
        call = {"call": "evaluate", "expression": "console.log('x'.repeat(9000)), 6"}
        assert http.post(f"/v1/sessions/{one['id']}/call", json={"call": call}).json() == {"value": 6}
        with pytest.raises(ConnectionClosed, match="too much waits"):
            while True:
                socket.recv(timeout=PATIENCE_S)


def test_a_server_stops_though_nobody_hears_that_it_does() -> None:
    """Whoever read its output is gone, and the signal comes."""

    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    def unheard(words: str) -> None:
        raise BrokenPipeError

    server = _Server(app, ServiceConfig(OWNERS), unheard, True, lambda address: None, sockets=True)
    for number, over in ((signal.SIGTERM, "should_exit"), (signal.SIGINT, "force_exit")):
        with pytest.raises(BrokenPipeError):
            server.handle_exit(number, None)
        assert getattr(server, over)
