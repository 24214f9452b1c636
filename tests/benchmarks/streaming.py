"""Streaming against batch rollouts: updates an hour at equal samples an update, on real browser episodes.

    python tests/benchmarks/streaming.py [--run RUN] [--latency 0 0.5] [--pages 16] [--batch 16] [--updates 8]

Both ways use one engine, one set of pages, one learner (the quickstart's) and the same tasks; an update takes `batch`
episodes. Batch: all episodes of an update are played to their ends, then the update runs, and the next ones start under
the new weights. Streaming: the pool, which updates as soon as `batch` episodes are complete and keeps the others.

The tail is the tasks': step budgets follow a bounded Pareto law (`--shape`, from 2 to `--longest` steps) on mazes whose
exit is five moves away. `--latency` adds seconds to every step, as a page or a machine that answers late does: without
it engine, browsers and updates share the same cores, and waiting for the longest episode costs only what two cores
cannot fill. `--run` names a quickstart run whose supervised policy plays; without it the policy is fresh.

Measured on 2026-11-21, little else running, `--run RUN --latency 0 1 --updates 6`, the policy of the quickstart's
seed 0 before PPO, one run: 1.57 times the updates an hour without latency, 2.63 times with a second of it a step (goal:
2.5). Reward a sample .104 (batch) and .115 without, .104 and .104 with it, over 96 episodes each. On 2026-11-24, on a
quiet machine, `--latency 1`, one run each: 2.73 times (reward .135 and .115), and in a pool where no
token may be more than two updates old, which waited for fewer episodes than `--in-order` does, 2.13 (.135 and .104).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from configs.quickstart import get_config
from tars_jax.agent.loop import PolicySession
from tars_jax.agent.window import SampledResponse
from tars_jax.environment import Task
from tars_jax.model.sharding import make_mesh
from tars_jax.pipelines.job_checks import ppo_config
from tars_jax.pipelines.run_context import RunContext
from tars_jax.rollout.config import PoolConfig
from tars_jax.rollout.players import Player, PrivilegedEnvironment, engine_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.stream_metrics import staleness_shares
from tars_jax.tasks.sampling import sample_task
from tars_jax.training.checkpoint import load_parameters
from tars_jax.training.config import OptimizerConfig
from tars_jax.training.learner import PPOLearner, RecordedEpisodes, iterate
from tars_jax.training.run_directory import RunDirectory
from tars_jax.training.state import fresh_parameters
from tars_jax.training.value import value_model
from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class Late:
    """A session whose every answer comes `seconds` later; meanwhile nobody computes."""

    session: PolicySession
    seconds: float

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> SampledResponse:
        answer = await self.session.respond(tokens, images, restart=restart)
        await asyncio.sleep(self.seconds)
        return answer


def late(player: Player, seconds: float) -> Player:
    @contextlib.asynccontextmanager
    async def session(watched: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with player(watched, task) as inner:
            yield Late(inner, seconds)

    return session


def task_of(index: int, shape: float, longest: int) -> Task:
    """Task `index`: its budget is 2 / u^(1 / shape) steps, u even in (0, 1]."""
    u = 1 - np.random.default_rng((11, index)).random()
    budget = int(min(2 / u ** (1 / shape), longest))
    return sample_task("maze_path_of_light", "train", index, 4, {"distance": [5, 5]}, budget)


class Learner:
    """The quickstart's, from the same start each time."""

    def __init__(self, lab: RunContext, policy: Any) -> None:
        config = lab.config.ppo
        optimizers = OptimizerConfig(config.learning_rate), OptimizerConfig(config.value_learning_rate)
        self._lab = lab
        self._ppo = PPOLearner(lab.model, lab.packer, ppo_config(config), lab.rewards, *optimizers)
        self._start = policy, fresh_parameters(value_model(lab.model), jax.random.key(0), lab.mesh)
        self.restart()

    def restart(self) -> None:
        self._state, self.seconds = self._ppo.init_states(*self._start), 0.0
        self._lab.engine.set_weights(self._state.policy.parameters, 0)

    @property
    def version(self) -> int:
        return self._state.version

    def update(self, batch: Sequence[Trajectory]) -> None:
        start = time.perf_counter()
        self._state, _ = iterate(self._ppo, self._state, RecordedEpisodes(batch), seed=0)
        self._lab.engine.set_weights(self._state.policy.parameters, self.version)
        self.seconds += time.perf_counter() - start


