"""The third of the three targets: an endpoint of somebody else, which takes messages."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tars_jax import InputError
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.client import open_client
from tars_jax.inference.policy_client import Declined, PolicyClient, PolicyUnavailable
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.inference.server import ServerConfig, serving

PICTURE = np.random.default_rng(1).integers(0, 256, (16, 24, 3), np.uint8)
SIX = [4, 5, 5, 5, 5, 5, 5, 6]


@contextlib.asynccontextmanager
async def endpoint(turns: TurnFormat, asked: list[Any]) -> AsyncIterator[PolicyClient]:
    """A client of an endpoint that answers with the number of messages, the first time with 429."""

    async def complete(request: Request) -> Response:
        asked.append(json.loads(await request.body()))
        if len(asked) == 1:
            return JSONResponse({"error": {"message": "later"}}, status_code=429, headers={"Retry-After": "0"})
        answer = "a" * len(asked[-1]["messages"])
        return JSONResponse({"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        async with open_client(f"{address}/v1", turns=turns, model="theirs") as client:
            yield client


def test_an_agent_that_writes_tokens_can_ask_an_endpoint_that_takes_messages(turns: TurnFormat) -> None:
    asked: list[Any] = []

    async def play() -> list[Sampled]:
        async with endpoint(turns, asked) as client:
            assert not client.exact
            async with client.session(1) as session:
                first = await session.respond([1, 9, *SIX, 2], [PICTURE], restart=True)
                return [first, await session.respond([1, *SIX, 2], [PICTURE[::-1]], restart=False)]

    first, second = asyncio.run(play())
    a, end = turns.codec.encode("a")[0], turns.codec.encode("<|end|>")[0]
    assert first.tokens == (a, end) and second.tokens == (a, a, a, end)
    assert set(first.log_probs) == {0.0} and set(first.versions) == {-1}
    assert len(asked) == 3 and asked[0] == asked[1] and asked[1]["model"] == "theirs"
    last = asked[2]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user"]
    assert last[0]["content"][0] == {"type": "text", "text": turns.codec.decode([9])}
    assert last[0]["content"][1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert last[1]["content"] == "a"


def test_each_answer_is_drawn_from_a_seed_of_its_own_also_in_a_new_window(turns: TurnFormat) -> None:
    asked: list[Any] = []

    async def play() -> None:
        async with endpoint(turns, asked) as client, client.session(1) as session:
            for restart in (True, True, False):
                await session.respond([1, 9, 2], [], restart=restart)

    asyncio.run(play())
    assert len({body["seed"] for body in asked[1:]}) == 3


@contextlib.asynccontextmanager
async def answering(
    response: Callable[[dict[str, Any]], Response], patience: float = 60
) -> AsyncIterator[PolicyClient]:
    """A client of an endpoint that answers in this way to the JSON it is asked."""

    async def complete(request: Request) -> Response:
        return response(json.loads(await request.body()))

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        async with open_client(address, model="theirs", patience=patience) as client:
            yield client


def test_an_endpoint_that_calls_the_budget_otherwise_is_asked_as_it_wants(turns: TurnFormat) -> None:
    asked: list[dict[str, Any]] = []

    def response(body: dict[str, Any]) -> Response:
        asked.append(body)
        if "max_tokens" in body:
            words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return JSONResponse({"error": {"message": words, "param": "max_tokens"}}, status_code=400)
        return JSONResponse({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]})

    async def play() -> list[str]:
        async with answering(response) as client:
            question = [Message("user", ("well",))]
            return [(await client.chat(question, Sampling(max_new_tokens=7))).text for _ in range(2)]

    assert asyncio.run(play()) == ["yes", "yes"]
    assert [body.get("max_completion_tokens") for body in asked] == [None, 7, 7]


@pytest.mark.parametrize(
    ("response", "error", "words"),
    [
        (JSONResponse({"error": {"message": "your quota"}}, 429), PolicyUnavailable, "no answer within 1 sec.*quota"),
        (JSONResponse({"error": {"message": "slow"}}, 408), PolicyUnavailable, "slow"),  # of the network, not of us
        (Response("<html>sign in</html>"), PolicyUnavailable, "no JSON object: b'<html>"),
        (Response("{ }"), PolicyUnavailable, "the answer is an empty JSON object"),
        (Response('{"choices": [1e999]}'), PolicyUnavailable, "no JSON object"),
        (Response('{"a":' * 100_000), PolicyUnavailable, "no JSON object"),
        (JSONResponse({"error": {"message": "no", "param": "max_tokens"}}, 400), InputError, "no"),
        (
            JSONResponse({"error": "top_p is no number", "error_type": "validation"}, 422),
            InputError,
            "top_p is no number",
        ),
        (JSONResponse({"detail": [{"loc": ["body", "n"], "msg": "no"}]}, 422), InputError, "'body', 'n'"),
        (JSONResponse({"object": "error", "message": "no model x", "code": 404}, 404), InputError, "no model x"),
    ],
)
def test_what_an_endpoint_says_is_told(response: Response, error: type[Exception], words: str) -> None:
    async def play() -> None:
        async with answering(lambda body: response, patience=1) as client:
            await client.chat([Message("user", ("well",))], Sampling(max_new_tokens=7))

    with pytest.raises(error, match=words):
        asyncio.run(play())


LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"error": {"message": "long", "code": "context_length_exceeded"}}, "context_length_exceeded"),  # OpenAI, ours
        ({"error": {"message": "long", "code": 400, "type": "exceed_context_size_error"}}, "context_length_exceeded"),
        ({"error": {"message": LONG, "code": 400}}, "context_length_exceeded"),
        ({"object": "error", "message": LONG, "code": 400}, "context_length_exceeded"),
        ({"error": {"message": "longer than the maximum model length of 8", "code": 400}}, "context_length_exceeded"),
        ({"error": {"message": "filtered", "code": "content_filter"}}, "content_filter"),
        (None, "body_too_large"),
    ],
)
def test_what_is_wrong_with_one_conversation_alone_is_told_apart(said: Any, reason: str) -> None:
    status = 413 if said is None else 400

    async def play() -> None:
        async with answering(lambda body: JSONResponse(said, status)) as client:
            await client.chat([Message("user", ("well",))])

    with pytest.raises(Declined) as declined:
        asyncio.run(play())
    assert declined.value.reason == reason


def test_a_proxy_whose_server_is_away_is_no_other_server() -> None:
    async def reach(model: str) -> None:
        async with open_client(address, model=model):
            pass

    async def gone(request: Request) -> Response:
        return Response("Bad Gateway", 502)

    with serving(Starlette(routes=[Route("/v1/rl/policy", gone)]), ServerConfig(port=0)) as address:
        with pytest.raises(PolicyUnavailable, match="status 502"):
            asyncio.run(reach(""))
        asyncio.run(reach("theirs"))  # of an endpoint that is not ours nothing is known before it is asked


def test_a_policy_of_this_machine_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # where nobody is

    async def play() -> str:
        reply = JSONResponse({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]})
        async with answering(lambda body: reply) as client:
            return (await client.chat([Message("user", ("well",))])).text

    assert asyncio.run(play()) == "yes"


def test_half_a_character_is_no_reason_to_stop() -> None:
    async def play() -> str:
        said = '{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'
        async with answering(lambda body: Response(said, media_type="application/json")) as client:
            return (await client.chat([Message("user", ("well",))])).text

    assert asyncio.run(play()) == "a?b"


@pytest.mark.parametrize("key", ["schlüssel", "key\n", "two\nlines"])
def test_a_key_that_no_header_holds_is_refused(key: str) -> None:
    async def reach() -> None:
        async with open_client("http://127.0.0.1:1", model="theirs", api_key=key):
            pass

    with pytest.raises(InputError, match="client.api_key must be printable ASCII"):
        asyncio.run(reach())


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:99999", "http://[::1", "http://x:port", "http://", "https://x/v1?version=1"]
)
def test_what_is_no_address_is_named(target: str) -> None:
    async def reach() -> None:
        async with open_client(target, model="theirs"):
            pass

    with pytest.raises(InputError, match="client.target must be an address"):
        asyncio.run(reach())


def test_an_endpoint_takes_a_model_s_name(turns: TurnFormat) -> None:
    async def play() -> None:
        with serving(Starlette(), ServerConfig(port=0)) as address, pytest.raises(InputError, match="client.model"):
            async with open_client(address, turns=turns):
                pass

    asyncio.run(play())
