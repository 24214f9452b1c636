"""A stream with everything in it is hurt at moments drawn from a seed, and ends as if nothing had happened.

The run is a process: real Chromium, the engine with a very small policy, the pool, and a learner that keeps a
checkpoint of what it was given. Even tasks are played by the reference player, who always wins: an infrastructure
failure that became a reward would be a reward of 0 there. Odd ones are played by the policy.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tars_jax.trajectory import Outcome, load_trajectory

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
ROOT = pathlib.Path(__file__).parents[2]
UPDATES, BATCH = 6, 4
EPISODES = UPDATES * BATCH

RUN = """
import asyncio, contextlib, dataclasses, json, pathlib, random, sys
import jax
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference import Engine, EngineConfig
from tars_jax.model.config import VisionConfig
from tars_jax.model.policy import init_parameters
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.players import SeatLost, engine_player, reference_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.workers import Rollouts
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.sampling import sample_task
from tars_jax.trajectory import write_atomic

folder, updates, batch, lose = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:5])
SLOTS = 4
tokenizer = load_tokenizer()
writer = PromptWriter(tokenizer, image_tokens=36)
model = dataclasses.replace(
    preset("nano", tokenizer.vocabulary), width=16, depth=1, query_heads=2, kv_heads=1, head_dim=8,
    rope_sections=(2, 1, 1), experts=2, experts_per_token=1, expert_width=16,
    vision=VisionConfig(patch=8, merge=2, grid=3, width=8, depth=1, heads=2, mlp_width=16))
parameters = jax.jit(lambda: init_parameters(model, jax.random.key(0)))()
config = EngineConfig(slots=SLOTS, max_length=256, max_new_tokens=4, row_buckets=(SLOTS,), length_buckets=(128,))

checkpoint = folder / "checkpoint.json"
state = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"trained": [], "ledger": None, "starts": 0}
state["starts"] += 1
write_atomic(checkpoint, json.dumps(state).encode())
pool = RolloutPool.resume(folder / "pool", state["ledger"], min_batch=batch, max_staleness=1, updates=updates)
version = len(state["trained"])
luck = random.Random(f"{lose} {state['starts']}")

def task(index):
    return sample_task("maze_path_of_light", "train", index, 0, {"distance": [2, 2]}, max_steps=3)

class Unlucky:
    def __init__(self, session):
        self.session = session
    async def respond(self, tokens, images, *, restart):
        if lose and luck.random() < 0.04:
            raise SeatLost("the worker was killed")
        return await self.session.respond(tokens, images, restart=restart)

EVEN = {task(index).id for index in range(0, 10 * updates * batch, 2)}

with Engine(model, parameters, config, image=tokenizer.image, stop=tokenizer.end, seed=0) as engine:
    engine.set_weights(parameters, version)
    sampling, winning = engine_player(engine, 0), reference_player(writer, "text", skill=1.0)

    @contextlib.asynccontextmanager
    async def player(watched, task):
        async with (winning if task.id in EVEN else sampling)(watched, task) as session:
            yield Unlucky(session)

    browser = BrowserConfig(browsers=2, pages_per_browser=2)
    with Rollouts(browser, writer, AgentConfig(), SLOTS) as rollouts:
        with rollouts.streaming(pool, task, player, lambda: version) as running:
            print("started", flush=True)
            while version < updates:
                if running.done():
                    running.result()
                if not pool.wait(0.5):
                    continue
                state["trained"].append([trajectory.id for trajectory in pool.take()])
                version += 1
                engine.set_weights(parameters, version)
                write_atomic(checkpoint, json.dumps({**state, "ledger": pool.ledger()}).encode())
        lost = rollouts.seats_lost

    async def all_slots():
        async with contextlib.AsyncExitStack() as stack:
            return len([await stack.enter_async_context(engine.session(seed)) for seed in range(SLOTS)])

    result = {"slots": asyncio.run(all_slots()), "seats_lost": lost, **rollouts.infrastructure, **pool.counts()}
write_atomic(folder / "result.json", json.dumps(result).encode())
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chaos_seed" in metafunc.fixturenames:
        metafunc.parametrize("chaos_seed", range(metafunc.config.getoption("--chaos-seeds")))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Compiled programs, shared by the runs of this file."""
    return tmp_path_factory.mktemp("cache")


def start(folder: pathlib.Path, cache: pathlib.Path, lose: int) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    return subprocess.Popen(
        [sys.executable, "-c", RUN, str(folder), str(UPDATES), str(BATCH), str(lose)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def trained(folder: pathlib.Path) -> list[list[str]]:
    return json.loads((folder / "checkpoint.json").read_text())["trained"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, cache: pathlib.Path) -> list[str]:
    """The ids of the trajectories that a run trains on which nobody hurts."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run = start(folder, cache, lose=0)
    run.communicate(timeout=240)
    assert run.returncode == 0
    return sorted(id for batch in trained(folder) for id in batch)


def wait_for_episodes(folder: pathlib.Path, count: int, run: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 240
    while len(list((folder / "pool").glob("*.trajectory"))) < count:
        assert run.poll() is None and time.monotonic() < until, "the run stands still or has ended early"
        time.sleep(0.02)


def test_the_run_ends_as_an_undisturbed_one(
    undisturbed: list[str],
    chaos_seed: int,
    descendants: Callable[[int], dict[int, bytes]],
    tmp_path: pathlib.Path,
    cache: pathlib.Path,
) -> None:
    rng = random.Random(chaos_seed)
    folder = tmp_path / "run"
    victims = ["learner", "browser", "browser", "learner"]
    rng.shuffle(victims)
    moments = sorted(rng.sample(range(EPISODES - BATCH), len(victims)))
    run = start(folder, cache, lose=chaos_seed + 1)
    killed_browsers = 0
    for victim, moment in zip(victims, moments, strict=True):
        wait_for_episodes(folder, moment, run)
        time.sleep(rng.uniform(0, 0.2))
        below = descendants(run.pid)
        if victim == "browser":
            mains = [pid for pid, line in below.items() if b"--user-data-dir" in line and b"--type=" not in line]
            if mains:  # right after a start there is none yet
                os.kill(rng.choice(sorted(mains)), signal.SIGKILL)
                killed_browsers += 1
            continue
        run.send_signal(signal.SIGKILL)
        run.communicate()
        until = time.monotonic() + 20
        while alive := [pid for pid, line in below.items() if descendants(1).get(pid) == line]:
            assert time.monotonic() < until, f"processes outlived the run: {[below[pid] for pid in alive]}"
            time.sleep(0.05)
        run = start(folder, cache, lose=chaos_seed + 1)
    run.communicate(timeout=240)
    assert run.returncode == 0

    batches = trained(folder)
    assert [len(batch) for batch in batches] == [BATCH] * UPDATES
    assert sorted(id for batch in batches for id in batch) == undisturbed
    result = json.loads((folder / "result.json").read_text())
    places = {name: result[name] for name in ("requeued", "in_flight", "ready", "consumed", "failed")}
    assert places == {"requeued": 0, "in_flight": 0, "ready": 0, "consumed": EPISODES, "failed": 0}
    assert result["slots"] == 4

    stored = [load_trajectory(path) for path in (folder / "pool").glob("*.trajectory")]
    assert sorted(trajectory.id for trajectory in stored) == undisturbed
    for trajectory in stored:
        if int(trajectory.id.split("-")[0]) % 2 == 0:
            assert (trajectory.outcome, trajectory.reward) == (Outcome.FINISHED, 1.0)
        assert trajectory.outcome.carries_reward
        assert len(trajectory.metadata["infrastructure_failures"]) <= killed_browsers
