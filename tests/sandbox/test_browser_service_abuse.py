"""What ordinary clients and machines do to the browser service: odd requests, a full disk, a clock that jumps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, MouseDown, MouseUp, SandboxFailure, Site
from tars_jax.sandbox.browser.service import BrowserClient, PagesKind
from tars_jax.sandbox.browser.sessions import PageSessions
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.config import Owner, ServiceConfig
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.web.running import serving
from tests.sandbox.test_session_disk import full_disk
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
OPERATOR = "operator-key"
PAGE = """<body><pre id=shown></pre><script>let clicks = 0; addEventListener('click', () => {
  clicks += 1; shown.textContent = `${clicks} ${Math.random()} ${performance.now()}`; });</script>"""
CLICK = [{"type": kind, "x": 30, "y": 60} for kind in ("MouseDown", "MouseUp")]
ACT = {"call": "act", "events": CLICK, "advance_ms": 20, "read": "clicks"}
LOOK = {"call": "act", "events": [], "advance_ms": 0, "read": "clicks"}
JSON = {"Content-Type": "application/json"}


@contextlib.contextmanager
def service(folder: Path) -> Iterator[httpx.Client]:
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "index.html").write_text(f"<!doctype html>{PAGE}")
    config = ServiceConfig((Owner("operator", OPERATOR),), port=0, roots=(folder / "site",), body_seconds=5)
    manager = BrowserManager(BrowserConfig(browsers=1, pages_per_browser=6, width=96, height=96, call_timeout_s=60))
    sessions = PageSessions(manager, SessionsConfig(collect_seconds=0.05), folder / "sessions")
    with (
        serving(make_app(config, PagesKind(sessions, config)), config, plain=True) as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=100) as http,
    ):
        yield http


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def http(folder: Path) -> Iterator[httpx.Client]:
    with service(folder) as http:
        yield http


@pytest.fixture
def path(http: httpx.Client, folder: Path) -> Iterator[str]:
    """Of a session."""
    yield (path := f"/v1/sessions/{opened(http, folder).json()['id']}")
    http.delete(path)


def opened(http: httpx.Client, folder: Path, **more: Any) -> httpx.Response:
    return http.post("/v1/sessions", json={"site": {"root": str(folder / "site")}, **more})


def act(http: httpx.Client, path: str, call: dict[str, Any] = ACT, **more: Any) -> httpx.Response:
    return http.post(f"{path}/call", json={"call": call, **more})


def test_a_full_disk_is_507_and_nothing_is_lost(tmp_path: Path) -> None:
    with service(tmp_path) as http:
        path = f"/v1/sessions/{opened(http, tmp_path, record=True).json()['id']}"
        other = f"/v1/sessions/{opened(http, tmp_path).json()['id']}"
        before = act(http, path, idempotency_key="a").json()
        (journal,) = (tmp_path / "sessions" / path.rpartition("/")[2]).glob("journal-*.jsonl")
        kept = journal.read_bytes()
        with full_disk(len(kept) + 40):
            full = act(http, path, idempotency_key="b")
            assert (full.status_code, full.json()["error"]["code"]) == (507, "sandbox_failure")
            assert full.json()["error"]["message"].startswith("disk: the call does not count")
            assert journal.read_bytes() == kept
            assert http.get(path).json()["calls"] == 1
            assert act(http, path, idempotency_key="a").json() == before  # what is kept is still told
        with full_disk(10):
            assert http.post(f"{path}/renew", json={}).status_code == 200  # which writes nothing
            assert http.post(f"{path}/renew", json={"lease_seconds": 50}).status_code == 507
            assert http.post(f"{other}/recording").status_code == 507
            assert http.get(f"{path}/recording").status_code == 507  # packed on the disk
            assert http.get(f"{path}/checkpoint").status_code == 200
        assert http.get(path).json()["lease_seconds"] == 120
        after = act(http, path, idempotency_key="b").json()
        assert after["data"] == 2 and http.get(path).json()["calls"] == 2
        film = http.get(f"{path}/recording")
        assert film.status_code == 200 and http.get(f"{other}/recording").status_code == 404
    with service(tmp_path) as http:
        assert http.get("/v1/stats").json()["adopted"] == 2
        assert act(http, path, LOOK).json() == after
        assert http.get(f"{path}/recording").status_code == 200


def test_a_client_waits_for_room(http: httpx.Client, folder: Path, laboratory: Any) -> None:
    click, (_, hard) = (MouseDown(30, 60), MouseUp(30, 60)), resource.getrlimit(resource.RLIMIT_FSIZE)

    async def live() -> None:
        async with BrowserClient(str(http.base_url), OPERATOR, patience_s=30) as client:
            page = await client.open_page(Site(folder / "site"))
            with full_disk(100):
                client.patience_s = 0
                with pytest.raises(SandboxFailure) as full:
                    await page.act(click, advance_ms=20)
                assert full.value.kind == "disk"
                client.patience_s = 30
                threading.Timer(0.5, resource.setrlimit, (resource.RLIMIT_FSIZE, (hard, hard))).start()
                assert (await page.act(click, advance_ms=20, read="clicks")).data == 1

    laboratory.run(live())


def test_a_clock_that_jumps_collects_nothing(
    http: httpx.Client, folder: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    http.post(f"{path}/renew", json={"lease_seconds": 60})
    http.post(f"{path}/person", json={"holds": True})
    real = time.time
    for jump in (120, -120, 1e6):
        monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
        time.sleep(0.2)  # several looks of the collector
        seen = http.get(path).json()
        assert seen["person"] and 50 < seen["seconds_left"] <= 60 and 50 < seen["until"] - time.time() <= 60
    http.post(f"{path}/person", json={"holds": False})
    http.post(f"{path}/renew", json={"lease_seconds": 0.1})
    monkeypatch.setattr(time, "time", lambda: real() - 1e6)
    assert wait_until(lambda: http.get(path).status_code == 404)  # and one that stands keeps nothing


def test_two_calls_at_once_with_one_word_are_one(http: httpx.Client, folder: Path, path: str) -> None:
    answers: list[Any] = []
    asking = [
        threading.Thread(target=lambda: answers.append(act(http, path, idempotency_key="w").json())) for _ in range(4)
    ]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert len(answers) == 4 and all(answer == answers[0] for answer in answers) and answers[0]["data"] == 1
    other = act(http, path, {**ACT, "advance_ms": 21}, idempotency_key="w")
    assert (other.status_code, other.json()["error"]["param"]) == (400, "idempotency_key")
    one = opened(http, folder, idempotency_key="l")
    assert opened(http, folder, idempotency_key="l").json()["id"] == one.json()["id"]
    other = opened(http, folder, idempotency_key="l", width=50)
    assert (other.status_code, other.json()["error"]["param"]) == (400, "idempotency_key")
    http.delete(f"/v1/sessions/{one.json()['id']}")


def raw(http: httpx.Client, request: bytes, *, close: bool = False) -> bytes:
    """The status line of what the service answers to these bytes; b"" where it answers nothing."""
    parts = urlsplit(str(http.base_url))
    with socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        if close:
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            return connection.makefile("rb").readline().strip()
    return b""


def test_malformed_bodies_are_refused_on_every_route(http: httpx.Client, path: str) -> None:
    act(http, path)
    bodies = [
        b"", b"{", b"[]", b"7", b"null", b'"x"', b"\xff\xfe", b'{"call": "\xff"}', b"NaN", b'{"lease_seconds": NaN}',
        b'{"lease_seconds": 1e999}', b'{"lease_seconds": 1' + b"0" * 400 + b"}", b"1" * 5000, b"[" * 100_000,
        b'{"lease_seconds": 1, "lease_seconds": 2}', b'{"holds": true, "holds": false}', b'{"holds": 1}', b"{}{}",
        b'{"\\ud800": 1}', b'{"call": {"call": "evaluate", "expression": "\\ud800"}}',
        b'{"idempotency_key": "\\ud800"}',
        b'{"call": {"call": "act", "advance_ms": Infinity}}', b'{"call": {"call": "act", "advance_ms": 1e400}}',
        b'{"call": {"call": "act", "advance_ms": 1, "advance_ms": 1}}', b'{"checkpoint": {"journal": [[]]}}',
        b'{"checkpoint": {"journal": [{"version": 1e999}]}}', b'{"site": {"root": "\\u0000"}}',
        b'{"site": {"root": "tars_jax", "index": "\\ud800"}}', b"\x00", b"\xff\xfe{\x00}\x00}\x00",
    ]  # fmt: skip
    for route in ("/v1/sessions", f"{path}/call", f"{path}/person", f"{path}/renew"):
        for body in bodies:
            refusal = http.post(route, content=body, headers=JSON)
            assert 400 <= refusal.status_code < 500, (route, body[:60], refusal.text)
            assert refusal.json()["error"]["message"], (route, body[:60])
    seen = http.get(path).json()
    assert (seen["calls"], seen["lease_seconds"], seen["person"]) == (1, 120, False)
    assert act(http, path, LOOK).json()["data"] == 1


def test_forged_checkpoints_are_refused(http: httpx.Client, path: str) -> None:
    act(http, path)
    place = http.get(f"{path}/checkpoint").json()
    head, entry = place["journal"]
    cookie = {"name": "a", "value": "b", "domain": "sandbox.invalid", "path": "/", "sameSite": "Lax", "secure": False}
    cookie["httpOnly"] = False
    for expires in ("1e999", "-1e999", f"1{'0' * 400}", "NaN"):
        page = {**head["page"], "storage": {"cookies": [{**cookie, "expires": "EXPIRES"}], "origins": []}}
        body = json.dumps({"checkpoint": {**place, "journal": [{**head, "page": page}]}}).replace('"EXPIRES"', expires)
        refusal = http.post("/v1/sessions", content=body, headers=JSON)
        assert refusal.status_code == 400, (expires, refusal.text)
    for name, value in (
        ("result", 7),
        ("result", "sha256:0"),
        ("idempotency_key", 7),
        ("idempotency_key", "\ud800"),
        ("call", None),
    ):
        body = json.dumps({"checkpoint": {**place, "journal": [head, {**entry, name: value}]}})
        refusal = http.post("/v1/sessions", content=body, headers=JSON)
        assert refusal.status_code == 400 and "line 2" in refusal.json()["error"]["message"], (name, refusal.text)
    assert len(http.get("/v1/sessions").json()["sessions"]) == 1


def test_broken_http_ends_its_own_connection_alone(http: httpx.Client, path: str) -> None:
    head = f"POST {path}/call HTTP/1.1\r\nHost: LOCALHOST\r\nAuthorization: Bearer {OPERATOR}\r\n".encode()
    typed = head + b"Content-Type: application/json\r\n"
    body = json.dumps({"call": ACT}).encode()
    for request, statuses in (
        (typed + b"Content-Length: 900\r\n\r\n" + body, (b"", b"400", b"499")),  # it goes before the rest comes
        (typed + b"Content-Length: 900\r\n\r\n", (b"", b"400", b"499")),
        (typed + b"Content-Length: 5\r\n\r\n" + body, (b"400",)),
        (typed + b"Content-Length: -1\r\n\r\n" + body, (b"400",)),
        (typed + b"Content-Length: x\r\n\r\n" + body, (b"400",)),
        (typed + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + body, (b"400",)),
        (typed + b"Content-Length: 99999999999999999999999\r\n\r\n", (b"400", b"413")),
        (typed + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", (b"400",)),
        (typed + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"cal", (b"", b"400", b"499")),
        (typed + b"\r\n", (b"400",)),
        (head + b"Content-Length: 2\r\n\r\n{}", (b"415",)),
        (b"\x16\x03\x01\x02\x00" * 20, (b"400",)),
        (b"GET /v1/sessions\r\n\r\n", (b"400", b"401")),
        (b"GET /v1/sessions HTTP/1.1\r\nHost: evil.example\r\n\r\n", (b"400",)),
        (b"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xe9\r\n\r\n", (b"401",)),
        (b"GET /v1/sessions/%00%ff HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n", (b"404",)),
    ):  # fmt: skip
        status = raw(http, request, close=True)
        assert (status.split(b" ")[1:2] or [b""])[0] in statuses, (request[:200], status)
    assert http.get(path).json()["calls"] == 0 and http.get("/health").status_code == 200


def test_a_client_that_goes_away_mid_answer_harms_nobody(http: httpx.Client, path: str) -> None:
    body = json.dumps(
        {"call": {"call": "evaluate", "expression": "'x'.repeat(3 << 20)"}, "idempotency_key": "big"}
    ).encode()
    parts = urlsplit(str(http.base_url))
    for route, sent in ((f"POST {path}/call", body), (f"GET {path}/events", b"")):
        with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
            connection.sendall(
                f"{route} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {OPERATOR}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n".encode()
                + sent
            )
            assert connection.recv(12) == b"HTTP/1.1 200"
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset
    again = http.post(f"{path}/call", content=body, headers=JSON).json()
    assert len(again["value"]) == 3 << 20 and http.get(path).json()["calls"] == 1


def test_a_sessions_folder_that_takes_nothing_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    sessions = PageSessions(BrowserManager(BrowserConfig(browsers=1)), folder=tmp_path / "file")
    with pytest.raises(InputError, match="file cannot hold sessions"):
        asyncio.run(sessions.__aenter__())
