"""A run's policy on servers of ours: who samples, with which weights, and what becomes of a server that goes away."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import jax
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.inference.answer_fields import read_answer
from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.constraint import unconstrained
from tars_jax.inference.data_urls import exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.policy_servers import Demands, PolicyServers
from tars_jax.inference.sampling import Sampled, Sampling
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.inference.serving_weights import WeightFolders
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.training.checkpoint import load_parameters, save_parameters
from tests.inference.server.conftest import CODEC, IMAGE, LETTERS, SPECIAL
from tests.ports import free_port

STOP, VOCABULARY = SPECIAL.index("<|end|>"), 32
ENGINE = EngineConfig(
    slots=2, max_length=64, max_new_tokens=8, chunk=4, row_buckets=(2,), length_buckets=(16,), image_buckets=(1,)
)
DEMANDS = Demands(vocabulary=VOCABULARY, stop=STOP, image=IMAGE, max_length=64)
SAMPLING = Sampling(max_new_tokens=6)
KEY = "sesame"
PROMPT = CODEC.encode("<|user|>where to<|agent|>")


@pytest.fixture(scope="module")
def engines(tiny_model: ModelConfig, tiny_parameters: Parameters) -> Iterator[list[Engine]]:
    """Of two servers. They begin with weights that no run has given them."""
    with contextlib.ExitStack() as stack:
        made = [Engine(tiny_model, tiny_parameters, ENGINE, image=IMAGE, stop=STOP, seed=0) for _ in range(2)]
        yield [stack.enter_context(engine) for engine in made]


def a_server(
    engine: Engine, parameters: Parameters, folder: Path, port: int = 0
) -> contextlib.AbstractContextManager[str]:
    """Begins with weights that no run has given it, and with no constraint."""
    engine.set_weights(parameters, 0)
    engine.set_constraints(unconstrained(VOCABULARY))
    turns = TurnFormat(CODEC, lambda height, width: height * width // 64)
    served = Served(
        "nano", engine, CODEC, turns, exact, STOP, parameters,
        lambda path: load_parameters(path, parameters), token_bytes=letters,
    )  # fmt: skip
    config = ServerConfig(port=port, api_key=KEY, incoming=folder / "incoming", checkpoint_root=folder / "weights")
    return serving(make_app(served, config), config)


def opened(*addresses: str, demands: Demands = DEMANDS, **options: Any) -> PolicyServers:
    return PolicyServers(addresses, demands, SAMPLING, **{"api_key": KEY, "patience": 60.0, **options})


async def turn(servers: PolicyServers, seed: int = 3) -> Sampled:
    async with servers.session(seed) as session:
        return await session.respond(PROMPT, [], restart=True)


def letters() -> dict[int, bytes]:
    return {len(SPECIAL) + place: letter.encode() for place, letter in enumerate(LETTERS)}


def shifted(parameters: Parameters, by: float) -> Parameters:
    return jax.tree.map(lambda leaf: leaf * by, parameters)


@pytest.fixture
def server(engines: list[Engine], tiny_parameters: Parameters, tmp_path: Path) -> Iterator[str]:
    with a_server(engines[0], tiny_parameters, tmp_path) as address:
        yield address


@pytest.mark.parametrize("how", ["http", "folder"])
@pytest.mark.slow
def test_weights_reach_the_server_and_its_answers_tell_the_version(
    how: str, server: str, engines: list[Engine], tiny_parameters: Parameters, tiny_model: ModelConfig, tmp_path: Path
) -> None:
    folders = None
    if how == "folder":
        folders = WeightFolders(
            tmp_path / "weights", lambda path, weights: save_parameters(path, weights, model=tiny_model)
        )
    servers = opened(f"{server}/v1", folders=folders)
    answers = []
    for version, by in ((0, 1.0), (1, 2.0), (0, 1.0)):  # a stage begins anew at 0
        servers.set_weights({**shifted(tiny_parameters, by), "scalar_head": {}}, version)
        assert servers.version == engines[0].version == version
        answers.append(asyncio.run(turn(servers)))
    assert [set(answer.versions) for answer in answers] == [{0}, {1}, {0}]
    assert answers[0] == answers[2] != answers[1]
    assert servers.statistics().tokens_sampled == sum(len(answer.tokens) for answer in answers)
    assert len(list((tmp_path / "weights").glob("weights-*"))) == (2 if how == "folder" else 0)


def test_answers_are_those_of_the_engine_here(server: str, engines: list[Engine], tiny_parameters: Parameters) -> None:
    """To the last bit, over two turns with pictures."""
    picture = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)
    read = CODEC.encode("<|user|><|vision_start|>" + "<|image|>" * 4 + "<|vision_end|><|agent|>")

    async def two_turns(servers: Any) -> list[Sampled]:
        async with servers.session(5) as session:
            first = await session.respond(read, [picture], restart=True)
            return [first, await session.respond(read, [255 - picture], restart=False)]

    servers = opened(server)
    servers.set_weights(shifted(tiny_parameters, 1.5), 4)
    there = asyncio.run(two_turns(servers))

    async def here() -> list[Sampled]:
        async with engines[0].session(5) as session:
            first = await session.respond(read, [picture], restart=True, sampling=SAMPLING)
            return [first, await session.respond(read, [255 - picture], restart=False, sampling=SAMPLING)]

    assert asyncio.run(here()) == there and {version for each in there for version in each.versions} == {4}


def test_sessions_go_where_the_fewest_are_and_weights_everywhere(
    engines: list[Engine], tiny_parameters: Parameters, tmp_path: Path
) -> None:
    with (
        a_server(engines[0], tiny_parameters, tmp_path / "a") as one,
        a_server(engines[1], tiny_parameters, tmp_path / "b") as two,
    ):
        servers = opened(one, two)
        servers.set_weights(tiny_parameters, 7)

        async def four() -> list[int]:
            async with contextlib.AsyncExitStack() as stack:
                for seed in range(4):
                    await stack.enter_async_context(servers.session(seed))
                return [engine.statistics().sessions for engine in engines]

        assert asyncio.run(four()) == [2, 2]
        assert [engine.version for engine in engines] == [7, 7]


@pytest.mark.slow
def test_a_server_that_comes_back_has_the_last_weights_before_it_samples(
    engines: list[Engine], tiny_parameters: Parameters, tmp_path: Path
) -> None:
    """It begins with its own again, of version 0, which the run has had, too; and may have been away when new ones
    came. The other one plays meanwhile."""
    port = free_port()
    with a_server(engines[1], tiny_parameters, tmp_path / "b") as other:
        with a_server(engines[0], tiny_parameters, tmp_path / "a", port) as address:
            servers = opened(address, other, pattern="left|right")
            servers.set_weights(tiny_parameters, 0)
        servers.set_weights(shifted(tiny_parameters, 2.0), 0)
        alone = asyncio.run(turn(servers))
        with a_server(engines[0], tiny_parameters, tmp_path / "a", port):
            for server in servers._servers:
                server.asked_at = -float("inf")  # some seconds later

            async def both() -> list[Sampled]:
                async with servers.session(3) as first, servers.session(3) as second:
                    assert [engine.statistics().sessions for engine in engines] == [1, 1]
                    return [await each.respond(PROMPT, [], restart=True) for each in (first, second)]

            answers = asyncio.run(both())
    assert answers == [alone, alone]
    assert CODEC.decode(alone.tokens).removesuffix("<|end|>") in ("left", "right")


def test_weights_of_somebody_else_are_noticed(server: str, engines: list[Engine], tiny_parameters: Parameters) -> None:
    servers, theirs = opened(server), opened(server)
    servers.set_weights(tiny_parameters, 3)

    async def disturbed() -> Sampled:
        async with servers.session(3) as session:
            await session.respond(PROMPT, [], restart=True)
            await asyncio.to_thread(theirs.set_weights, shifted(tiny_parameters, 2.0), 3)
            return await session.respond(PROMPT, [], restart=True)

    with pytest.raises(PolicyUnavailable, match="weights that are not of this run"):
        asyncio.run(disturbed())
    again = asyncio.run(turn(servers))  # the next session has its own again
    assert set(again.versions) == {3} and engines[0].version == 3


def test_all_away_is_no_answer_and_none_at_the_start_a_sentence(
    engines: list[Engine], tiny_parameters: Parameters, tmp_path: Path
) -> None:
    with a_server(engines[0], tiny_parameters, tmp_path) as address:
        servers = opened(address)
        servers.set_weights(tiny_parameters, 1)
    servers.set_weights(tiny_parameters, 2)  # it gets them when it is back
    with pytest.raises(PolicyUnavailable, match="does not answer"):
        asyncio.run(turn(servers))
    with pytest.raises(InputError, match=r"server.address must be where policy servers answer; http.* does not answer"):
        opened(address)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocabulary": 5}, r"whose vocabulary is 5; it is \d+"),
        ({"stop": 0}, "whose stop is 0"),
        ({"max_length": 65}, "must have --config.engine.max_length=65 or more; got 64"),
        ({"precision": "w4a8"}, "whose precision is 'w4a8'; it is 'float'"),
        ({"routes": True}, "must have --config.engine.record_routes=True"),
    ],
)
def test_a_server_of_another_policy_is_refused(server: str, change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        opened(server, demands=dataclasses.replace(DEMANDS, **change))


def test_a_wrong_key_no_server_of_ours_and_the_same_twice(server: str, tiny_parameters: Parameters) -> None:
    with pytest.raises(InputError, match="client.api_key must be one that .* accepts"):
        opened(server, api_key="other")
    with pytest.raises(InputError, match="each once"):
        opened(server, server)
    servers = opened(server)
    with pytest.raises(InputError, match="weights: they do not fit: .*is missing"):
        servers.set_weights({"decoder": tiny_parameters["decoder"]}, 1)


@pytest.fixture
def http(server: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, timeout=600, headers={"Authorization": f"Bearer {KEY}"}) as client:
        yield client


@pytest.mark.parametrize(
    ("name", "body", "status", "param"),
    [
        ("a", {"pattern": "("}, 400, "pattern"),
        ("a", {"pattern": "Z"}, 400, "pattern"),  # none of the tokens writes it
        ("a", {"pattern": 3}, 400, "pattern"),
        ("a", {}, 400, "pattern"),
        ("a", {"pattern": "up", "more": 1}, 400, "more"),
        ("tools:a", {"pattern": "up"}, 400, "name"),  # names of its own
        ("a" * 81, {"pattern": "up"}, 400, "name"),
        ("mine", {"pattern": "down"}, 409, "name"),  # there is another one of this name
    ],
)
def test_a_pattern_that_cannot_be_taken_is_named(
    http: httpx.Client, engines: list[Engine], name: str, body: dict[str, Any], status: int, param: str
) -> None:
    assert http.put("/v1/rl/constraints/mine", json={"pattern": "up"}).json() == {"name": "mine", "shortest": 3}
    before = engines[0].constraints
    refused = http.put(f"/v1/rl/constraints/{name}", json=body)
    assert refused.status_code == status and refused.json()["error"]["param"] == param
    assert engines[0].constraints is before
    assert http.put("/v1/rl/constraints/mine", json={"pattern": "up"}).json()["shortest"] == 3  # the same again


@pytest.mark.parametrize("word", ["a b", "x" * 65, "ä"])
def test_a_word_that_is_none_is_named(http: httpx.Client, word: str) -> None:
    pushed = http.put("/v1/rl/weights", params={"version": 1, "word": word}, content=b"")
    loaded = http.post("/v1/rl/weights", json={"version": 1, "word": word, "checkpoint": "a"})
    for refused in (pushed, loaded):
        assert refused.status_code == 400 and refused.json()["error"]["param"] == "word"
    assert http.get("/v1/rl/weights").json()["word"] == ""


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer.pop("log_probs"),
        lambda answer: answer.update(versions=[1]),
        lambda answer: answer.update(tokens=None),
        lambda answer: answer.update(routes={"shape": [1], "int16": "?"}),
        lambda answer: answer.update(routes={"shape": [3, 1, 1], "int16": "AAA="}),
    ],
)
def test_what_is_no_answer_is_a_failure_of_the_server(change: Callable[[dict[str, Any]], Any]) -> None:
    answer: dict[str, Any] = {"tokens": [1, 2], "log_probs": [-0.5, -1.0], "versions": [1, 1], "finish": "stop"}
    assert read_answer(answer).tokens == (1, 2)
    change(answer)
    with pytest.raises(PolicyUnavailable, match="the server's answer is none"):
        read_answer(answer)
