"""Live sessions over HTTP: tokens in and out, leases, forks."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from tars_jax.inference.data_urls import ImageUrl, decode_images, encode_image
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampled, Sampling

SIX = [4, 5, 5, 5, 5, 5, 5, 6]  # an image between its two marks


def respond(http: httpx.Client, id: str, **body: Any) -> httpx.Response:
    return http.post(f"/v1/rl/sessions/{id}/respond", json=body)


def opened(http: httpx.Client, **body: Any) -> str:
    response = http.post("/v1/rl/sessions", json=body)
    assert response.status_code == 201
    return str(response.json()["id"])


def test_a_session_is_the_engine_s(
    http: httpx.Client, engine: Engine, picture: Callable[[int], str], idle: Callable[[], None]
) -> None:
    """Two turns with pictures, with how to sample; the same from the engine itself."""

    async def direct() -> list[Sampled]:
        async with engine.session(77) as session:
            images = await decode_images([ImageUrl(picture(1), "")], 1 << 20)
            first = await session.respond([1, 9, *SIX, 2], images, restart=True)
            sampling = Sampling(temperature=0.5, top_k=4, max_new_tokens=5, seed=3)
            return [first, await session.respond([1, 8, 2], [], restart=False, sampling=sampling)]

    id = opened(http, seed=77)
    found = [
        respond(http, id, tokens=[1, 9, *SIX, 2], images=[picture(1)], restart=True).json(),
        respond(http, id, tokens=[1, 8, 2], temperature=0.5, top_k=4, max_new_tokens=5, seed=3).json(),
    ]
    for one, answer in zip(asyncio.run(direct()), found, strict=True):
        assert answer["tokens"] == list(one.tokens) and answer["finish"] == one.finish == "length"
        np.testing.assert_allclose(answer["log_probs"], one.log_probs, atol=1e-5)
        assert answer["versions"] == [engine.version] * len(one.tokens)
    assert [len(answer["tokens"]) for answer in found] == [8, 5]
    assert http.delete(f"/v1/rl/sessions/{id}").status_code == 204
    assert respond(http, id, tokens=[1]).json()["error"]["code"] == "session_not_found"


def test_a_stream_of_tokens(http: httpx.Client, idle: Callable[[], None]) -> None:
    ids = [opened(http, seed=5) for _ in range(2)]
    whole = respond(http, ids[0], tokens=[1, 2], restart=True, max_new_tokens=40).json()
    text = respond(http, ids[1], tokens=[1, 2], restart=True, max_new_tokens=40, stream=True).text
    *events, done = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    pieces = list(map(json.loads, events))
    assert done == "[DONE]" and pieces[-1] == {"finish": "length", "kept": 40}
    assert [token for piece in pieces[:-1] for token in piece["tokens"]] == whole["tokens"]
    assert [each for piece in pieces[:-1] for each in piece["log_probs"]] == pytest.approx(whole["log_probs"], abs=1e-5)
    assert respond(http, ids[1], tokens=[1]).status_code == 200  # the session goes on
    for id in ids:
        http.delete(f"/v1/rl/sessions/{id}")


def test_forks_share_their_past(http: httpx.Client, idle: Callable[[], None]) -> None:
    base = opened(http, seed=1)
    assert respond(http, base, tokens=[1, 20, 21, 2], restart=True, max_new_tokens=0).json()["tokens"] == []
    forks = [http.post(f"/v1/rl/sessions/{base}/fork", json={"seed": seed}).json()["id"] for seed in (3, 3, 4)]
    fresh = opened(http, seed=3)
    expected = respond(http, fresh, tokens=[1, 20, 21, 2], restart=True).json()["tokens"]
    answers = [respond(http, fork, tokens=[]).json()["tokens"] for fork in forks]
    assert answers[0] == answers[1] == expected and answers[2] != expected
    for id in (base, fresh, *forks):
        assert http.delete(f"/v1/rl/sessions/{id}").status_code == 204


def test_a_session_answers_one_at_a_time_and_can_be_ended_meanwhile(
    http: httpx.Client, idle: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tars_jax.inference.server.sessions.OVERLAP_S", 0.05)
    id = opened(http)
    body = {"tokens": [1, 2], "restart": True, "max_new_tokens": 3000, "stream": True}
    with http.stream("POST", f"/v1/rl/sessions/{id}/respond", json=body) as stream:
        pieces = stream.iter_bytes()  # kept: httpx hangs up when it is dropped
        next(pieces)
        for path in ("respond", "fork"):
            refused = http.post(f"/v1/rl/sessions/{id}/{path}", json={"tokens": [1]} if path == "respond" else {})
            assert refused.status_code == 409 and refused.json()["error"]["code"] == "session_in_use"
        assert http.delete(f"/v1/rl/sessions/{id}").status_code == 204


def test_a_lease_runs_out_only_while_nobody_asks(http: httpx.Client, engine: Engine, idle: Callable[[], None]) -> None:
    id = opened(http, lease_seconds=1)
    # Longer than the lease, unless the machine is fast.
    long = respond(http, id, tokens=[1, 2], restart=True, max_new_tokens=1200)
    assert len(long.json()["tokens"]) == 1200
    assert respond(http, id, tokens=[1]).status_code == 200  # still there
    idle()
    assert respond(http, id, tokens=[1]).status_code == 404
    assert engine.statistics().sessions == 0


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "tokens"),
        ({"tokens": [1, "2"]}, "tokens[1]"),
        ({"tokens": [1, 32]}, "tokens[1]"),
        ({"tokens": [-1]}, "tokens[0]"),
        ({"tokens": [True]}, "tokens[0]"),
        ({"tokens": [1], "images": ["a.png"]}, "images[0]"),
        ({"tokens": [1], "images": [1]}, "images[0]"),
        ({"tokens": [1], "max_new_tokens": -1}, "max_new_tokens"),
        ({"tokens": [1], "seed": -1}, "seed"),
        ({"tokens": [1], "restart": "yes"}, "restart"),
        ({"tokens": [1], "until": 3}, "until"),
        ({"tokens": [1, 5]}, "images"),  # the engine's refusals: an image token without an image
        ({"tokens": [1], "images": [encode_image(np.zeros((9, 9, 3), np.uint8))]}, "images"),
        ({"tokens": [1], "images": [encode_image(np.zeros((8, 40_000, 3), np.uint8))]}, "images[0]"),  # not unpacked
        ({"tokens": []}, "tokens"),
        ({"tokens": [1] * 100}, "tokens"),
        ({"tokens": [1], "constraint": "calls"}, "constraint"),
    ],
)
def test_what_a_session_refuses(
    http: httpx.Client, idle: Callable[[], None], body: dict[str, Any], param: str | None
) -> None:
    id = opened(http)
    response = respond(http, id, **body)
    assert response.status_code == 400 and response.json()["error"]["param"] == param
    assert respond(http, id, tokens=[1, 2], restart=True).status_code == 200
    http.delete(f"/v1/rl/sessions/{id}")


def test_the_policy_says_what_it_takes(http: httpx.Client) -> None:
    found = http.get("/v1/rl/policy").json()
    assert found == {
        "model": "tiny", "version": 0, "vocabulary": 32, "stop": 5, "image": 5, "max_length": 4096, "max_new_tokens": 8,
        "agent": {"grammar": "text"}, "screenshot": [8, 8],
        "weights": "", "precision": "float", "records_routes": False,
    }  # fmt: skip
