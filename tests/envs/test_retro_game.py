"""Games of consoles from a user's ROM; where stable-retro is installed, Airstriker, which its authors gave away."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiments.evaluate import run
from tars_jax import InputError
from tars_jax.agent import Wait, action_from_call
from tars_jax.environment import EnvironmentFailure, Task
from tars_jax.envs.registry import load_environment
from tars_jax.envs.retro_game import PAD, RetroEnvironment, RetroGame, SuperMarioBros
from tars_jax.pipelines.config import load_config
from tars_jax.tasks.library import load_playable
from tars_jax.training.run_directory import RunDirectory

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = importlib.util.find_spec("stable_retro")
NAME = "lmgame/super_mario_bros"
needs_retro = pytest.mark.skipif(PACKAGE is None, reason="stable-retro is not installed")
TASK = Task("t", NAME, 0, {}, 10)


class Airstriker(RetroEnvironment):
    game = RetroGame(
        "Airstriker", "Airstriker-Genesis", "Level1", ".md", 0, {**PAD, "x": "B"}, "Stay alive.",
        score=lambda variables: 9 - variables["lives"], is_over=lambda variables: variables["lives"] == 0,
    )  # fmt: skip


def test_what_it_needs_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rom must be the file of a ROM of Super Mario Bros. that you own"):
        SuperMarioBros()
    with pytest.raises(InputError, match="needs a ROM that you own .*--config.super_mario_bros_rom"):
        load_playable(NAME)
    assert load_environment(NAME, {"rom": "x.nes"}).default_max_steps({}) == 3000
    other = tmp_path / "other.nes"
    other.write_bytes(bytes(40))
    said = "must be a .nes file of Super Mario Bros." if PACKAGE else r"pip install 'tars_jax\[retro\]'"
    with pytest.raises(InputError, match=said):
        SuperMarioBros(str(other))
    flags = ["--config.suite=lmgame", "--config.checkpoint=random", f"--config.super_mario_bros_rom={other}"]
    config = load_config("evaluate", flags, root=ROOT)
    with (
        RunDirectory.create(tmp_path / "run", config.to_dict(), "evaluate") as run_directory,
        pytest.raises(InputError, match=said),
    ):
        run(config, run_directory)


@needs_retro
@pytest.mark.multiprocess
def test_a_rom_is_played_alike_and_a_dead_emulator_is_a_failure(tmp_path: Path) -> None:
    assert PACKAGE is not None and PACKAGE.origin is not None
    rom = tmp_path / "mine.md"
    shutil.copyfile(Path(PACKAGE.origin).parent / "data/stable/Airstriker-Genesis-v0/rom.md", rom)
    keys: list[tuple[str, dict[str, Any]]] = [
        ("hotkey", {"key": "x left"}),
        ("press", {"key": "x"}),
        ("wait", {"time": 3}),
        ("hotkey", {"key": "right"}),
    ]
    actions = [action_from_call(name, parameters) for name, parameters in keys]

    async def play() -> list[tuple[int, bytes]]:
        game = Airstriker(str(rom))
        seen = []
        for _ in range(2):
            shown = await game.reset(TASK)
            assert shown.pixels is not None and shown.pixels.shape == (224, 320, 3)
            seen.append((0, shown.screenshot))
            for action in [*actions, *[Wait(5)] * 2]:
                shown = (await game.step([action])).observation
                seen.append((shown.info["verdict"]["score"], shown.screenshot))
        assert game._emulator._process is not None
        game._emulator._process.kill()
        with pytest.raises(EnvironmentFailure, match="the emulator of Airstriker is gone"):
            for _ in range(3):
                await game.step(actions)
        await game.reset(TASK)  # in a new one
        await game.close()
        return seen

    seen = asyncio.run(play())
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :] and len({picture for _, picture in seen}) > 4
    scores = [score for score, _ in seen[: len(seen) // 2]]
    assert scores == sorted(scores) and scores[-1] > scores[1] > 0  # a life is lost on the way
    assert not list(Path(PACKAGE.origin).parent.glob("data/stable/Airstriker*/mine*"))
