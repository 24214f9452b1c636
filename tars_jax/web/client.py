"""Asking servers over HTTP: the client for servers of others, when a request is made again, what a refusal says.

A request is made again while its patience lasts, in three cases: it did not reach the server; its answer was lost, and
doing it twice is doing it once (`is_repeatable`); or the server says that it has done nothing (429, 507). Who asks
hands one attempt to `retrying`, which makes it again where it raises `TryAgain`.

Servers of ours that are asked often have `web/connections.py`. Two kinds of client are not here: proxies, which pass
bytes on and read by h11 what no two programs could understand in two ways (`sandbox/service/gateway/http_proxy.py`),
and libraries that bring their own (mcp: httpx2; OpenEnv's WebSocket: websockets).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import httpx

from tars_jax.web.connections import CONNECT_SECONDS
from tars_jax.web.request_limits import is_loopback

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})  # RFC 9110, 9.2.2
_Answer = TypeVar("_Answer")


def http_client(address: str, seconds: float, *, from_environment: bool = True, **options: Any) -> httpx.AsyncClient:
    """A client for servers at `address` (a base of paths where `options` says so), as many requests at once as wanted.

    Args:
        seconds: between two pieces of an answer; bound the whole by `asyncio.timeout`.
        from_environment: HTTP_PROXY and the like count, though never for this machine.
        options: of httpx.AsyncClient.
    """
    elsewhere = not is_loopback(urllib.parse.urlsplit(address).hostname or "")
    return httpx.AsyncClient(
        timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
        trust_env=from_environment and elsewhere,
        **options,
    )


def is_repeatable(method: str, idempotency_key: str = "") -> bool:
    """Whether a request whose answer was lost may be made again."""
    return method in IDEMPOTENT or bool(idempotency_key)


class TryAgain(Exception):
    """An attempt failed, and may be made again after `pause_s`; `failure` is raised where no time is left for it.

    `restarts`: the server is there, and has others to serve first: patience begins anew.
    """

    def __init__(self, failure: Exception, pause_s: float, *, restarts: bool = False) -> None:
        super().__init__(str(failure))
        self.failure, self.pause_s, self.restarts = failure, pause_s, restarts


async def retrying(attempt: Callable[[], Awaitable[_Answer]], patience_s: float) -> _Answer:
    """Result of the first attempt that does not raise `TryAgain`."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return await attempt()
        except TryAgain as again:
            if again.restarts:
                until = time.monotonic() + patience_s
            elif time.monotonic() > until:
                raise again.failure from again.__cause__
            await asyncio.sleep(again.pause_s)


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a busy server asks to wait for, bounded."""
    try:
        return min(30.0, max(0.05, float(headers.get("retry-after", "1"))))
    except ValueError:  # a date
        return 1.0


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A server's refusal of a request (`web/protocol.py` writes it)."""

    message: str
    param: str  # the field that it is about, or the kind of a failure
    code: str


def read_refusal(body: bytes) -> Refusal | None:
    """None: not in the words of a server of ours, as of one that stands between."""
    try:
        error = json.loads(body)["error"]
        return Refusal(str(error["message"]), str(error["param"] or ""), str(error["code"] or ""))
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def what_failed(error: Exception) -> str:
    """A failure in words: of many the type alone says something."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"it answered {error.response.status_code}"
    if isinstance(error, KeyError):
        return f"its answer lacks {error}"
    return str(error) or type(error).__name__


NO_ANSWER = (OSError, httpx.HTTPError, httpx.InvalidURL)
NOT_IN_FORM = (ValueError, LookupError, TypeError, AttributeError, RecursionError)  # of who reads an answer


@contextlib.contextmanager
def failing_as(failure: Callable[[str], Exception], kinds: tuple[type[Exception], ...] = NO_ANSWER) -> Iterator[None]:
    """Raises `failure`, told in words what went wrong, where the block raises one of `kinds`."""
    try:
        yield
    except kinds as error:
        raise failure(what_failed(error)) from error
