"""What test_chaos.py and test_chaos_server.py hurt.

    python chaos_run.py FOLDER UPDATES BATCH LOSE [URL]     a run; with URL the policy is that of a server
    python chaos_run.py PORT                                the server

Real Chromium, the engine with a very small policy, the pool, and a learner that keeps a checkpoint of what it was
given. With LOSE, a worker is lost now and then, at moments drawn from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import pathlib
import random
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.window import SampledResponse
from tars_jax.environment import Task
from tars_jax.files import write_atomic
from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.client import open_client
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.data_urls import exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.policy_client import PolicyUnavailable
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import EpisodeRunnerLost, Player, PrivilegedEnvironment, engine_player, reference_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.remote_policy import waiting_player
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.sampling import sample_task

SLOTS = 4
LOSS = 0.04  # of a worker, at each turn
TOKENIZER = load_tokenizer()
WRITER = PromptWriter(TOKENIZER, image_tokens=36)


def task_of(index: int) -> Task:
    """Even numbers have even budgets: so a player knows whose turn it is."""
    return sample_task("maze_path_of_light", "train", index, 0, {"distance": [2, 2]}, max_steps=4 - index % 2)


def tiny_policy() -> tuple[ModelConfig, Parameters]:
    model = dataclasses.replace(
        preset("nano", TOKENIZER.vocabulary),
        width=16,
        depth=1,
        query_heads=2,
        kv_heads=1,
        head_dim=8,
        rope_sections=(2, 1, 1),
        experts=2,
        experts_per_token=1,
        expert_width=16,
        vision=VisionConfig(patch=8, merge=2, grid=3, width=8, depth=1, heads=2, mlp_width=16),
    )
    return model, jax.jit(lambda: init_parameters(model, jax.random.key(0)))()


def tiny_engine(model: ModelConfig, parameters: Parameters) -> Engine:
    config = EngineConfig(slots=SLOTS, max_length=256, max_new_tokens=4, row_buckets=(SLOTS,), length_buckets=(128,))
    return Engine(model, parameters, config, image=TOKENIZER.image, stop=TOKENIZER.end, seed=0)


@dataclasses.dataclass(frozen=True)
class Policy:
    player: Player
    set_version: Callable[[int], None]  # hands over the same weights under a new name


@dataclasses.dataclass(frozen=True)
class Unlucky:
    """A session whose worker may be lost at each turn."""

    session: PolicySession
    luck: random.Random
    loss: float

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> SampledResponse:
        if self.luck.random() < self.loss:
            raise EpisodeRunnerLost("the worker was killed")
        return await self.session.respond(tokens, images, restart=restart)


def unlucky(policy: Player, lose: int, starts: int) -> Player:
    """The reference player for even tasks, `policy` for odd ones."""
    luck = random.Random(f"{lose} {starts}")
    reference = reference_player(WRITER, "text", skill=1.0)

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with (policy if task.max_steps % 2 else reference)(privileged, task) as inner:
            yield Unlucky(inner, luck, LOSS if lose else 0.0)

    return session


@contextlib.contextmanager
def local_policy() -> Iterator[Policy]:
    model, parameters = tiny_policy()
    with tiny_engine(model, parameters) as engine:

        async def all_slots() -> int:
            async with contextlib.AsyncExitStack() as stack:
                return len([await stack.enter_async_context(engine.session(seed)) for seed in range(SLOTS)])

        yield Policy(engine_player(engine, 0), lambda version: engine.set_weights(parameters, version))
        assert asyncio.run(all_slots()) == SLOTS


@contextlib.contextmanager
def served_policy(url: str, patience: float) -> Iterator[Policy]:
    """Each episode has a client of its own; a server that is away costs the episode, and after `patience` the run."""

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with open_client(url, patience=60.0) as client, client.session(task.seed) as inner:
            yield inner

    yield Policy(waiting_player(session, PolicyUnavailable, pause=0.2, patience=patience), lambda version: None)


def serve_policy(port: int) -> None:
    """Until it is killed."""
    model, parameters = tiny_policy()
    with tiny_engine(model, parameters) as engine:
        turns = TurnFormat(TOKENIZER, lambda height, width: 36)
        served = Served("tiny", engine, TOKENIZER, turns, exact, TOKENIZER.end, parameters, lambda path: parameters)
        config = ServerConfig(port=port, lease_seconds=10)
        with serving(make_app(served, config), config):
            print("serving", flush=True)
            threading.Event().wait()


def run(
    folder: pathlib.Path, updates: int, batch: int, lose: int, url: str = "", patience: str = "600"
) -> dict[str, Any]:
    checkpoint = folder / "checkpoint.json"
    state = json.loads(checkpoint.read_text()) if checkpoint.exists() else {"trained": [], "ledger": None, "starts": 0}
    state["starts"] += 1
    write_atomic(checkpoint, json.dumps(state).encode())
    pool = RolloutPool(folder / "pool", PoolConfig(batch, 1, updates=updates), state["ledger"])
    version = len(state["trained"])
    browser = BrowserConfig(browsers=2, pages_per_browser=2)
    opened = served_policy(url, float(patience)) if url else local_policy()
    with opened as policy, Rollouts(browser, WRITER, AgentConfig(), SLOTS) as rollouts:
        player = unlucky(policy.player, lose, state["starts"])
        with rollouts.streaming(pool, task_of, player, lambda: version) as running:
            while version < updates:
                if running.done():
                    running.result()
                if not pool.wait(0.5):
                    continue
                state["trained"].append([trajectory.id for trajectory in pool.take() or []])
                version += 1
                policy.set_version(version)
                write_atomic(checkpoint, json.dumps({**state, "ledger": pool.ledger()}).encode())
        return {"runners_lost": rollouts.runners_lost, **pool.counts()}


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve_policy(int(sys.argv[1]))
    target = pathlib.Path(sys.argv[1])
    updates, batch, lose = map(int, sys.argv[2:5])
    result = run(target, updates, batch, lose, *sys.argv[5:])
    write_atomic(target / "result.json", json.dumps(result).encode())
