"""The whole of MiniWoB++ in two browsers: whether the same moves earn the same rewards, seed by seed.

    PYTHONPATH=. python tests/benchmarks/miniwob_browsers.py --browsers /usr/bin/chromium-headless-shell \\
        /usr/bin/chromium

A hand that knows nothing clicks, types and waits by chance of the task's seed, and then until the episode ends. What
can be clicked is found in the page of each browser. Ends with 1 where the rewards of an episode differ.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Iterable

from tars_jax.agent import Action, Click, Hotkey, Point, Type, Wait
from tars_jax.envs import BrowserGame
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.library import load_playable, playable_names
from tars_jax.tasks.sampling import sample_task
from tests.envs.test_miniwob import PLACES

PAGES = 2
STEPS = 5
Rewards = tuple[float, ...] | str


async def played(game: BrowserGame, name: str, seed: int) -> Rewards:
    """The reward of each step; the words of what failed."""
    task = sample_task(name, "train", seed, 0, {})
    rng, rewards = random.Random(task.id), []
    try:
        limit_s = (await game.reset(task)).info["state"]["limit_ms"] / 1000
        for number in range(STEPS + 1):
            assert game.page is not None
            places = await game.page.evaluate(PLACES)
            actions: list[Action] = [Click(Point(*rng.choice(places)))] if places else []
            actions += rng.choice(([], [Type("a")], [Wait(0.05 * limit_s)], [Hotkey(("enter",))]))
            after = await game.step(actions if number < STEPS else [Wait(limit_s / 2), Wait(limit_s / 2 + 0.1)])
            rewards.append(after.reward)
            if after.terminated:
                break
    except SandboxFailure as failure:
        return f"{failure.kind}: {failure}"
    return tuple(rewards)


async def rewards_of(browser: str, names: Iterable[str], seeds: int) -> dict[tuple[str, int], Rewards]:
    sizes: dict[tuple[int, int], list[str]] = {}
    for name in names:
        size = load_playable(name).page_size
        assert size is not None
        sizes.setdefault(size, []).append(name)
    found = {}
    for (width, height), some in sizes.items():
        left = [(name, seed) for name in some for seed in range(seeds)]
        config = BrowserConfig(
            executable=browser, browsers=1, pages_per_browser=PAGES, width=width, height=height, call_timeout_s=120
        )
        async with BrowserManager(config) as manager:

            async def play(manager: BrowserManager = manager, left: list[tuple[str, int]] = left) -> None:
                game = BrowserGame(manager)
                while left:
                    key = left.pop()
                    found[key] = await played(game, *key)
                await game.close()

            await asyncio.gather(*(play() for _ in range(PAGES)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browsers", nargs=2, required=True, metavar="PATH")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", help="as miniwob/click-test; all of them where none is given")
    arguments = parser.parse_args()
    names = arguments.tasks or playable_names("miniwob")
    sides = []
    for browser in arguments.browsers:
        began = time.monotonic()
        sides.append(asyncio.run(rewards_of(browser, names, arguments.seeds)))
        print(
            f"{browser}: {len(sides[-1])} episodes of {len(names)} tasks, {time.monotonic() - began:.0f} s", flush=True
        )
    one, other = sides
    differ = [key for key in sorted(one) if one[key] != other[key]]
    paid = sum(not isinstance(each, str) and sum(each) > 0 for each in one.values())
    failed = sum(isinstance(each, str) for side in sides for each in side.values())
    print(f"{len(one) - len(differ)} of {len(one)} the same; {paid} earned something; {failed} failed")
    for key in differ:
        print(*key, one[key], other[key])
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
