"""Servers of others, tokens in and tokens out, against stand-ins that speak vLLM's and SGLang's forms."""

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
from tars_jax.agent.window import WindowBuilder
from tars_jax.inference.policy_client import Declined, PolicyUnavailable
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.inference.server import ServerConfig, serving
from tars_jax.inference.token_server import TokenServer, open_token_server

END = 7
PICTURE = np.full((4, 4, 3), 9, np.uint8)
Body = dict[str, Any]
Change = Callable[[Body], Any]


def drawn(prompt: list[int]) -> tuple[list[int], list[float]]:
    """An answer that tells its prompt."""
    return [100 + len(prompt), prompt[-1], END], [-0.25, -1.5, -0.125]


def as_vllm(asked: Body) -> Body:
    tokens, log_probs = drawn(asked["prompt"])
    return {
        "object": "text_completion",
        "choices": [
            {
                "index": 0,
                "text": "...",
                "token_ids": tokens,
                "prompt_token_ids": asked["prompt"],
                "logprobs": {"tokens": ["a", "b", "c"], "token_logprobs": log_probs, "top_logprobs": [{}, {}, {}]},
                "finish_reason": "stop",
                "stop_reason": END,
            }
        ],
    }


def as_sglang(asked: Body) -> Body:
    tokens, log_probs = drawn(asked["input_ids"])
    return {
        "text": "...",
        "output_ids": tokens[:-1],
        "meta_info": {
            "finish_reason": {"type": "stop", "matched": END},
            "prompt_tokens": len(asked["input_ids"]),
            "output_token_logprobs": [
                [log_prob, token, None] for log_prob, token in zip(log_probs, tokens, strict=True)
            ],
            "weight_version": "5",
        },
    }


ANSWERS = {"vllm": as_vllm, "sglang": as_sglang}


@contextlib.asynccontextmanager
async def stand_in(
    form: str, asked: list[Body], change: Change = lambda found: found, **options: Any
) -> AsyncIterator[TokenServer]:
    """A client of a server of that form; `change` is made to each of its answers."""

    async def answer(request: Request) -> Response:
        asked.append(json.loads(await request.body()))
        found = change(ANSWERS[form](asked[-1]))
        return found if isinstance(found, Response) else JSONResponse(found)

    routes = [Route("/v1/completions" if form == "vllm" else "/generate", answer, methods=["POST"])]
    with serving(Starlette(routes=routes), ServerConfig(port=0)) as address:
        async with open_token_server(
            f"{address}/v1", form, stop=END, max_new_tokens=16, model="theirs", patience=20, **options
        ) as server:
            yield server


def ask(
    form: str, change: Change = lambda found: found, sampling: Sampling | None = None, **options: Any
) -> list[Body]:
    """What one turn sends."""
    asked: list[Body] = []

    async def turn() -> None:
        async with stand_in(form, asked, change, **options) as server, server.session(1) as session:
            await session.respond([1, 2], [], restart=True, sampling=sampling)

    asyncio.run(turn())
    return asked


@pytest.mark.parametrize("form", ["vllm", "sglang"])
def test_a_window_grows_by_exactly_what_was_read_and_sampled(form: str) -> None:
    asked: list[Body] = []
    window = WindowBuilder()

    async def play() -> list[Sampled]:
        answers = []
        async with stand_in(form, asked) as server, server.session(3) as session:
            assert server.exact
            server.version = 4
            for step, read in enumerate(([1, 2, 3], [4, 5])):
                sampled = await session.respond(read, [], restart=step == 0)
                window.read(read, step)
                window.wrote(sampled, step)
                answers.append(sampled)
            answers.append(await session.respond([8], [], restart=True))
        return answers

    first, second, third = asyncio.run(play())
    field = "prompt" if form == "vllm" else "input_ids"
    assert [each[field] for each in asked] == [[1, 2, 3], [1, 2, 3, 103, 3, END, 4, 5], [8]]
    assert (first.tokens, first.log_probs, first.finish) == ((103, 3, END), (-0.25, -1.5, -0.125), "stop")
    assert second.tokens == (108, 5, END) and third.tokens == (101, 8, END)
    assert set(first.versions) == {4 if form == "vllm" else 5}  # SGLang says it itself
    built = window.build()
    assert built.tokens.tolist() == [1, 2, 3, 103, 3, END, 4, 5, 108, 5, END]
    assert built.log_probs[built.action_mask].tolist() == [-0.25, -1.5, -0.125] * 2


def test_what_is_asked_of_vllm() -> None:
    (asked,) = ask("vllm", sampling=Sampling(max_new_tokens=5, seed=11))
    assert asked["model"] == "theirs" and asked["max_tokens"] == 5 and asked["seed"] == 11
    assert asked["logprobs"] == 1 and asked["return_token_ids"] is True and asked["stop_token_ids"] == [END]
    assert (asked["temperature"], asked["top_p"], asked["top_k"]) == (1.0, 1.0, -1)  # not the model's own


