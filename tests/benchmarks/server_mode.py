"""A run's policy on servers of its own against the engine in the learner's process, in one run.

    PYTHONPATH=. python tests/benchmarks/server_mode.py [--episodes=64] [--rounds=5] [--servers=1] [--preset=nano]

Episodes of two turns, a text of some words in and an answer of 24 tokens out, `--slots` at a time: by the engine here,
then by `serve` in processes of their own (`PolicyServers`: a session is opened, asked twice and closed), in turn. The
ratio of each pair is taken; printed are these and their median. Then the same weights are handed over to each, in turn.
All share this machine's cores: what a learner gains by an engine on another machine is not in these figures.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.engine import Engine
from tars_jax.inference.policy_servers import Demands, PolicyServers
from tars_jax.inference.sampling import Sampling
from tars_jax.model.presets import preset
from tars_jax.model.sharding import make_mesh
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.players import SessionSource
from tars_jax.training.state import fresh_parameters
from tests.experiment_process import ExperimentProcess
from tests.ports import free_port

ANSWER, LONGEST = 24, 128
TOKENIZER = load_tokenizer()
FIRST = TOKENIZER.encode("<|user|>step 1\nwhere to go now?<|agent|>")
SECOND = TOKENIZER.encode("<|end|><|user|>step 2\nand now?<|agent|>")


async def play(policy: SessionSource, episodes: int, at_once: int, seed: int) -> float:
    """Seconds."""
    free = asyncio.Semaphore(at_once)

    async def episode(number: int) -> None:
        async with free, policy.session(seed + number) as session:
            for tokens in (FIRST, SECOND):
                await session.respond(tokens, [], restart=tokens is FIRST)

    began = time.perf_counter()
    await asyncio.gather(*map(episode, range(episodes)))
    return time.perf_counter() - began


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--preset", default="nano")
    arguments = parser.parse_args()
    model = preset(arguments.preset, TOKENIZER.vocabulary)
    parameters = fresh_parameters(model, jax.random.key(0), make_mesh({}))
    buckets = (2, arguments.slots)
    settings = EngineConfig(
        slots=arguments.slots, max_length=LONGEST, max_new_tokens=ANSWER, row_buckets=buckets, length_buckets=(32,)
    )
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports = [free_port() for _ in range(arguments.servers)]
        for port in ports:
            server = ExperimentProcess(
                "serve", f"checkpoint={arguments.preset}", f"port={port}", f"run={folder / str(port)}",
                f"engine.slots={arguments.slots}", f"engine.max_length={LONGEST}", "engine.length_buckets=32,",
                f"engine.row_buckets={buckets[0]},{buckets[1]}", "engine.image_buckets=1,", "engine.top_logprobs=0",
                "engine.penalties=False", "engine.biases=0", "constraints=()",
            )  # fmt: skip
            stack.callback(server.kill)
            server.says("/v1/rl")
        engine = stack.enter_context(
            Engine(model, parameters, settings, image=TOKENIZER.image, stop=TOKENIZER.end, seed=0)
        )
        engine.warm_up()
        demands = Demands(TOKENIZER.vocabulary, TOKENIZER.end, TOKENIZER.image, LONGEST)
        servers = PolicyServers(
            [f"http://127.0.0.1:{port}" for port in ports], demands, Sampling(max_new_tokens=ANSWER)
        )
        servers.set_weights(parameters, 0)
        ratios, handed = list[float](), list[tuple[float, float]]()
        for number in range(arguments.rounds + 1):
            seed = 1000 * number
            here = asyncio.run(play(engine, arguments.episodes, arguments.slots, seed))
            there = asyncio.run(play(servers, arguments.episodes, arguments.slots, seed))
            weights = [seconds_of(lambda: each.set_weights(parameters, number)) for each in (engine, servers)]  # noqa: B023
            if number == 0:
                continue  # both have seen everything once
            ratios.append(here / there)
            handed.append((weights[0], weights[1]))
            print(
                f"here {arguments.episodes / here:6.1f} episodes/s, servers {arguments.episodes / there:6.1f}; "
                f"ratio {ratios[-1]:.2f}; weights here {weights[0]:.3f} s, servers {weights[1]:.3f} s",
                flush=True,
            )
        own, theirs = (statistics.median(column) for column in zip(*handed, strict=True))
        print(
            f"servers: {arguments.servers}, ratio of throughput, median of {len(ratios)}: "
            f"{statistics.median(ratios):.2f}"
        )
        print(f"weights, median: {own:.3f} s here, {theirs:.3f} s to all servers")


if __name__ == "__main__":
    main()
