"""Closed unless the task names hosts; then these hosts, from that page alone, by whatever way it tries."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets.sync.server as websockets
from websockets.exceptions import ConnectionClosed

from tars_jax import InputError
from tars_jax.sandbox.browser.sessions import PageSessions
from tars_jax.sandbox.browser.sessions.calls import Act, Evaluate
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.network import Hosts, Proxy, is_public
from tests.sandbox.test_session_disk import full_disk


def test_a_list_of_somebody_else_s_names_nothing_of_this_machine_s_network() -> None:
    for entry in ("*", "example.com", "*.example.com:8080", "8.8.8.8", "[2606:4700::1111]:443"):
        Hosts([entry], public=True)
    for entry in (
        "localhost",
        "LOCALHOST:80",
        "127.0.0.1:3000",
        "10.0.0.1",
        "[::1]:80",
        "[::ffff:192.168.0.1]",
        "0.0.0.0",
    ):
        Hosts([entry])
        with pytest.raises(InputError, match="must be of the public network"):
            Hosts([entry], public=True)


NO_ENTRIES = [
    "**", "*:80",
    "http://x/", "", "a b", "x:0", "x:70000", "*.", "x/y", "127.1", "0x7f.0.0.1", "0177.0.0.1", "2130706433",
    "256.1.1.1", "*.1.2.3.4", "1.2.3.4.5", "[::1", "[::g]", "[::1%25lo]", "::1", "*.[::1]", "[127.0.0.1]:1:2",
]  # fmt: skip


def test_what_an_allow_list_allows() -> None:
    hosts = Hosts(["example.com", "*.example.org", "localhost:8080", "127.0.0.1:3000", "[0::1]:3000"])
    for url, allowed in {
        "http://example.com/": True,
        "https://EXAMPLE.com./a?b": True,
        "wss://example.com/": True,
        "http://example.com:8080/": False,
        "http://www.example.com/": False,
        "http://example.com.evil.net/": False,
        "http://evil.net/example.com": False,
        "http://example.com@evil.net/": False,
        "https://a.b.example.org/": True,
        "https://example.org/": False,
        "https://badexample.org/": False,
        "http://localhost:8080/": True,
        "http://localhost/": False,
        "http://127.0.0.1:3000/": True,
        "file:///etc/passwd": False,
        "http://example.com:99999/": False,
        "http://example.com../": False,
        "http://[::1]:3000/": True,
        "http://[0:0::1]:3000/": True,
        "http://[::1]/": False,
        "http://[::1": False,
    }.items():
        assert hosts.allows_url(url) == allowed, url
    every = Hosts(["*", "127.0.0.1:3000"])
    for url, allowed in {
        "https://example.com/": True,
        "http://a.b.example.org:80/": True,
        "https://example.com:8443/": False,
        "http://localhost/": False,
        "http://127.0.0.1/": False,
        "http://127.0.0.1:3000/": True,
        "http://[::1]/": False,
        "http:///": False,
    }.items():
        assert every.allows_url(url) == allowed, url
    for index, entry in enumerate(NO_ENTRIES):
        with pytest.raises(InputError, match=rf"network\[{index}\] must be "):
            Hosts(["example.com"] * index + [entry])


PUBLIC = [
    "8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "192.0.1.1", "100.63.0.1", "100.128.0.1",
    "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    "2606:4700::5efe:808:808",
]  # fmt: skip
INSIDE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
    "172.31.255.255", "192.0.0.1", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
    "198.19.255.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::",
    "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "100::1", "2001::1", "2001:0:4136:e378::1",
    "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "2002:808:808::",
    "3fff::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%2", "fec0::1", "ff02::1",
    "2606:4700::5efe:a00:1", "2606:4700::200:5efe:7f00:1",
]  # fmt: skip


def resolves_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Names that are asked for from now on; each has these addresses."""
    asked: list[str] = []

    async def resolved(self: Any, name: str, port: int, **_: Any) -> Any:
        asked.append(name)
        return [(2, 1, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolved)
    return asked


@pytest.mark.parametrize("address", [*PUBLIC, *INSIDE])
def test_which_addresses_lead_out(address: str) -> None:
    """IANA's registries of special-purpose addresses; an IPv4 address in an IPv6 one is taken out and judged."""
    assert is_public(address) == (address in PUBLIC)


def through_the_gate(entries: list[str], target: str) -> bytes:
    """What a browser that asks the proxy for a tunnel to a target hears."""

    async def ask() -> bytes:
        proxy = Proxy(Hosts(entries))
        reader, writer = await asyncio.open_connection("127.0.0.1", await proxy.open())
        try:
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode("latin-1"))
            return await reader.readline()
        finally:
            writer.close()
            proxy.close()

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("addresses", "name", "reached"),
    [
        (["127.0.0.1"], "localhost", True),
        (["127.0.0.1"], "LOCALHOST.", True),
        (["::ffff:127.0.0.2", "127.0.0.1"], "localhost", True),  # nobody listens at the first
        (["127.0.0.1"], "127.0.0.1", True),
        (["127.0.0.1"], "example.com", False),
        (["93.184.216.34", "127.0.0.1"], "example.com", False),  # which of them a browser takes is the host's choice
        (["64:ff9b::127.0.0.1"], "example.com", False),
        (["127.0.0.1"], "2130706433", False),
        (["127.0.0.1"], "0x7f.1", False),
        (["127.0.0.1"], "127.1", False),
        (["127.0.0.1"], "[::1%25lo]", False),
        (["127.0.0.1"], "[::1", False),
        (["127.0.0.1"], "other.example.com", False),
    ],
)
def test_a_name_that_leads_into_this_machine_is_refused(
    server: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch, addresses: list[str], name: str, reached: bool
) -> None:
    port, _ = server
    asked = resolves_to(monkeypatch, *addresses)
    entries = [f"{host}:{port}" for host in ("example.com", "localhost", "127.0.0.1")]
    heard = through_the_gate(entries, f"{name}:{port}")
    assert heard.startswith(b"HTTP/1.1 200" if reached else b"HTTP/1.1 403") and len(asked) <= 3


