"""Workers in Ray actors with real browsers, an engine in another; one host is killed."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import GaveUp, InputError
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.config import FleetConfig, PoolConfig
from tars_jax.rollout.fleet import Fleet
from tars_jax.rollout.players import engine_player, reference_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.ray_policy import RayPolicy, _PolicyHost, connect
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.sampling import sample_task
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
HOSTS, PAGES = 2, 2
TOKENIZER = load_tokenizer()
WRITER = PromptWriter(TOKENIZER, image_tokens=36)


def task(index: int) -> Task:
    return sample_task("maze_path_of_light", "train", index, 0, {"distance": [2, 3]}, max_steps=4)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'tars_jax\[ray\]'"):
        Fleet(BrowserConfig(), WRITER, AgentConfig(), FleetConfig())


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    connect()
    yield ray
    ray.shutdown()


@pytest.mark.full
def test_what_the_cluster_has_no_room_for_is_waited_for_with_a_bound(
    ray: Any, make_engine: Callable[[], Engine]
) -> None:
    crowded = FleetConfig(hosts=2, pages=PAGES, cpus=1000, patience=2)
    with pytest.raises(GaveUp, match="waited 2 seconds for its hosts: they need 2000 CPUs"):
        Fleet(BrowserConfig(browsers=1), WRITER, AgentConfig(), crowded).__enter__()
    with pytest.raises(GaveUp, match="within 1 seconds: it needs 1000 CPUs"):
        RayPolicy(make_engine, cpus=1000, patience=1)


@pytest.fixture(scope="module")
def fleet(ray: Any, descendants: Callable[[int], dict[int, bytes]]) -> Iterator[Fleet]:
    browser = BrowserConfig(browsers=1, pages_per_browser=PAGES)
    others = descendants(os.getpid()).keys()  # tests of other files share browsers
    with Fleet(browser, WRITER, AgentConfig(), FleetConfig(hosts=HOSTS, pages=PAGES, cpus=0.5)) as running:
        yield running
    wait_until(
        lambda: (
            not any(pid not in others and b"--user-data-dir" in line for pid, line in descendants(os.getpid()).items())
        )
    )


@pytest.fixture(scope="module")
def model(tiny_model: ModelConfig) -> ModelConfig:
    vision = dataclasses.replace(tiny_model.vision, patch=8)
    return dataclasses.replace(tiny_model, vocabulary=TOKENIZER.vocabulary, image_token=TOKENIZER.image, vision=vision)


@pytest.fixture(scope="module")
def parameters(model: ModelConfig) -> Parameters:
    return jax.tree.map(np.asarray, jax.jit(lambda: init_parameters(model, jax.random.key(0)))())


@pytest.fixture(scope="module")
def make_engine(model: ModelConfig, parameters: Parameters) -> Callable[[], Engine]:
    config = EngineConfig(
        slots=HOSTS * PAGES, max_length=256, max_new_tokens=4, row_buckets=(4,), length_buckets=(128,)
    )
    image, stop = TOKENIZER.image, TOKENIZER.end

    def make() -> Engine:
        return Engine(model, jax.tree.map(jnp.asarray, parameters), config, image=image, stop=stop, seed=0)

    return make


@pytest.fixture(scope="module")
def policy(ray: Any, make_engine: Callable[[], Engine]) -> Iterator[RayPolicy]:
    with RayPolicy(make_engine, cpus=0.5) as running:
        yield running


def test_a_session_in_another_process_is_the_same_session(
    policy: RayPolicy, make_engine: Callable[[], Engine], parameters: Parameters
) -> None:
    prompt = [TOKENIZER.end] * 5

    async def turns(engine: Any) -> list[Any]:
        async with engine.session(7) as session:
            first = await session.respond(prompt, [], restart=True)
            return [first, await session.respond(prompt, [], restart=False)]

    with make_engine() as engine:
        here = asyncio.run(turns(engine))
    assert asyncio.run(turns(policy.sessions)) == here
    policy.set_weights(parameters, 3)
    assert policy.version == 3
    assert {version for answer in asyncio.run(turns(policy.sessions)) for version in answer.versions} == {3}
    assert policy.open_sessions() == 0


def test_a_session_that_is_given_up_while_it_opens_is_closed(policy: RayPolicy) -> None:
    async def give_up() -> None:
        async def play() -> None:
            async with policy.sessions.session(1):
                await asyncio.sleep(60)

        for _ in range(5):
            playing = asyncio.create_task(play())
            await asyncio.sleep(0)  # it has asked
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing

    asyncio.run(give_up())
    assert policy.open_sessions() == 0


def test_a_session_whose_closing_overtakes_its_opening_is_closed(make_engine: Callable[[], Engine]) -> None:
    async def overtaken() -> tuple[int, int]:
        host = _PolicyHost(make_engine, lambda parameters: parameters)
        try:
            await host.close(1)
            await host.open(1, ("head", 1), 7)
            left = await host.sessions()
            await host.open(2, ("head", 1), 7)
            return left, await host.sessions()
        finally:
            await host.stop()

    assert asyncio.run(overtaken()) == (0, 1)


@pytest.mark.full
def test_hosts_open_no_browser_where_no_environment_needs_one(
    ray: Any, descendants: Callable[[int], dict[int, bytes]], tmp_path: Path
) -> None:
    writer = PromptWriter(TOKENIZER, 1, max_observation_tokens=32)
    tasks = [Task(f"t{seed}", "tars_jax.envs.examples.text_echo:TextEcho", seed, {}, 4) for seed in range(4)]
    with Fleet(None, writer, AgentConfig(), FleetConfig(hosts=1, pages=2, cpus=0.5)) as fleet:
        played = fleet.play(tasks, reference_player(writer, "text", skill=1.0), tmp_path)
        opened = [line for line in descendants(fleet.pids[0]).values() if b"--user-data-dir" in line]
    assert [trajectory.success for trajectory in played] == [True] * 4 and opened == []


@pytest.mark.full
def test_a_killed_host_loses_no_task(fleet: Fleet, policy: RayPolicy, tmp_path: Path) -> None:
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=4, max_staleness=1, updates=5))
    version, used, lost = 0, [], fleet.runners_lost
    with fleet.streaming(pool, task, engine_player(policy.sessions, 1), lambda: version) as running:
        while version < 5:
            if running.done():
                running.result()
            if not pool.wait(1):
                continue
            used += [int(trajectory.id.split("-")[0]) for trajectory in pool.take() or []]
            version += 1
            if version == 2:
                os.kill(fleet.pids[0], signal.SIGKILL)
    assert fleet.runners_lost - lost >= 1
    assert sorted(used) == list(range(20))
    assert pool.counts() == {"requeued": 0, "in_flight": 0, "ready": 0, "consumed": 20, "filtered": 0, "failed": 0}


def test_a_fleet_plays_lists_and_the_killed_host_is_back(fleet: Fleet, policy: RayPolicy, tmp_path: Path) -> None:
    tasks = [task(index) for index in range(8)]
    played = fleet.play(tasks, reference_player(WRITER, "text", skill=1.0), tmp_path)
    assert [trajectory.task for trajectory in played] == [task.to_json() for task in tasks]
    assert {trajectory.reward for trajectory in played} == {1.0}
    assert all(trajectory.metadata["infrastructure_failures"] == [] for trajectory in played)
    fleet.play(tasks[:4], engine_player(policy.sessions, 1), tmp_path / "engine")
    assert policy.open_sessions() == 0  # those of the killed process have been closed
