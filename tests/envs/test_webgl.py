"""A game that draws by WebGL, and the choice of what draws it, in a real browser."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.agent import action_from_call
from tars_jax.environment import Observation, Task
from tars_jax.envs import BrowserGame
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, PageError
from tars_jax.sandbox.browser.chromium_flags import ANGLE, angle_flags
from tars_jax.tasks.games.catalog import load_game

pytestmark = pytest.mark.browser
GAME = load_game("wood_blocks_3d")


def task(renderer: str) -> Task:
    return Task("t", GAME.name, 3, {"level": 1, "renderer": renderer}, 8)


async def played(manager: BrowserManager, renderer: str, most: int = 8) -> list[Observation]:
    """What the reference player sees, from the first screenshot to the last."""
    game = BrowserGame(manager)
    seen, rng = [await game.reset(task(renderer))], random.Random(0)
    while len(seen) <= most and not seen[-1].info["verdict"]["done"]:
        move = GAME.reference(seen[-1].info["state"], rng, 1.0)
        seen.append((await game.step([action_from_call(move.function, move.parameters)])).observation)
    await game.close()
    return seen


@pytest.mark.parametrize("side", [96, 320])
@pytest.mark.first(1)
def test_blocks_are_drawn_alike_in_every_browser_and_played_to_the_end(side: int) -> None:
    async def play(renderer: str) -> list[Observation]:
        async with BrowserManager(BrowserConfig(browsers=1, width=side, height=side)) as manager:
            return await played(manager, renderer)

    first, again, canvas = (asyncio.run(play(renderer)) for renderer in ("webgl", "webgl", "canvas"))
    assert [each.screenshot for each in first] == [each.screenshot for each in again]
    assert first[-1].info["verdict"]["success"] and len(first) == len(canvas)
    for ours, theirs in zip(first, canvas, strict=True):
        assert {**ours.info["state"], "renderer": "canvas"} == theirs.info["state"]
        assert ours.pixels is not None and theirs.pixels is not None
        board = ours.info["state"]["board"]
        blocks = np.array(ours.info["state"]["blocks"])
        middles = [board[axis] + (np.arange(len(blocks)) + 0.5) * board["cell"] for axis in ("y", "x")]
        light = ours.pixels[np.ix_(*(np.round(middle).astype(int) for middle in middles))].mean(-1)
        won = ours.info["verdict"]["success"]
        assert won or light[blocks > 0].min() > light[blocks == 0].max() + 20  # a block stands where one is
        assert 0.002 < (ours.pixels != theirs.pixels).any(-1).mean() < 0.6


def test_a_lost_context_is_a_failure_and_no_picture_without_blocks() -> None:
    async def play() -> None:
        async with BrowserManager(BrowserConfig(browsers=1)) as manager:
            game = BrowserGame(manager)
            await game.reset(task("webgl"))
            assert game.page is not None
            await game.page.evaluate(
                "void Solid.canvas().getContext('webgl').getExtension('WEBGL_lose_context').loseContext()"
            )
            with pytest.raises(PageError, match="WebGL's context was lost"):
                await game.step([action_from_call("click", {"point": (10, 10)})])

    asyncio.run(play())


@pytest.mark.skipif(any(Path("/dev").glob("dri/render*")) or Path("/dev/nvidia0").exists(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_a_sentence() -> None:
    async def open_game() -> None:
        async with BrowserManager(BrowserConfig(browsers=1, use_angle="vulkan")) as manager:
            await BrowserGame(manager).reset(task("webgl"))

    with pytest.raises(InputError, match="browser.use_angle must be swiftshader, as with vulkan .*no GPU"):
        asyncio.run(open_game())


def test_flags_and_values() -> None:
    assert angle_flags("swiftshader")[0] == "--disable-gpu"
    for backend in ANGLE[1:]:
        assert f"--use-angle={backend}" in angle_flags(backend) and "--disable-gpu" not in angle_flags(backend)
    with pytest.raises(InputError, match="browser.use_angle must be one of 'swiftshader', 'gl', .*; got 'gpu'"):
        BrowserConfig(use_angle="gpu")
    with pytest.raises(InputError, match="option renderer"):
        GAME.check_options({"renderer": "paper"})
