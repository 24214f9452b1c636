"""Heads of requests that others write: offers of another protocol, endless ones, slow ones."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tars_jax.web import http1
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serving

OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the body, and whether it heard an offer."""
    assert scope["type"] == "http"
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    body += b" deaf" if b"upgrade" not in dict(scope["headers"]) else b" heard"
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(echo, ListenAddress(stop_seconds=1)) as address:
        yield int(address.rpartition(":")[2])


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def post(body: bytes, extra: bytes = b"") -> bytes:
    return b"POST / HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s" % (extra, len(body), body)


def received(connection: socket.socket, end: bytes = b"<end>") -> bytes:
    """Until `end` comes, or the server has closed."""
    found = b""
    while not found.endswith(end) and (piece := connection.recv(1 << 16)):
        found += piece
    return found


@pytest.mark.parametrize("size", [1, 7, 90, 200, 1 << 20])
def test_a_body_beside_an_offer_of_another_protocol(port: int, size: int) -> None:
    """In pieces of any size, and with requests behind it that offer nothing, or the same again."""
    chunked = b"POST / HTTP/1.1\r\nHost: localhost\r\n" + OFFER
    chunked += b"Transfer-Encoding: chunked\r\n\r\n3\r\nthi\r\n2\r\nrd\r\n0\r\n\r\n"
    requests = post(b"first", OFFER) + post(b"second") + chunked + post(b"x" * 1000, OFFER) + post(b"last", OFFER)
    with connected(port) as connection:
        for start in range(0, len(requests), size):
            connection.sendall(requests[start : start + size])
        found = received(connection, b"last deaf")
    answers = [each.rpartition(b"\r\n\r\n")[2] for each in found.split(b"HTTP/1.1 200 OK")[1:]]
    assert answers == [b"first deaf", b"second deaf", b"third deaf", b"x" * 1000 + b" deaf", b"last deaf"]


def test_a_method_that_is_an_upgrade_by_itself(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 ")


def refused(answer: bytes) -> dict[str, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head and b"connection: close" in head
    return json.loads(body)["error"]


@pytest.mark.parametrize(
    "request_", [b"Content-Length: x\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nx\r\n", b"a b: c\r\n\r\n"]
)
def test_what_is_no_http_is_refused_in_the_form_of_every_error(port: int, request_: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + request_)
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert refused(answer)["message"].startswith("the request must be HTTP/1.1")


def test_a_large_head_gets_an_answer(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * (2 << 20) + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert refused(answer)["message"] == "the head must have at most 65536 bytes; got more"


def test_a_head_without_end_is_not_taken(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "LINGER_BYTES", 1 << 20)
    with connected(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        with contextlib.suppress(ConnectionError):  # the server has closed already
            for _ in range(100):
                connection.sendall(b"x" * (1 << 16))
                time.sleep(0.001)
            pytest.fail("megabytes of a head were taken")
    with connected(port) as connection:
        connection.sendall(post(b"long", b"X: " + b"x" * 60_000 + b"\r\n") + post(b"y" * 300_000))
        assert received(connection, b"y deaf").count(b"200 OK") == 2


def test_a_head_that_does_not_come_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1, "HEAD_SECONDS", 0.2)
    with connected(port) as silent, connected(port) as slow, connected(port) as quick:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        quick.sendall(post(b"one"))
        assert received(quick, b"one deaf").startswith(b"HTTP/1.1 200")
        assert received(silent) == received(slow) == b""
        quick.sendall(post(b"two"))  # a kept connection may wait longer between its requests
        assert received(quick, b"two deaf").startswith(b"HTTP/1.1 200")


def test_handlers_of_the_programs_log_stay_open() -> None:
    """absl's closes the stream below it, which may be the program's stderr."""

    class Handler(logging.Handler):
        closed = False

        def close(self) -> None:
            self.closed = True
            super().close()

    handler = Handler()
    with serving(echo, ListenAddress(stop_seconds=1)):
        assert not handler.closed