def test_what_is_asked_of_sglang_with_images() -> None:
    asked: list[Body] = []

    async def turns() -> None:
        async with stand_in("sglang", asked) as server, server.session(1) as session:
            await session.respond([1, 9, 9, 2], [PICTURE], restart=True)
            await session.respond([9, 9, 2], [PICTURE], restart=False)

    asyncio.run(turns())
    assert asked[0]["return_logprob"] is True and asked[0]["sampling_params"]["max_new_tokens"] == 16
    assert [len(each["image_data"]) for each in asked] == [1, 2]
    assert asked[0]["image_data"][0].startswith("data:image/")


def test_images_are_refused_by_name_where_the_form_takes_none() -> None:
    async def turn() -> None:
        async with stand_in("vllm", []) as server, server.session(1) as session:
            await session.respond([1, 9], [PICTURE], restart=True)

    with pytest.raises(InputError, match=r"client.images: vLLM's completions take token ids without images"):
        asyncio.run(turn())


@pytest.mark.parametrize("sampling", [Sampling(temperature=0.7), Sampling(top_p=0.9), Sampling(top_k=5)])
def test_log_probabilities_of_another_distribution_are_refused(sampling: Sampling) -> None:
    with pytest.raises(InputError, match="client.sampling must be at temperature 1 or 0 without top_p and top_k"):
        ask("vllm", sampling=sampling)
    assert len(ask("vllm", sampling=sampling, processed=True)) == 1


@pytest.mark.parametrize("sampling", [Sampling(constraint="text"), Sampling(until=lambda tokens: None)])
def test_what_a_server_cannot_be_asked_is_named(sampling: Sampling) -> None:
    with pytest.raises(InputError, match=r"client.sampling.(constraint|until) cannot be asked of a sglang server"):
        ask("sglang", sampling=sampling)


def changed(**fields: Any) -> Change:
    """Of vLLM's one choice."""
    return lambda found: {**found, "choices": [{**found["choices"][0], **fields}]}


@pytest.mark.parametrize(
    ("form", "change", "error", "words"),
    [
        ("vllm", changed(token_ids=[1, 2]), InputError, "a log-probability for each of its tokens; got 3 for 2"),
        ("vllm", changed(token_ids=[1, 2, 3]), InputError, "must give the stop token 7 .* the last one is 3"),
        ("vllm", changed(prompt_token_ids=[0, 1, 2]), InputError, "has read other tokens than it was given"),
        ("vllm", changed(token_ids=None), PolicyUnavailable, "not in the form that was asked for"),
        ("vllm", changed(finish_reason="abort"), PolicyUnavailable, "ended an answer with 'abort'"),
        ("vllm", changed(logprobs=None), PolicyUnavailable, "not in the form"),
        ("sglang", lambda found: {"text": "a"}, PolicyUnavailable, "not in the form"),
        (
            "sglang",
            lambda found: {**found, "meta_info": {**found["meta_info"], "prompt_tokens": 9}},
            InputError,
            "must read the tokens that it is given, 2; the server has read 9",
        ),
        (
            "vllm",
            lambda found: JSONResponse({"object": "error", "message": "maximum context length is 8"}, 400),
            Declined,
            "maximum context length",
        ),
        ("vllm", lambda found: JSONResponse({"error": {"message": "no"}}, 500), PolicyUnavailable, "no"),
    ],
)
def test_an_answer_that_is_not_exact_is_told_from_a_server_that_fails(
    form: str, change: Change, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(form, change)


def test_the_form_and_the_model_are_named() -> None:
    async def opened(form: str) -> None:
        async with open_token_server("http://127.0.0.1:1", form, stop=END, max_new_tokens=4):
            pass

    with pytest.raises(InputError, match="client.form must be vllm or sglang; got 'tgi'"):
        asyncio.run(opened("tgi"))
    with pytest.raises(InputError, match="client.model must be the name of a model of the vLLM server; got none"):
        asyncio.run(opened("vllm"))


@pytest.mark.parametrize("form", ["vllm", "sglang"])
def test_a_token_that_no_answer_may_hold(form: str) -> None:
    """It is forbidden in the request; an answer with it is declined, and another one is not."""
    (asked,) = ask(form, forbidden=[151_655])
    options = asked if form == "vllm" else asked["sampling_params"]
    assert options["logit_bias"] == {"151655": -100.0}
    with pytest.raises(
        Declined, match=r"must not sample \[102\], which stand for what an answer cannot hold"
    ) as caught:
        ask(form, forbidden=[102, 151_655])  # the stand-in's first token
    assert caught.value.reason == "content_filter"
    (asked,) = ask(form)
    assert "logit_bias" not in asked and "logit_bias" not in asked.get("sampling_params", {})
