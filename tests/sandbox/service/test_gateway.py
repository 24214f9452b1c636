"""The gateway: what is inside a session, shown outside; and what is refused at its mounts."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import websockets.sync.client as websockets

from tars_jax.sandbox.service.gateway.paths import read_path
from tars_jax.web.protocol import RequestError
from tests.sandbox.service.conftest import ANN, Service
from tests.waiting import wait_until

pytestmark = pytest.mark.multiprocess
CLOSING = f"Authorization: Bearer {ANN}\r\nConnection: close\r\n\r\n"

# A program of the inside: it echoes what it was asked, answers as its path says, and speaks WebSocket at /socket.
PROGRAM = r"""
import base64, hashlib, http.server, json, struct, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path.startswith("/socket"): return self.talk()
        if self.path == "/raw":
            self.wfile.write(b"this is no HTTP\r\n\r\n"); self.close_connection = True; return
        if self.path == "/half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.close_connection = True; return
        if self.path == "/large":
            self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
            for _ in range(200): self.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            self.wfile.write(b"0\r\n\r\n"); return
        length = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16): body += self.rfile.read(size); self.rfile.readline()
            self.rfile.readline()
        else: body = self.rfile.read(length)
        told = {"path": self.path, "method": self.command, "body": len(body), "headers": dict(self.headers.items())}
        answer = json.dumps(told).encode()
        self.send_response(302 if self.path.startswith("/away") else 200)
        if self.path == "/away": self.send_header("Location", "/there?x=1")
        if self.path == "/away2": self.send_header("Location", "http://localhost:%d/there" % PORT)
        if self.path == "/away3": self.send_header("Location", "https://example.org/")
        self.send_header("Set-Cookie", "tars_preview=stolen; Path=/")
        self.send_header("Set-Cookie", "own=1; Domain=localhost; Path=/")
        self.send_header("Strict-Transport-Security", "max-age=9999")
        self.send_header("Connection", "X-Secret"); self.send_header("X-Secret", "1")
        self.send_header("Content-Length", str(len(answer))); self.end_headers(); self.wfile.write(answer)
    do_POST = do_PUT = do_GET
    def talk(self):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101); self.send_header("Upgrade", "websocket"); self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.say(1, json.dumps({"path": self.path, "headers": dict(self.headers.items())}).encode())
        while True:
            first, second = self.rfile.read(2); length = second & 127
            if length == 126: length, = struct.unpack("!H", self.rfile.read(2))
            if length == 127: length, = struct.unpack("!Q", self.rfile.read(8))
            mask = self.rfile.read(4); data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
            if first & 15 == 8: self.say(8, data); break
            self.say(first & 15, data)
        self.close_connection = True
    def say(self, kind, data):
        size = len(data)
        long = struct.pack("!BH", 126, size) if size < 65536 else struct.pack("!BQ", 127, size)
        head = bytes([size]) if size < 126 else long
        self.wfile.write(bytes([128 | kind]) + head + data); self.wfile.flush()
    def log_message(self, *_): pass
PORT = int(sys.argv[1])
http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def shown(service: Service) -> Iterator[dict[str, Any]]:
    """A computer with the program at port 3000."""
    session = service.lease(lease_seconds=3600)
    service.call(session, "write", path="program.py", data=PROGRAM)
    service.call(session, "run", command="python3 program.py 3000 >log 2>&1 & disown")
    assert wait_until(lambda: 3000 in service.http.get(f"/v1/sessions/{session['id']}").json()["ports"]), service.call(
        session, "read", path="log"
    )
    yield session
    service.http.delete(f"/v1/sessions/{session['id']}")


@pytest.fixture
def browser(service: Service, shown: dict[str, Any]) -> Iterator[httpx.Client]:
    """As a browser that has been let in, at the session's own name."""
    with _browser(service, shown) as client:
        yield client


def _browser(service: Service, session: dict[str, Any]) -> httpx.Client:
    port = urlsplit(service.address).port
    sent = httpx.get(f"{service.address}/s/{session['id']}/port/3000/?token={session['token']}&x=1")
    own = f"http://{session['id']}.localhost:{port}"
    assert sent.status_code == 303 and sent.headers["location"].startswith(
        f"{own}/s/{session['id']}/port/3000/?x=1&tars_grant="
    )
    assert session["token"] not in sent.headers["location"] and sent.headers["referrer-policy"] == "no-referrer"
    named = {"Host": f"{session['id']}.localhost:{port}"}
    path = sent.headers["location"].removeprefix(own)
    let_in = httpx.get(f"{service.address}{path}", headers=named)
    assert let_in.status_code == 303 and let_in.headers["location"] == f"/s/{session['id']}/port/3000/?x=1"
    cookie = let_in.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and f"Path=/s/{session['id']}/" in cookie
    assert httpx.get(f"{service.address}{path}", headers=named).status_code == 401  # a grant is good once
    return httpx.Client(
        base_url=service.address, headers={**named, "Cookie": cookie.partition(";")[0]}, timeout=60
    )  # fmt: skip


