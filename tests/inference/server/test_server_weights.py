"""New weights while requests go on."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import jax
import numpy as np
import pytest
from safetensors.numpy import save

from tars_jax import InputError
from tars_jax.inference.client import open_client
from tars_jax.inference.engine import Engine
from tars_jax.inference.http_client import ServerClient
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import leaf_name
from tars_jax.training.checkpoint import save_parameters
from tests.waiting import wait_until

OtherServer = Callable[..., contextlib.AbstractContextManager[str]]


def tensors(parameters: Parameters) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(parameters)
    return {leaf_name(path): np.asarray(leaf) for path, leaf in leaves}


@pytest.fixture
def http(
    other_server: OtherServer, tmp_path: Path, engine: Engine, tiny_parameters: Parameters
) -> Iterator[httpx.Client]:
    with (
        other_server(checkpoint_root=tmp_path / "runs", incoming=tmp_path / "incoming") as address,
        httpx.Client(base_url=address, timeout=600) as http,
    ):
        yield http
        assert not list((tmp_path / "incoming").glob("*"))
    engine.set_weights(tiny_parameters, 0)


def first_log_prob(http: httpx.Client) -> float:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "what"}], "max_tokens": 1, "temperature": 0}
    answer = http.post("/v1/chat/completions", json={**body, "logprobs": True}).json()
    return float(answer["choices"][0]["logprobs"]["content"][0]["logprob"])


@pytest.mark.slow
def test_tokens_tell_the_version_and_no_request_is_dropped(
    http: httpx.Client, tiny_parameters: Parameters, idle: Callable[[], None]
) -> None:
    other = jax.tree.map(lambda leaf: leaf * 0.5, tiny_parameters)
    before = first_log_prob(http)
    answers: list[dict[str, Any]] = []

    def long_answer() -> None:
        id = http.post("/v1/rl/sessions", json={}).json()["id"]
        body = {"tokens": [1, 9, 2], "restart": True, "max_new_tokens": 2500}
        answers.append(http.post(f"/v1/rl/sessions/{id}/respond", json=body).json())
        http.delete(f"/v1/rl/sessions/{id}")

    threads = [threading.Thread(target=long_answer) for _ in range(3)]
    for thread in threads:
        thread.start()
    for version in (7, 8):
        response = http.put("/v1/rl/weights", params={"version": version}, content=save(tensors(other)))
        assert response.json() == {"version": version}
    assert http.get("/v1/rl/weights").json()["version"] == 8
    for thread in threads:
        thread.join()
    for answer in answers:
        versions = answer["versions"]
        assert len(versions) == len(answer["tokens"]) == 2500 and sorted(versions) == versions
    assert {0, 8} <= {version for answer in answers for version in answer["versions"]}
    assert first_log_prob(http) != before


@pytest.mark.parametrize("how", ["push", "load"])
def test_a_client_hands_over_weights(http: httpx.Client, tmp_path: Path, tiny_parameters: Parameters, how: str) -> None:
    before = first_log_prob(http)
    other = jax.tree.map(lambda leaf: leaf * 0.5, tiny_parameters)

    async def sync_weights() -> int:
        async with open_client(str(http.base_url)) as client:
            assert isinstance(client, ServerClient)
            if how == "push":
                with pytest.raises(InputError, match="is missing"):
                    await client.push_weights({"decoder": other["decoder"]}, 4)
                await client.push_weights(other, 5)
            else:
                save_parameters(tmp_path / "runs" / "a" / "policy", other)
                with pytest.raises(InputError, match="below the server's root"):
                    await client.load_weights("../elsewhere", 4)
                await client.load_weights("a/policy", 5)
            return await client.version()

    assert asyncio.run(sync_weights()) == 5 and first_log_prob(http) != before


@pytest.mark.parametrize("name", ["nowhere", "../outside", "/etc", "a\0b", "x" * 5000])
def test_other_folders_are_refused(http: httpx.Client, tmp_path: Path, tiny_parameters: Parameters, name: str) -> None:
    save_parameters(tmp_path / "outside", tiny_parameters)
    response = http.post("/v1/rl/weights", json={"checkpoint": name, "version": 3})
    assert response.status_code == 400 and response.json()["error"]["param"] == "checkpoint"
    assert http.get("/v1/rl/policy").json()["version"] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: found.pop("decoder/norm/scale"), "decoder/norm/scale is missing"),
        (lambda found: found.update(more=np.zeros(2)), "more is not expected"),
        (
            lambda found: found.update({"decoder/norm/scale": np.zeros(3, np.float32)}),
            r"float32[3], wanted float32[16]",
        ),
        (lambda found: found.update({"decoder/norm/scale": np.zeros(16, np.int32)}), "I32[16], wanted float32[16]"),
    ],
)
def test_weights_that_do_not_fit(
    http: httpx.Client, tiny_parameters: Parameters, change: Callable[[dict[str, np.ndarray]], Any], words: str
) -> None:
    found = tensors(tiny_parameters)
    change(found)
    response = http.put("/v1/rl/weights?version=3", content=save(found))
    assert response.status_code == 400 and words in response.json()["error"]["message"]
    assert http.get("/v1/rl/policy").json()["version"] == 0


@pytest.mark.parametrize("how", ["push", "load"])
def test_weights_that_are_not_finite_are_refused_by_name(
    http: httpx.Client, tmp_path: Path, tiny_parameters: Parameters, how: str
) -> None:
    before = first_log_prob(http)
    found = tensors(tiny_parameters)
    for name, value, place in (("decoder/norm/scale", np.nan, 3), ("embed/embedding", np.inf, (2, slice(0, 5)))):
        found[name] = found[name].copy()
        found[name][place] = value
    if how == "push":
        response = http.put("/v1/rl/weights?version=3", content=save(found))
    else:
        broken = jax.tree_util.tree_map_with_path(lambda path, _: found[leaf_name(path)], tiny_parameters)
        save_parameters(tmp_path / "runs" / "policy", broken)
        response = http.post("/v1/rl/weights", json={"checkpoint": "policy", "version": 3})
    error = response.json()["error"]
    assert response.status_code == 400 and error["code"] == "weights_refused"
    for words in ("decoder/norm/scale has 1 of 16", f"embed/embedding has 5 of {found['embed/embedding'].size}"):
        assert words in error["message"]
    assert http.get("/v1/rl/policy").json()["version"] == 0 and first_log_prob(http) == before


def test_broken_pushes(http: httpx.Client, tiny_parameters: Parameters) -> None:
    whole = save(tensors(tiny_parameters))
    for body in (b"", b"nonsense", whole[:-9], whole + b"x"):
        response = http.put("/v1/rl/weights?version=3", content=body)
        assert response.status_code == 400 and response.json()["error"]["code"] == "weights_refused"
    for query in ("", "?version=", "?version=-1", "?version=1.5", "?version=99999999999"):
        response = http.put(f"/v1/rl/weights{query}", content=whole)
        assert response.status_code == 400 and response.json()["error"]["param"] == "version"
    assert http.get("/v1/rl/policy").json()["version"] == 0


def test_what_is_received_has_no_name_that_a_kill_would_leave_behind(
    http: httpx.Client, tmp_path: Path, tiny_parameters: Parameters
) -> None:
    whole = save(tensors(tiny_parameters))
    named: list[list[Path]] = []

    def body() -> Iterator[bytes]:
        yield whole[:100_000]
        wait_until(lambda: (tmp_path / "incoming").exists())
        time.sleep(0.1)
        named.append(list((tmp_path / "incoming").iterdir()))
        yield whole[100_000:]

    assert http.put("/v1/rl/weights?version=3", content=body()).json() == {"version": 3}
    assert named == [[]]


@pytest.mark.parametrize("size", [10, 10_000_000])  # told when it is flushed, and when it is written
def test_a_full_disk_is_said(
    http: httpx.Client, tiny_parameters: Parameters, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", lambda dir: Path("/dev/full").open("wb"))  # noqa: SIM115
        response = http.put("/v1/rl/weights?version=3", content=b"x" * size)
    assert response.status_code == 507
    assert response.json()["error"]["message"] == "the server cannot keep the weights: No space left on device"
    assert http.put("/v1/rl/weights?version=3", content=save(tensors(tiny_parameters))).json() == {"version": 3}


def test_a_server_may_take_none(server: str) -> None:
    with httpx.Client(base_url=server, timeout=600) as http:
        pushed = http.put("/v1/rl/weights?version=3", content=b"")
        loaded = http.post("/v1/rl/weights", json={"checkpoint": "a", "version": 3})
    for response in (pushed, loaded):
        assert response.status_code == 403 and response.json()["error"]["code"] == "weights_disabled"
