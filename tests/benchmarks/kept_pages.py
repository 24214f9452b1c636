"""Episodes of several games in turn: pages kept between the episodes of a game, against a page opened for each.

    PYTHONPATH=. python tests/benchmarks/kept_pages.py [--episodes=80] [--workers=8] [--turns=3]

Reference players, so that nothing but browsers is measured. Both sides are the workers of a run; where the browsers
have no more places than there are workers, a worker that changes its game has to close its page and open another.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.episode_runner import Rollouts
from tars_jax.rollout.players import reference_player
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.sampling import sample_task

GAMES = ("maze_path_of_light", "infinity_loop", "game_2048", "tiles_master")


def seconds(episodes: int, workers: int, places: int) -> float:
    """Of so many episodes, after the same number has warmed browsers and pages up."""
    writer = PromptWriter(load_tokenizer(), image_tokens=9)
    player = reference_player(writer, "text", skill=1.0)
    tasks = [
        sample_task(GAMES[number % len(GAMES)], "train", number, 0, {"level": 1}, max_steps=12)
        for number in range(2 * episodes)
    ]
    browser = BrowserConfig(browsers=2, pages_per_browser=-(-places // 2), width=96, height=96)
    with tempfile.TemporaryDirectory() as folder, Rollouts(browser, writer, AgentConfig(), workers) as rollouts:
        rollouts.play(tasks[:episodes], player, Path(folder) / "warm")
        began = time.perf_counter()
        rollouts.play(tasks[episodes:], player, Path(folder) / "measured")
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("episodes", 80), ("workers", 8), ("turns", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    episodes, workers = arguments.episodes, arguments.workers
    times = np.array(
        [[seconds(episodes, workers, places) for places in (workers, 2 * workers)] for _ in range(arguments.turns)]
    )
    ratios = times[:, 0] / times[:, 1]
    opened, kept = episodes / np.median(times, axis=0)
    print(
        f"{opened:.1f} episodes/s with a page opened for each, {kept:.1f} with pages kept: "
        f"{np.median(ratios):.2f} times ({ratios.min():.2f} to {ratios.max():.2f})"
    )


if __name__ == "__main__":
    main()