def test_requests_reach_the_program_and_secrets_do_not(service: Service, shown: dict[str, Any]) -> None:
    path = f"/s/{shown['id']}/port/3000"
    given = {
        "Cookie": "tars_preview=abc; a=b", "X-Forwarded-For": "1.2.3.4", "Forwarded": "for=x", "X-Own": "ä".encode(),
        "Connection": "X-Hop", "X-Hop": "1", "Proxy-Authorization": "secret",
    }  # fmt: skip
    answer = service.http.post(f"{path}/a%20b/c%2Fd?q=%2F&token=own", headers=given, content=b"12345")  # type: ignore[arg-type]
    told = answer.json()
    headers = {name.lower(): value for name, value in told["headers"].items()}
    assert (told["path"], told["method"], told["body"]) == ("/a%20b/c%2Fd?q=%2F&token=own", "POST", 5)
    assert headers["host"] == "localhost:3000" and headers["cookie"] == "a=b" and headers["x-forwarded-prefix"] == path
    assert not {"authorization", "x-hop", "proxy-authorization", "forwarded", "x-forwarded-for"} & set(headers)
    assert ANN not in answer.text and shown["token"] not in answer.text
    assert answer.headers.get_list("set-cookie") == ["own=1; Path=/"]
    assert not {"x-secret", "strict-transport-security", "server"} & set(answer.headers)
    assert answer.headers["referrer-policy"] == "same-origin"
    chunked = service.http.put(f"{path}/up", content=iter([b"x" * 70_000, b"y" * 70_000]))
    assert chunked.json()["body"] == 140_000
    assert len(service.http.get(f"{path}/large").content) == 200 * 65536
    for away, there in (("away", f"{path}/there?x=1"), ("away2", f"{path}/there"), ("away3", "https://example.org/")):
        assert service.http.get(f"{path}/{away}").headers["location"] == there
    assert service.http.get(path).headers["location"] == f"{path}/"


def test_programs_that_answer_badly(service: Service, shown: dict[str, Any]) -> None:
    assert service.http.get(f"/s/{shown['id']}/port/3000/raw").json()["error"]["code"] == "no_answer"
    with pytest.raises(httpx.HTTPError):
        service.http.get(f"/s/{shown['id']}/port/3000/half")
    assert service.http.get(f"/s/{shown['id']}/port/3999/").json()["error"]["code"] == "no_program"
    assert service.http.get(f"/s/{shown['id']}/port/3000/").status_code == 200


def test_websockets_both_ways(service: Service, shown: dict[str, Any]) -> None:
    address = f"{service.address.replace('http', 'ws')}/s/{shown['id']}/port/3000/socket"
    for given, headers in ((f"?token={shown['token']}&x=1", {}), ("?x=1", {"Authorization": f"Bearer {ANN}"})):
        with websockets.connect(address + given, additional_headers={**headers, "X-Own": "1"}) as talk:
            told = json.loads(talk.recv(30))
            assert told["path"] == "/socket?x=1" and told["headers"].get("X-Own", told["headers"].get("x-own")) == "1"
            assert shown["token"] not in str(told) and ANN not in str(told)
            for message in ("grüße", b"\0\xff" * 5, "x" * 200_000):
                talk.send(message)
                assert talk.recv(30) == message
    for given in ("", "?token=wrong"):
        with pytest.raises(Exception, match="403"):
            websockets.connect(address + given)
    with pytest.raises(Exception, match="403"):  # a program that speaks none
        websockets.connect(address.replace("socket", "none") + f"?token={shown['token']}")


