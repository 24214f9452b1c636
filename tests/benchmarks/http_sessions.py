"""Concurrent HTTP sessions with images against direct engine calls of the same work, in one run.

    PYTHONPATH=. python tests/benchmarks/http_sessions.py [--sessions=64] [--turns=4] [--rounds=7]
                                                            [--presets nano micro]

Every session plays `turns` turns in one window: text and a new screenshot of 96x96 pixels in, an answer of 24 tokens
out. Direct sessions are coroutines beside the engine; HTTP sessions live in a process of their own, which packs the
screenshots as PNG, with `tars_jax.inference.client` against the policy server. Both share this machine's cores. The
two take turns with new screenshots each time, and the ratio of each pair is taken. Printed are these, their median and
the processor time of a turn: the engine's, the server's beyond it and the client's. Where others use the machine,
the second ratio counts: of processor time, as if the processors were the only limit. What HTTP adds to a turn does
not grow with the policy, so the ratio is given for nano, whose turn is as dear as its HTTP, and for micro. Goal: at
least 0.9.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np

from tars_jax.inference.chat_template import TurnFormat
from tars_jax.inference.client import open_client
from tars_jax.inference.config import EngineConfig
from tars_jax.inference.data_urls import exact
from tars_jax.inference.engine import Engine
from tars_jax.inference.policy_client import PolicyClient
from tars_jax.inference.sampling import Sampling
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.policy import init_parameters
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer

SIZE, ANSWER, TEXT = 96, 24, "step 3\nwhere to go now?"


def turn_tokens(first: bool) -> list[int]:
    tokenizer = load_tokenizer()
    image = "<|vision_start|>" + "<|image|>" * 9 + "<|vision_end|>"
    return tokenizer.encode(("" if first else "<|end|>") + f"<|user|>{TEXT}{image}<|agent|>")


async def play(client: PolicyClient, sessions: int, turns: int, seed: int) -> float:
    """Seconds for all sessions to play all turns."""
    sampling = Sampling(max_new_tokens=ANSWER)
    # As a renderer leaves them: flat areas with some edges, another one for each turn.
    pictures = np.random.default_rng(seed).integers(0, 256, (sessions, turns, SIZE // 8, SIZE // 8, 3), np.uint8)
    pictures = pictures.repeat(8, 2).repeat(8, 3)
    read = [turn_tokens(turn == 0) for turn in range(turns)]

    async def one(number: int) -> None:
        async with client.session(seed + number) as session:
            for turn in range(turns):
                answer = await session.respond(
                    read[turn], [pictures[number, turn]], restart=turn == 0, sampling=sampling
                )
                assert len(answer.tokens) == ANSWER

    began = time.perf_counter()
    await asyncio.gather(*map(one, range(sessions)))
    return time.perf_counter() - began


def client_process(address: str, sessions: int, turns: int) -> None:
    """Plays a round for each seed that it reads; writes its seconds and its processor seconds."""

    async def serve_rounds() -> None:
        async with open_client(address) as client:
            for line in sys.stdin:
                before = time.process_time()
                seconds = await play(client, sessions, turns, int(line))
                print(seconds, time.process_time() - before, flush=True)

    asyncio.run(serve_rounds())


def used() -> float:
    """Processor seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--presets", nargs="+", default=["nano", "micro"], help="of the policy")
    parser.add_argument("--client", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        client_process(arguments.client, arguments.sessions, arguments.turns)
        return
    for name in arguments.presets:
        print(f"{name}:", flush=True)
        serve(arguments, name)


def serve(arguments: argparse.Namespace, name: str) -> None:
    """Measures the policy of a preset with random parameters, behind a server of its own."""
    tokenizer = load_tokenizer()
    model = preset(name, tokenizer.vocabulary)
    parameters = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(0))
    config = EngineConfig(
        slots=arguments.slots,
        max_length=64 * arguments.turns,
        chunk=8,
        row_buckets=(16, 64),
        length_buckets=(64,),
        image_buckets=(16, 64),
        image_cache_tokens=9 * 4 * arguments.sessions,
    )
    turns = TurnFormat(tokenizer, lambda height, width: height * width // 1024)
    never = tokenizer.image  # as the stop token: every answer takes its whole budget
    with Engine(model, parameters, config, image=tokenizer.image, stop=never, seed=0) as engine:
        engine.warm_up((SIZE, SIZE))
        served = Served(name, engine, tokenizer, turns, exact, never, parameters, lambda path: parameters)
        server = ServerConfig(port=0)
        with serving(make_app(served, server), server) as address:
            measure(arguments, engine, address)


def measure(arguments: argparse.Namespace, engine: Engine, address: str) -> None:
    async def direct(seed: int) -> float:
        async with open_client("local", engine=engine) as client:
            return await play(client, arguments.sessions, arguments.turns, seed)

    flags = [f"--sessions={arguments.sessions}", f"--turns={arguments.turns}", f"--client={address}"]
    work = arguments.sessions * arguments.turns
    ratios, costs = list[float](), list[tuple[float, float, float]]()
    with subprocess.Popen(
        [sys.executable, str(Path(__file__)), *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdin is not None and client.stdout is not None
        for number in range(arguments.rounds + 1):
            start = used()
            seconds = asyncio.run(direct(2000 * number))
            middle = used()
            client.stdin.write(f"{2000 * number + 1000}\n")
            client.stdin.flush()
            there, theirs = map(float, client.stdout.readline().split())
            if number == 0:
                continue  # both have seen everything once
            ratios.append(seconds / there)
            costs.append((middle - start, used() - middle - (middle - start), theirs))
            print(
                f"direct {work * ANSWER / seconds:7.0f} tokens/s, {work / seconds:6.1f} turns/s;  "
                f"HTTP {work * ANSWER / there:7.0f} tokens/s;  ratio {ratios[-1]:.3f}",
                flush=True,
            )
        client.stdin.close()
    alone, here, theirs = (1000 / work * statistics.median(column) for column in zip(*costs, strict=True))
    print(f"processor time of a turn: direct {alone:.2f} ms; HTTP: server {here:.2f} ms more, client {theirs:.2f} ms")
    print(f"ratio of throughput, median of {len(ratios)} pairs: {statistics.median(ratios):.3f}")
    both, server_only = alone / (alone + here + theirs), alone / (alone + here)
    print(f"ratio of processor time: {both:.3f}, without the client's {server_only:.3f}")


if __name__ == "__main__":
    main()