@dataclasses.dataclass(frozen=True)
class Measured:
    seconds: float
    updating: float
    engine: float
    batches: list[list[Trajectory]]

    def line(self, name: str) -> str:
        episodes = [trajectory for batch in self.batches for trajectory in batch]
        steps = [len(trajectory.steps) for trajectory in episodes]
        ages = [staleness_shares(batch, version, 2) for version, batch in enumerate(self.batches)]
        stale = [np.mean([shares[f"stale_{age}"] for shares in ages]) for age in range(3)]
        return (
            f"  {name:<10} {3600 * len(self.batches) / self.seconds:7.0f} updates/h   reward a sample "
            f"{np.mean([each.reward for each in episodes]):.3f}   steps {np.mean(steps):.1f} (longest {max(steps)})   "
            f"engine busy {self.engine / self.seconds:.0%}, learner {self.updating / self.seconds:.0%}   "
            f"tokens 0, 1, 2+ updates old: {stale[0]:.0%} {stale[1]:.0%} {stale[2]:.0%}"
        )


Way = Callable[[RunContext, Learner, Player, Callable[[int], Task], int, int], list[list[Trajectory]]]


def in_batches(
    lab: RunContext, learner: Learner, player: Player, task: Callable[[int], Task], size: int, updates: int
) -> list[list[Trajectory]]:
    batches = []
    for update in range(updates):
        tasks = [task(size * update + number) for number in range(size)]
        with tempfile.TemporaryDirectory() as folder:
            batches.append(lab.rollouts.play(tasks, player, Path(folder)))
        learner.update(batches[-1])
    return batches


def as_a_stream(
    lab: RunContext, learner: Learner, player: Player, task: Callable[[int], Task], size: int, updates: int
) -> list[list[Trajectory]]:
    batches: list[list[Trajectory]] = []
    with tempfile.TemporaryDirectory() as folder:
        asked = lab.config.ppo
        bound = PoolConfig(size, asked.max_staleness, updates=updates, in_order=asked.in_order)
        pool = RolloutPool(Path(folder), bound)
        with lab.rollouts.streaming(pool, task, player, lambda: learner.version) as running:
            while len(batches) < updates:
                if running.done():
                    running.result()
                if pool.wait(1.0):
                    batches.append(pool.take() or [])
                    learner.update(batches[-1])
    return batches


def measure(way: Way, lab: RunContext, learner: Learner, latency: float, arguments: argparse.Namespace) -> Measured:
    learner.restart()
    player = late(engine_player(lab.engine, 0), latency)
    busy, start = lab.engine.statistics().busy_seconds, time.perf_counter()
    batches = way(
        lab,
        learner,
        player,
        lambda index: task_of(index, arguments.shape, arguments.longest),
        arguments.batch,
        arguments.updates,
    )
    return Measured(time.perf_counter() - start, learner.seconds, lab.engine.statistics().busy_seconds - busy, batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--pages", type=int, default=16)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--staleness", type=int, default=2)
    parser.add_argument("--in-order", action="store_true", help="an update takes the episodes that began first")
    parser.add_argument("--shape", type=float, default=1.1)
    parser.add_argument("--longest", type=int, default=40)
    arguments = parser.parse_args()
    config = get_config()
    config.browser.pages, config.ppo.minibatch_rows = arguments.pages, 64
    config.ppo.max_staleness, config.ppo.in_order = arguments.staleness, arguments.in_order
    with (
        tempfile.TemporaryDirectory() as folder,
        RunDirectory.create(folder, config.to_dict(), "streaming") as run,
        RunContext(config, run) as lab,
    ):
        policy = fresh_parameters(lab.model, jax.random.key(0), make_mesh(config.mesh.to_dict()))
        if arguments.run is not None:
            policy = load_parameters(arguments.run / "supervised", policy)
        learner = Learner(lab, policy)
        warm_up = argparse.Namespace(**{**vars(arguments), "updates": 1})
        measure(in_batches, lab, learner, 0.0, warm_up)  # compiles
        for latency in arguments.latency:
            print(f"{latency:g} s of latency a step; {arguments.pages} pages, {arguments.batch} samples an update")
            batch = measure(in_batches, lab, learner, latency, arguments)
            print(batch.line("batch"), flush=True)
            stream = measure(as_a_stream, lab, learner, latency, arguments)
            print(stream.line("streaming"))
            print(f"  streaming / batch: {batch.seconds / stream.seconds:.2f} times the updates an hour", flush=True)


if __name__ == "__main__":
    main()