def test_a_browser_has_a_cookie_under_the_sessions_own_name_alone(
    service: Service, shown: dict[str, Any], browser: httpx.Client, computer: dict[str, Any]
) -> None:
    path = f"/s/{shown['id']}/port/3000/"
    own = browser.headers["host"]
    told = browser.get(f"{path}x", headers={"Origin": f"http://{own}", "Referer": f"http://{own}{path}y"}).json()
    headers = {name.lower(): value for name, value in told["headers"].items()}
    assert headers["origin"] == "http://localhost:3000" and headers["referer"] == "http://localhost:3000/y"
    assert "tars_preview" not in str(told)
    assert browser.get(path, headers={"Authorization": "Bearer of-the-program"}).status_code == 200  # its own matter
    # The cookie is worth nothing at the service's name, or for another session, or with requests of other pages.
    assert browser.get(path, headers={"Host": urlsplit(service.address).netloc}).status_code == 401
    assert browser.get(f"/s/{computer['id']}/port/3000/").status_code == 421
    named = {"Host": own.replace(shown["id"], computer["id"])}
    assert browser.get(f"/s/{computer['id']}/terminal/", headers=named).status_code == 401
    for origin in ("http://evil.example", "null", service.address, f"http://{named['Host']}"):
        assert browser.post(path, headers={"Origin": origin}).status_code == 403
        with pytest.raises(Exception, match="403"):
            _socket(service, f"{path}socket", {**browser.headers, "Origin": origin})
    assert browser.post(path, headers={"Origin": f"http://{own}"}).status_code == 200
    _socket(service, f"{path}socket", {**browser.headers, "Origin": f"http://{own}"}).close()
    # Under that name there is nothing of the service itself.
    for other in ("/", "/v1/sessions", "/health", "/live/live.js"):
        assert browser.get(other, headers={"Authorization": f"Bearer {ANN}"}).status_code == 404


def _socket(service: Service, path: str, headers: dict[str, str]) -> Any:
    """With a Host of its own."""
    parts = urlsplit(service.address)
    given = {name: headers[name] for name in headers if name.lower() in ("cookie", "origin")}
    host = next(headers[name] for name in headers if name.lower() == "host")
    assert parts.hostname and parts.port
    peer = socket.create_connection((parts.hostname, parts.port))
    return websockets.connect(f"ws://{host}{path}", sock=peer, additional_headers=given)


def test_who_was_let_in_before_loses_what_an_address_still_says(browser: httpx.Client, shown: dict[str, Any]) -> None:
    """A link that is opened again: neither a program inside nor the address bar keeps the token or the grant."""
    path = f"/s/{shown['id']}/port/3000/"
    for given in ("tars_grant=spent&x=1", f"x=1&token={shown['token']}"):
        sent = browser.get(f"{path}?{given}", follow_redirects=False)
        assert sent.status_code == 303 and sent.headers["location"] == f"{path}?x=1"
    own = browser.get(f"{path}?token=its-own", follow_redirects=False)  # a parameter of the program inside
    assert own.status_code == 200


def test_errors_are_pages_where_a_person_asks(service: Service, shown: dict[str, Any], browser: httpx.Client) -> None:
    person = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for client, path, status, words in (
        (service.http, f"/s/{shown['id']}/terminal/?token=wrong", 401, "Open the session from the live page"),
        (service.http, "/s/0123456789abcdef/terminal/?token=wrong", 401, "a link with ?token= at its end"),
        (
            browser,
            f"/s/{shown['id']}/port/3999/",
            502,
            "<p>inside the session nothing answers at port 3999: Connection refused</p>",
        ),
        (browser, f"/s/{shown['id']}/terminal/none", 404, "there is no"),
        (browser, f"/s/{shown['id']}/%3Cscript%3E/", 404, "there "),
    ):
        asked = {**person, "Authorization": ""} if client is service.http else person
        page = client.get(path, headers=asked)
        assert page.status_code == status and page.headers["content-type"].startswith("text/html"), page.text
        assert words in page.text and "<script>" not in page.text and "Authorization" not in page.text
        asked_by_script = client.get(path, headers={**asked, "Sec-Fetch-Dest": "empty"})
        assert asked_by_script.headers["content-type"] == "application/json"