def test_a_name_that_cannot_be_resolved_is_refused() -> None:
    assert through_the_gate(["*.example.com"], f"{'a' * 64}.example.com:80").startswith(b"HTTP/1.1 403")
    assert through_the_gate(["*.example.com"], ".example.com:80").startswith(b"HTTP/1.1 403")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[int, list[str]]]:
    """Port of a server that answers everybody, and the paths that it was asked for."""
    reached: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reached.append(self.path)
            leaves = self.path.startswith("/leave")
            self.send_response(302 if leaves else 200)
            self.send_header("Access-Control-Allow-Origin", "*")
            if leaves:
                self.send_header("Location", f"http://localhost:{self.headers['Host'].split(':')[1]}/left")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *values: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], reached
        server.shutdown()


@pytest.fixture(scope="module")
def echo() -> Iterator[int]:
    def answer(socket: websockets.ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            for text in socket:
                socket.send(text)

    with websockets.serve(answer, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.socket.getsockname()[1]
        server.shutdown()


@pytest.mark.browser
def test_a_page_reaches_the_hosts_of_its_task_alone(laboratory: Any, server: tuple[int, list[str]], echo: int) -> None:
    port, reached = server
    attempt = """(async () => { const results = [];
      for (const url of ['http://127.0.0.1:PORT/yes', 'http://127.0.0.1:PORT/leave', 'http://localhost:PORT/no',
                         'http://127.0.0.1:ECHO/no', 'http://example.com/'])
        results.push(await fetch(url).then((answer) => answer.text(), () => 'refused'));
      for (const url of ['ws://127.0.0.1:ECHO/', 'ws://127.0.0.1:PORT/socket', 'ws://localhost:ECHO/'])
        results.push(await new Promise((resolve) => { const socket = new WebSocket(url);
          socket.onopen = () => socket.send('echo'); socket.onmessage = (event) => resolve(event.data);
          socket.onerror = () => resolve('refused'); }));
      return results; })()""".replace("PORT", str(port)).replace("ECHO", str(echo))

    async def live() -> None:
        async with PageSessions(laboratory.manager) as sessions:
            site = laboratory.site("")
            named = await sessions.open_page(site, network=[f"127.0.0.1:{port}"])
            sockets = await sessions.open_page(site, network=[f"127.0.0.1:{echo}"])
            closed = await sessions.open_page(site)
            found = [await session.evaluate(attempt) for session in (named, sockets, closed)]
            assert found[0] == ["hello", *["refused"] * 7]
            assert reached == ["/yes", "/leave", "/socket"]  # which takes no WebSocket
            assert found[1][5:] == ["echo", "refused", "refused"] and found[1][0] == found[1][4] == "refused"
            assert found[2] == ["refused"] * 8
            blocked = [event.data["url"] for event in closed.events.after(0) if event.kind == "blocked"]
            assert f"http://127.0.0.1:{port}/yes" in blocked and "http://example.com/" in blocked
            await named.close()
            with pytest.raises(InputError, match=r"network\[0\] must be .*; got 'http://x/'"):
                await sessions.open_page(site, network=["http://x/"])

    laboratory.run(live())
    assert reached[3:] == []


@pytest.mark.browser
def test_a_page_on_a_live_host_is_restored_to_its_place(
    laboratory: Any, server: tuple[int, list[str]], tmp_path: Path
) -> None:
    """Its way is not gone again: that would order everything twice, and the host answers differently each time."""
    port, reached = server
    read = "[location.pathname, document.cookie, localStorage.cart, Date.now(), performance.now(), Math.random()]"

    async def live() -> None:
        reached.clear()
        network = [f"127.0.0.1:{port}"]
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            session = await sessions.open_page(laboratory.site(""), network=network)
            await session.evaluate(f"fetch('http://127.0.0.1:{port}/order').then(() => 1)")
            await session.evaluate(f"location = 'http://127.0.0.1:{port}/shop'; 1")
            await session.act([], advance_ms=1500)
            await session.evaluate("window.lost = 1; document.cookie = 'user=ann'; localStorage.cart = 'pear'; 1")
            await session.lose("browser", "")
            shown = await session.call(Act((), 40, read), idempotency_key="a")
            path, cookie, cart, date, since, chance = shown.data
            assert (path, cookie, cart, since) == ("/shop", "user=ann", "pear", 40)
            assert date == 1735732800000 + 1540 and await session.evaluate("typeof lost") == "undefined"
            assert [event.data["url"] for event in session.events.after(0) if event.kind == "restored"] == [
                f"http://127.0.0.1:{port}/shop"
            ]
            await session.call(Act((), 5, read), idempotency_key="b")
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            (session,) = sessions.all_of()
            assert session.to_json()["last_call"]["advance_ms"] == 5 and session.calls == 7
            again = await session.call(Act((), 5, read), idempotency_key="b")  # the answer went down with its page
            assert again.data[:5] == ["/shop", "user=ann", "pear", date + 5, 0] and again.data[5] != chance
            assert session.calls == 7
        assert reached == ["/order", "/shop", "/shop", "/shop"]

    laboratory.run(live())


@pytest.mark.browser
def test_a_live_host_hears_nothing_of_a_call_that_cannot_be_kept(
    laboratory: Any, server: tuple[int, list[str]], tmp_path: Path
) -> None:
    """What it has been told cannot be taken back."""
    port, reached = server
    order = f"fetch('http://127.0.0.1:{port}/order').then(() => 1)"

    async def live() -> None:
        async with PageSessions(laboratory.manager, folder=tmp_path) as sessions:
            session = await sessions.open_page(laboratory.site(""), network=[f"127.0.0.1:{port}"])
            await session.evaluate("1")
            reached.clear()
            with full_disk(5000), pytest.raises(SandboxFailure, match="disk: the call has not been carried out"):
                await session.call(Evaluate(order), idempotency_key="a")
            assert (reached, session.calls, session.recoveries) == ([], 1, 0)
            assert await session.call(Evaluate(order), idempotency_key="a") == 1
            assert (reached, session.calls) == (["/order"], 2)

    laboratory.run(live())


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path, list[str]]]:
    """Port of a server with a certificate of its own, the certificate, and how each connection to it ended."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    folder, ended = tmp_path_factory.mktemp("encrypted"), list[str]()
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([*make.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(http.server.BaseHTTPRequestHandler):
        def setup(self) -> None:
            try:
                self.request = context.wrap_socket(self.request, server_side=True)
            except OSError as error:
                ended.append(str(error))
            super().setup()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")
            ended.append(self.path)

        def log_message(self, format: str, *values: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], certificate, ended
        server.shutdown()


def test_encrypted_connections_pass_the_gate_unread(encrypted: tuple[int, Path, list[str]]) -> None:
    port, certificate, ended = encrypted

    async def ask(entries: list[str]) -> str:
        page_proxy = Proxy(Hosts(entries))
        proxy = f"http://127.0.0.1:{await page_proxy.open()}"
        try:
            trust = ssl.create_default_context(cafile=str(certificate))
            async with httpx.AsyncClient(proxy=proxy, verify=trust, trust_env=False) as client:
                return (await client.get(f"https://127.0.0.1:{port}/through")).text
        finally:
            page_proxy.close()

    ended.clear()
    assert asyncio.run(ask([f"127.0.0.1:{port}"])) == "hello" and ended == ["/through"]
    with pytest.raises(httpx.ProxyError, match="403"):
        asyncio.run(ask(["127.0.0.1:1"]))
    assert ended == ["/through"]


@pytest.mark.browser
def test_a_page_speaks_to_an_encrypted_host_itself(laboratory: Any, encrypted: tuple[int, Path, list[str]]) -> None:
    port, _, ended = encrypted
    attempt = f"fetch('https://127.0.0.1:{port}/').then(() => 'answered', () => 'refused')"

    async def live() -> None:
        async with PageSessions(laboratory.manager) as sessions:
            named = await sessions.open_page(laboratory.site(""), network=[f"127.0.0.1:{port}"])
            closed = await sessions.open_page(laboratory.site(""))
            ended.clear()
            assert await closed.evaluate(attempt) == "refused" and ended == []
            # It hears the host through the proxy, and does not trust a certificate that nobody has signed.
            assert await named.evaluate(attempt) == "refused"

    laboratory.run(live())
    assert ended and all("alert" in each.lower() for each in ended)
