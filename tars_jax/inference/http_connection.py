"""A connection to a policy over HTTP, whose failures are told apart: refused, busy, out of reach."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import httpx

from tars_jax import InputError
from tars_jax.inference.policy_client import Declined, PolicyUnavailable
from tars_jax.inference.sampling import InvalidRequest
from tars_jax.web.client import TryAgain, failing_as, http_client, retry_after, retrying, what_failed
from tars_jax.web.connections import Received
from tars_jax.web.protocol import to_json

GATEWAY_STATUSES = (502, 503, 504)  # of a proxy whose server is away

# How servers say that a conversation is longer than the policy's window: OpenAI and ours by the code, llama.cpp by the
# type, vLLM and SGLang in words alone.
TOO_LONG_CODES = ("context_length_exceeded", "exceed_context_size_error")
TOO_LONG_WORDS = ("maximum context length", "maximum model length", "model's context length")
FILTER_CODES = ("content_filter", "content_policy_violation", "invalid_prompt")  # Azure, OpenAI


def check_address(target: str) -> None:
    """Raises InputError unless paths can be put behind it."""
    try:
        parts = urllib.parse.urlsplit(target)
        wrong = "" if parts.hostname else "no host, as in http://HOST:PORT"
        if parts.query or parts.fragment:
            wrong = "? or #, and paths are put behind it"
        parts.port  # noqa: B018 - it raises for one beyond 65535
        httpx.URL(target)
    except (ValueError, httpx.InvalidURL) as error:
        wrong = str(error)
    if wrong:
        raise InputError(f"client.target must be an address; got {target}: {wrong}")


@contextlib.asynccontextmanager
async def open_connection(base: str, headers: Mapping[str, str], patience: float) -> AsyncIterator[Connection]:
    """Opens a connection to any server; `patience` is that of `Connection`."""
    async with http_client(base, patience, headers=headers) as http:

        async def request(method: str, path: str, body: bytes | None) -> Received:
            kind = {"Content-Type": "application/json"}
            with failing_as(ConnectionError):
                found = await http.request(method, base + path, content=body, headers=kind)
            return Received(found.status_code, found.headers, found.content)

        yield Connection(request, base, patience)


def bearer(api_key: str) -> dict[str, str]:
    """The headers of a key. Raises InputError for one that a header cannot hold; it is not shown."""
    if not api_key.isascii() or not api_key.isprintable():
        raise InputError("client.api_key must be printable ASCII; got other characters")
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


class Connection:
    """HTTP connection for requests in JSON."""

    def __init__(
        self, request: Callable[[str, str, bytes | None], Awaitable[Received]], base: str, patience: float
    ) -> None:
        self._request, self._base, self._patience = request, base, patience

    async def policy(self, ours: bool) -> dict[str, Any] | None:
        """Our server's description of its policy; None at another server.

        Raises PolicyUnavailable where it has to be `ours`, and something in between says that it is away.
        """
        received = await self._exchange("GET", "/v1/rl/policy", None)
        found = _object(received.body)
        if received.status == 401:
            raise InputError(f"client.api_key must be one that {self._base} accepts; got another")
        if ours and received.status in GATEWAY_STATUSES:
            raise PolicyUnavailable(f"{self._base}: {_words(received)}")
        return found if received.status == 200 and "version" in found else None

    async def send(self, method: str, path: str, body: Mapping[str, Any] | bytes | None = None) -> dict[str, Any]:
        """The response's JSON; a body goes as JSON unless it is bytes.

        A busy server is asked again, as its Retry-After says, until patience ends.
        Raises Declined where the server takes no more of this conversation; InvalidRequest, an InputError, for what it
        refuses otherwise, with the field that it names, if it does; PolicyUnavailable when it fails, does not answer or
        answers with something else.
        """
        received = await self._exchange(method, path, to_json(body) if isinstance(body, Mapping) else body)
        found = _object(received.body)
        if 200 <= received.status < 300:
            if received.body and not found:
                is_empty = received.body.translate(None, b" \t\r\n") == b"{}"
                what = "an empty JSON object" if is_empty else f"no JSON object: {received.body[:100]!r}"
                raise PolicyUnavailable(f"{self._base}: the answer is {what}")
            return found
        message = f"{self._base}: {_words(received)}"
        error = _error(received)
        if received.status in (408, *range(500, 600)) or error.get("code") == "session_not_found":
            raise PolicyUnavailable(message)
        if reason := _declined(received.status, error):
            raise Declined(message, reason)
        raise InvalidRequest(message, str(error.get("param") or ""))

    async def _exchange(self, method: str, path: str, body: bytes | None) -> Received:
        busy = ""

        async def attempt() -> Received:
            nonlocal busy
            received = await self._request(method, path, body)
            if received.status == 429:
                busy = f"; the last one was: {_words(received)}"  # a quota that is used up says so in this way, too
                raise TryAgain(PolicyUnavailable(f"{self._base} is busy{busy}"), retry_after(received.headers))
            return received

        try:
            async with asyncio.timeout(self._patience):
                return await retrying(attempt, self._patience)
        except TimeoutError as error:
            raise PolicyUnavailable(f"{self._base}: no answer within {self._patience:g} seconds{busy}") from error
        except OSError as error:
            raise PolicyUnavailable(f"{self._base} does not answer: {what_failed(error)}") from error


def _error(received: Received) -> dict[str, Any]:
    """The error in a response; empty when it has none. In OpenAI's form, or as vLLM and SGLang have long written it, at
    the top; else its words, as text-generation-inference and FastAPI write them."""
    found = _object(received.body)
    error = found if found.get("object") == "error" else found.get("error")
    if isinstance(error, dict):
        return error
    words = error or found.get("detail")
    return {"message": str(words)[:500]} if words else {}


def _declined(status: int, error: Mapping[str, Any]) -> str:
    """The reason why a server takes no more of a conversation; empty where it refuses something else."""
    kinds, words = (error.get("code"), error.get("type")), str(error.get("message"))
    if status == 413:
        return "body_too_large"
    if any(kind in TOO_LONG_CODES for kind in kinds) or any(each in words for each in TOO_LONG_WORDS):
        return "context_length_exceeded"
    return "content_filter" if any(kind in FILTER_CODES for kind in kinds) else ""


def _words(received: Received) -> str:
    return str(_error(received).get("message") or f"status {received.status}")


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object in a body; empty when there is none. What is sent back must be JSON, as infinity is not."""
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(body, parse_constant=_number, parse_float=_number)
        if isinstance(found, dict):
            return found
    return {}


def _number(text: str) -> float:
    if math.isfinite(number := float(text)):
        return number
    raise ValueError(f"{text} is no number of JSON")
