"""Steps of a MiniWoB++ task in our environment: a click, its picture, its reward; one turn is `--steps` of them."""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

from tars_jax.agent.actions import Click, Point
from tars_jax.envs.browser_game import BrowserGame
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.tasks.miniwob.catalog import AREA
from tars_jax.tasks.sampling import sample_task
from tests.benchmarks.peers.turns import processor_ms, serve


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", required=True)
    parser.add_argument("--steps", type=int, required=True)
    arguments = parser.parse_args()
    task = sample_task(f"miniwob/{arguments.task}", "train", 0, 0, {})
    width, height = AREA
    with asyncio.Runner() as runner:
        config = BrowserConfig(browsers=1, pages_per_browser=1, width=width, height=height, call_timeout_s=60)
        manager = BrowserManager(config)
        runner.run(manager.start())
        game = BrowserGame(manager)

        async def play() -> None:
            for _ in range(arguments.steps):
                transition = await game.step([Click(Point(2, 2))])
                pixels = transition.observation.pixels
                assert pixels is not None and pixels.shape == (height, width, 3)

        def turn() -> dict[str, Any]:
            runner.run(game.reset(task))
            processor, began = processor_ms(), time.perf_counter()
            runner.run(play())
            return {"seconds": time.perf_counter() - began, "processor_ms": processor_ms() - processor}

        serve(turn)
        runner.run(manager.close())


if __name__ == "__main__":
    main()
