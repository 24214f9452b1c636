"""Agent steps a second on the device, against the browser path and against bare decoding, with one policy.

    PYTHONPATH=. python tests/benchmarks/on_device_steps.py [--episodes=128] [--pages=8] [--repeats=5]

The policy is nano with seeded weights, under a constraint, so that every answer is well-formed and does something; a
maze at 96x96, 6 steps an episode, answers of at most 24 tokens. Three ways take turns in one process:

- device: `tars_jax.rollout.on_device.rollout`, games included, one program;
- bare: the same calls of `extend` and `decode`, with prompts and gray screenshots: no game, no reading;
- browser: Chromium, the agent loop and the engine with as many slots as pages, as in the quickstart.

Printed are the medians over repeats of each repeat's ratios, of time on the wall and of processor time (children
included). Goals: 50 times the browser's steps a second, or at most 1.2 times the time of the bare calls.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from configs.quickstart import get_config
from tars_jax.agent.pattern import response_pattern
from tars_jax.envs.on_device.catalog import make_game
from tars_jax.envs.on_device.game import DeviceCall
from tars_jax.episodes import EpisodeArrays
from tars_jax.inference.constraint import Constraints, compile_constraints
from tars_jax.pipelines.mazes import tasks
from tars_jax.pipelines.run_context import RunContext
from tars_jax.rollout.device_action_parser import ParsedAnswer, compile_action_parser
from tars_jax.rollout.device_prompts import make_prompts, make_sayings
from tars_jax.rollout.on_device import PlayConfig, Scene, rollout
from tars_jax.rollout.players import engine_player
from tars_jax.training.run_directory import RunDirectory
from tests.benchmarks.peers.turns import processor_ms

STEPS = 6


def measured(work: Callable[[], int]) -> tuple[float, float]:
    """(seconds on the wall, seconds of the processor) for an agent step; `work` says how many it took."""
    processor, start = processor_ms(), time.perf_counter()
    steps = work()
    return (time.perf_counter() - start) / steps, (processor_ms() - processor) / 1e3 / steps


def device_ways(context: RunContext, episodes: int) -> dict[str, Callable[[], int]]:
    """The ways without a browser; each call plays new episodes."""
    game, tokenizer = make_game("maze", {}), context.tokenizer
    config = PlayConfig(STEPS, context.config.engine.max_new_tokens)
    grid = context.model.vision.token_grid(*game.size)
    prompts = make_prompts(context.writer, game.instruction, STEPS, image=tokenizer.image, grid=grid)
    reading = compile_action_parser(game.space, game.choices, tokenizer.token_bytes())
    constraints = compile_constraints(
        {"text": response_pattern("text", space=game.space)},
        tokenizer.token_bytes(),
        stop=tokenizer.end,
        vocabulary=tokenizer.vocabulary,
    )
    never = DeviceCall.nothing()

    class Still:
        """Screenshots of the maze's size and nothing else; each of another gray, so that each is encoded."""

        instruction, size = game.instruction, game.size

        def reset(self, key: jax.Array) -> jax.Array:
            return jax.random.bits(key, (), jnp.uint8)

        def step(self, state: jax.Array, act: DeviceCall) -> tuple[jax.Array, jax.Array, jax.Array]:
            return state + jnp.uint8(1), jnp.float32(0), jnp.bool_(False)

        def draw(self, state: jax.Array) -> jax.Array:
            return jnp.full((*game.size, 3), state)

        def succeeded(self, state: jax.Array) -> jax.Array:
            return jnp.bool_(False)

        def known(self, state: jax.Array) -> jax.Array:
            return jnp.int32(0)

    def unread(tokens: jax.Array) -> ParsedAnswer:
        return ParsedAnswer(never, jnp.bool_(True), jnp.int32(0))

    def make(scene: Scene) -> Callable[[], int]:
        @jax.jit
        def program(parameters: dict, key: jax.Array, constraints: Constraints) -> EpisodeArrays:
            levels = jax.random.split(key, episodes)
            return rollout(scene, context.model, parameters, levels, key, constraints=constraints)

        keys = iter(jax.random.split(jax.random.key(0), 10_000))
        return lambda: int(program(context.parameters, next(keys), constraints).played.sum())

    scene = Scene(game, config, tokenizer.end, prompts, make_sayings(context.writer, game), reading)
    bare = dataclasses.replace(scene, game=Still(), parser=unread)  # type: ignore[arg-type]
    return {"device": make(scene), "bare": make(bare)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=128, help="side by side on the device")
    parser.add_argument("--pages", type=int, default=8, help="of the browsers")
    parser.add_argument("--browser-episodes", type=int, default=24, help="of one repeat")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    config = get_config()
    config.agent.constrained, config.browser.pages = True, arguments.pages
    with tempfile.TemporaryDirectory() as folder:
        run = RunDirectory.create(Path(folder) / "run", config.to_dict(), "quickstart")
        with run, RunContext(config, run) as context:
            player = engine_player(context.engine, 0)
            levels = iter(range(10_000))

            def browser() -> int:
                number = next(levels)
                played = tasks(config, "train", number, arguments.browser_episodes, (2, 5))
                return sum(len(each.steps) for each in context.play(f"repeat-{number}", played, player))

            ways = device_ways(context, arguments.episodes) | {"browser": browser}
            for work in ways.values():
                work()  # compiles
            times = np.array([[measured(work) for work in ways.values()] for _ in range(arguments.repeats)])
    device, bare, other = np.moveaxis(times, 1, 0)
    for column, kind in enumerate(("wall", "processor")):
        print(
            f"{kind} time: {1 / np.median(device[:, column]):.0f} agent steps a second on the device, "
            f"{np.median(other[:, column] / device[:, column]):.1f} times the browser's; "
            f"{np.median(device[:, column] / bare[:, column]):.2f} times the time of the bare calls"
        )


if __name__ == "__main__":
    main()
