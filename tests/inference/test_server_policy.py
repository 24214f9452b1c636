"""A policy on a server of others: how it is handed weights, and which ones its answers are of."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tars_jax import GaveUp, InputError
from tars_jax.inference.sampling import Sampled
from tars_jax.inference.server import ServerConfig, serving
from tars_jax.inference.server_policy import ServerPolicy
from tars_jax.model.config import ModelConfig
from tars_jax.model.huggingface.files import SINGLE_FILE
from tars_jax.model.policy import Parameters
from tests.inference.test_token_server import END, as_sglang, as_vllm

ANSWERS: dict[str, Any] = {"/v1/completions": as_vllm, "/generate": as_sglang}
CONTROL = ("/update_weights_from_disk", "/collective_rpc", "/reset_prefix_cache")
Asked = list[tuple[str, dict[str, Any]]]


@contextlib.contextmanager
def stand_in(asked: Asked, takes: bool = True) -> Iterator[str]:
    """Answers in both forms; what it is told of weights it writes down."""

    async def answer(request: Request) -> Response:
        body = json.loads(await request.body() or b"{}")
        if request.url.path in ANSWERS:
            return JSONResponse(ANSWERS[request.url.path](body))
        asked.append((request.url.path, body))
        return JSONResponse({"success": takes, "message": "no such file", "results": [None]})

    routes = [Route(path, answer, methods=["POST"]) for path in (*ANSWERS, *CONTROL)]
    with serving(Starlette(routes=routes), ServerConfig(port=0)) as address:
        yield address


def policy_at(address: str, form: str, model: ModelConfig, folder: Path) -> ServerPolicy:
    return ServerPolicy(
        address, form, served_model="theirs", model=model, stop=END, max_new_tokens=8, folder=folder, patience=20
    )


def turn(policy: ServerPolicy) -> Sampled:
    async def respond() -> Sampled:
        async with policy.session(1) as session:
            return await session.respond([1, 2], [], restart=True)

    return asyncio.run(respond())


@pytest.mark.parametrize("form", ["sglang", "vllm"])
def test_weights_go_through_a_folder_and_answers_have_their_version(
    form: str, tiny_model: ModelConfig, tiny_parameters: Parameters, tmp_path: Path
) -> None:
    asked: Asked = []
    with stand_in(asked) as address:
        policy = policy_at(f"{address}/v1", form, tiny_model, tmp_path)
        for version in (3, 4, 5):
            policy.set_weights(tiny_parameters, version)
        answer = turn(policy)
    folders = [str(tmp_path / f"weights-{number}") for number in range(3)]
    if form == "sglang":
        assert [body for _, body in asked] == [
            {"model_path": folder, "weight_version": str(version)}
            for folder, version in zip(folders, (3, 4, 5), strict=True)
        ]
    else:
        assert asked[::2] == [
            ("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": folder}}) for folder in folders
        ]
        assert {path for path, _ in asked[1::2]} == {"/reset_prefix_cache"}
    assert sorted(map(str, tmp_path.glob("weights-*"))) == folders[1:]  # the one in use and the one before
    assert {"config.json", SINGLE_FILE} <= {path.name for path in (tmp_path / "weights-2").iterdir()}
    assert policy.version == 5 and set(answer.versions) == {5}
    counts = policy.statistics()
    assert counts.tokens_sampled == len(answer.tokens) and counts.busy_seconds > 0


def test_a_server_that_takes_no_weights_or_is_away(
    tiny_model: ModelConfig, tiny_parameters: Parameters, tmp_path: Path
) -> None:
    with stand_in([], takes=False) as address:
        policy = policy_at(address, "sglang", tiny_model, tmp_path)
        with pytest.raises(InputError, match="must load the weights of .*weights-0; it says 'no such file'"):
            policy.set_weights(tiny_parameters, 1)
        assert policy.version == 0
    with pytest.raises(GaveUp, match="did not take new weights"):
        policy.set_weights(tiny_parameters, 1)
