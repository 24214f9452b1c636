"""When a request is made again, and what is said of one that came to nothing."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tars_jax.web.client import (
    NO_ANSWER,
    NOT_IN_FORM,
    Refusal,
    TryAgain,
    failing_as,
    http_client,
    is_repeatable,
    read_refusal,
    retry_after,
    retrying,
)
from tars_jax.web.protocol import RequestError, to_json


def played(outcomes: list[Exception | int], patience_s: float) -> tuple[int, int]:
    """What `retrying` gives of attempts with these outcomes, and how many there were."""
    attempts = 0

    async def attempt() -> int:
        nonlocal attempts
        attempts += 1
        outcome = outcomes[min(attempts, len(outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return asyncio.run(retrying(attempt, patience_s)), attempts


def test_an_attempt_is_made_again_while_there_is_time() -> None:
    away = TryAgain(ConnectionError("away"), 0.01)
    assert played([away, away, 7], 60) == (7, 3)
    with pytest.raises(ConnectionError, match="away"):
        played([away], 0.05)
    with pytest.raises(ValueError, match="wrong"):
        played([ValueError("wrong"), 7], 60)


def test_patience_begins_anew_where_a_server_is_there() -> None:
    busy, away = TryAgain(OSError("busy"), 0.03, restarts=True), TryAgain(OSError("away"), 0.0)
    assert played([busy, busy, busy, away, 7], 0.05) == (7, 5)


def test_what_may_be_done_twice() -> None:
    assert is_repeatable("GET") and is_repeatable("DELETE") and is_repeatable("POST", "a key")
    assert not is_repeatable("POST")


def test_refusals_of_our_servers_are_read_back() -> None:
    written = to_json(RequestError("seed must be a number; got 'x'", "seed", code="bad").body())
    assert read_refusal(written) == Refusal("seed must be a number; got 'x'", "seed", "bad")
    for body in (b"<html>", b"[]", b'{"error": "no"}', b"[" * 100_000):
        assert read_refusal(body) is None
    assert retry_after({"retry-after": "3"}) == 3 and retry_after({"retry-after": "Sun, 06 Nov"}) == 1
    assert retry_after({"retry-after": "86400"}) == 30


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(500), "it answered 500"),
        (httpx.Response(200, content=b"<html>"), "Expecting value"),
        (httpx.Response(200, json={}), "its answer lacks 'results'"),
        (httpx.Response(200, json=[]), "indices must be integers"),
        (httpx.ReadTimeout(""), "ReadTimeout"),
    ],
)
def test_failures_in_words(answer: httpx.Response | Exception, words: str) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def scenario() -> None:
        with failing_as(RuntimeError, NO_ANSWER + NOT_IN_FORM):
            async with http_client("http://there", 5.0, transport=httpx.MockTransport(respond)) as client:
                (await client.get("http://there/")).raise_for_status().json()["results"]

    with pytest.raises(RuntimeError, match=words):
        asyncio.run(scenario())
