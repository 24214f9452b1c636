"""Steps of a MiniWoB++ task in browsergym-miniwob: a click, an observation, a reward; a turn is `--steps` of them."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import playwright.sync_api as api

from tests.benchmarks.peers.turns import processor_ms, serve


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--html", required=True)
    parser.add_argument("--chromium", required=True)
    arguments = parser.parse_args()
    os.environ["MINIWOB_URL"] = f"file://{arguments.html}/miniwob/"
    launch = api.BrowserType.launch
    # its Playwright of 2024 brings no browser of its own here
    api.BrowserType.launch = lambda self, **options: launch(  # type: ignore[method-assign]
        self, **{**options, "executable_path": arguments.chromium, "args": ["--no-sandbox"]}
    )
    import browsergym.miniwob  # noqa: F401  # registers its environments, and reads MINIWOB_URL
    import gymnasium

    env = gymnasium.make(f"browsergym/miniwob.{arguments.task}", headless=True)
    env.reset(seed=0)

    def turn() -> dict[str, Any]:
        env.reset(seed=0)
        processor, began = processor_ms(), time.perf_counter()
        for _ in range(arguments.steps):
            observation, *_ = env.step("mouse_click(2, 2)")
            assert observation["screenshot"].ndim == 3
        return {"seconds": time.perf_counter() - began, "processor_ms": processor_ms() - processor}

    serve(turn)


if __name__ == "__main__":
    main()