def test_the_live_pages_way_in_has_no_token_in_an_address(service: Service, shown: dict[str, Any]) -> None:
    form = {"token": ANN, "mount": "terminal/"}
    sent = httpx.post(f"{service.address}/s/{shown['id']}/open", data=form)
    assert sent.status_code == 303 and re.search(
        r"\.localhost:\d+/s/[0-9a-f]{16}/terminal/\?tars_grant=", sent.headers["location"]
    )
    assert ANN not in sent.headers["location"]
    for bad in ({"token": "wrong", "mount": ""}, {"mount": ""}):
        assert httpx.post(f"{service.address}/s/{shown['id']}/open", data=bad).status_code == 401
    leads_out = {"token": ANN, "mount": "../../v1"}
    assert httpx.post(f"{service.address}/s/{shown['id']}/open", data=leads_out).status_code in (400, 404)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/s/{id}/port/3000/../../{other}/port/22/", 400), ("/s/{id}/port/3000/%2e%2e/x", 400),
        ("/s/{id}/port/3000/a/%2e%2e%2fx", 400), ("/s/{id}/port/3000/..%2f..%2fx", 400),
        ("/s/{id}/port/3000/%252e%252e/x", 400), ("/s/{id}/port/3000/a\\..\\b", 400),
        ("/s/{id}/port/3000/%5c..%5c", 400), ("/s/{id}/port/3000/..;/x", 400), ("/s/{id}/port/3000/.", 400),
        ("/s/{id}/port/3000/a%0d%0aX-Evil:%201", 400), ("/s/{id}/port/3000/a%00b", 400),
        ("/s/{id}%2fport/3000/", 404), ("/s/{id}/port%2f3000/", 404), ("/s/{id}/%70ort/3000/", 404),
        ("/%73/{id}/port/3000/", 404), ("//s/{id}/port/3000/", 404), ("/s//{id}/port/3000/", 404),
        ("/s/{id}/port/03000/", 404), ("/s/{id}/port/3000x/", 404), ("/s/{id}/port/-1/", 404),
        ("/s/{id}/port/65536/", 404), ("/s/{id}/port/0/", 404), ("/s/{id}/port/localhost:22/", 404),
        ("/s/{id}/port/127.0.0.1/", 404), ("/s/{ID}/port/3000/", 404), ("/s/../v1/sessions", 404),
        ("/s/{other}/port/3000/", 502), ("/s/{id}/page/gateway.py", 404), ("/s/{id}/terminal/../page/", 400),
        ("/s/ffffffffffffffff/port/3000/", 404), ("/s/{id}/nothing/", 404),
        ("/v1/sessions/{id}/../../../s/{id}/port/3000/", 404),
    ],
)  # fmt: skip
def test_paths_that_mean_something_else(
    service: Service, shown: dict[str, Any], computer: dict[str, Any], path: str, status: int
) -> None:
    """Sent as they are: clients would tidy them up."""
    path = path.format(id=shown["id"], other=computer["id"], ID="A" + shown["id"][1:].upper())
    answer = _raw(
        service, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ANN}\r\nConnection: close\r\n\r\n"
    )
    assert answer.startswith(f"HTTP/1.1 {status} "), answer
    assert "X-Evil" not in answer.partition("\r\n\r\n")[0]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "{id}.evil.example", "{id}.localhost.evil.example", "x.localhost", "{ID}x.localhost",
        "localhost\r\nHost: {id}.localhost",
    ],
)  # fmt: skip
def test_hosts_that_are_not_ours(service: Service, shown: dict[str, Any], host: str) -> None:
    """DNS rebinding: a page at a foreign name that leads here is refused before anything else is looked at."""
    host = host.format(id=shown["id"], ID=shown["id"])
    for path in (f"/s/{shown['id']}/port/3000/", "/v1/sessions"):
        answer = _raw(
            service, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {ANN}\r\nConnection: close\r\n\r\n"
        )
        assert answer.startswith("HTTP/1.1 400 "), answer


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "Content-Length: -1\r\n\r\n", " folded: x\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "Bad Header: x\r\n\r\n",
    ],
)  # fmt: skip
def test_requests_that_two_programs_would_read_in_two_ways(service: Service, shown: dict[str, Any], head: str) -> None:
    """Smuggling: either refused, or passed on as one request with one body; never as two."""
    service.call(shown, "run", command="true > log")
    path = f"/s/{shown['id']}/port/3000/smuggled"
    line = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ANN}\r\n"
    answer = _raw(service, line + head + "GET /second HTTP/1.1\r\nHost: localhost\r\n\r\n", 2)
    statuses = re.findall(r"HTTP/1\.1 (\d+)", answer)
    assert statuses and (statuses[0].startswith("4") or '"path": "/smuggled"' in answer), answer
    assert '"path": "/second"' not in answer


def test_paths_are_read_from_their_bytes() -> None:
    target = read_path(b"/s/0123456789abcdef/port/3000/a/%2e./b".replace(b"%2e./", b""))
    assert (target.id, target.mount, target.port, target.rest) == ("0123456789abcdef", "port", 3000, "/a/b")
    assert read_path(b"/s/0123456789abcdef/port/3000").rest == ""
    assert read_path(b"/s/0123456789abcdef/aio/v1/shell/exec").rest == "/v1/shell/exec"
    assert read_path(b"/s/0123456789abcdef/terminal/22").rest == "/22"
    for bad in (b"/s/", b"/s/0123456789abcde/", b"/s/0123456789abcdef/port/3000/\xff", b"/s/0123456789abcdef/\n"):
        with pytest.raises(RequestError):
            read_path(bad)


def _raw(service: Service, request: str, seconds: float = 30.0) -> str:
    """All that comes in that time, or until the connection is closed."""
    parts = urlsplit(service.address)
    assert parts.hostname and parts.port
    with socket.create_connection((parts.hostname, parts.port), timeout=seconds) as peer:
        peer.sendall(request.encode("latin-1"))
        answer = b""
        with contextlib.suppress(TimeoutError):
            while piece := peer.recv(1 << 16):
                answer += piece
    return answer.decode("latin-1")
