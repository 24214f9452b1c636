"""Ace Attorney from a user's ROM and checkout, with a game of our own in its place: on a stub of the emulator, and
where stable-retro is installed on its emulator of the Game Boy Advance. Its own ROM is not at hand."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.evaluate import run
from tars_jax import InputError
from tars_jax.agent import parse_response
from tars_jax.agent.response import ParseError
from tars_jax.environment import Observation, Task, Transition
from tars_jax.envs.ace_attorney import MOVES, AceAttorney
from tars_jax.envs.registry import load_environment
from tars_jax.pipelines.config import load_config
from tars_jax.tasks.lmgame.ace_attorney import FOLDER, INTEGRATION, PARTS, DialogueProgress, read_parts
from tars_jax.training.run_directory import RunDirectory
from tests.envs.own_cartridge import ROM, write_checkout

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).with_name("retro_stub")
REAL = importlib.util.find_spec("stable_retro") is not None
NAME = "lmgame/ace_attorney"
TASK = Task("t", NAME, 0, {}, 300)
needs_retro = pytest.mark.skipif(not REAL, reason="stable-retro is not installed")


@pytest.fixture
def on_stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stub in stable-retro's place, in this process and in those that it starts."""
    monkeypatch.syspath_prepend(STUB)
    monkeypatch.setenv("PYTHONPATH", str(STUB))


@pytest.fixture
def given(tmp_path: Path, on_stub: None) -> dict[str, str]:
    """The options of a task, for the stub."""
    return options(tmp_path, emulator=False)


def options(folder: Path, *, emulator: bool) -> dict[str, str]:
    rom = folder / "mine.gba"
    rom.write_bytes(ROM)
    return {"rom": str(rom), "gaming_agent": str(write_checkout(folder / "GamingAgent", emulator=emulator))}


@pytest.fixture(params=["stub", pytest.param("emulator", marks=[needs_retro, pytest.mark.slow])])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    if request.param == "stub":
        request.getfixturevalue("on_stub")
    yield options(tmp_path, emulator=request.param == "emulator")


def color(shown: Observation) -> int:
    """What our game's screen tells: of the presses so far, the sum of their buttons' bits."""
    assert shown.pixels is not None and shown.pixels.shape == (160, 240, 3)
    assert len(np.unique(shown.pixels.reshape(-1, 3), axis=0)) == 1
    red, green, blue = (int(value) >> 3 for value in shown.pixels[0, 0])
    return red | green << 5 | blue << 10


def answer(game: AceAttorney, move: str, dialog: str = "") -> Any:
    """As a policy writes it."""
    written = f"Thought: so\nAction: move(move='{move}', dialog={json.dumps(dialog)})"
    read = parse_response(written, grammar="text", space=game.action_space)
    assert not isinstance(read, ParseError)
    return game.step(read.actions)


@pytest.mark.multiprocess
def test_lines_that_are_read_lead_from_part_to_part(either: dict[str, str]) -> None:
    async def play() -> None:
        game = AceAttorney(**either)
        first = await game.reset(TASK)
        assert color(first) == 64 and first.info["verdict"]["score"] == 0 and first.info["verdict"]["lives"] == 5
        told = "What was said before:\nEve: Part 1 begins.\n(It rains.)\n\nEvidence:\nOld Key: It fits no lock."
        assert first.text == told
        held = color(first)
        for move, bit in (("a", 1), ("b", 2), ("right", 16), ("left", 32), ("down", 128), ("r", 256), ("no_op", 0)):
            shown = (await answer(game, move, "Bob: It was green.")).observation
            held += bit
            assert color(shown) == held
        assert shown.text.endswith("no lock.\n\nLines that you have read, the oldest first:\nSam: It was blue.")
        assert "Part 1" not in shown.text and shown.info["state"] == {"part": "level1_1_5", "lines": 1}

        for said in ("Ann: Part 1 is over", "ann: Part 1 is over!", "Part 1 is over!", "Ann: Part 2 is over!"):
            missed = await answer(game, "no_op", said)
            assert not (await answer(game, "no_op")).reward and not missed.reward
        last = await answer(game, "a", "Ann: Part 1 is over!")
        assert color(last.observation) == held + 1 and last.reward == 0
        next_part = await answer(game, "l", "Ann: Part 2 is over!")  # the press is not played, the line is heard
        assert next_part.reward == 1 and not next_part.terminated and color(next_part.observation) == 128
        assert (
            next_part.observation.info["verdict"]["score"] == 1 and "Eve: Part 2 begins." in next_part.observation.text
        )
        assert (await game.step([])).reward == 1

        lost = [await answer(game, "l") for _ in range(5)]
        assert [each.observation.info["verdict"]["lives"] for each in lost] == [4, 3, 2, 1, 0]
        assert [each.terminated for each in lost] == [False] * 4 + [True] and not any(each.reward for each in lost)
        again = await game.reset(TASK)
        assert (again.screenshot, again.text, again.info) == (first.screenshot, first.text, first.info)
        await game.close()

    asyncio.run(play())
    kept = Path(either["gaming_agent"]) / FOLDER / INTEGRATION
    assert not list(kept.glob("mine*")) and len(list(kept.glob("*.state"))) == len(PARTS)


def test_the_last_part_ends_the_game_and_one_without_lines_is_never_over(given: dict[str, str]) -> None:
    parts = read_parts(given["gaming_agent"])
    reading = DialogueProgress(parts)
    for number, part in enumerate(parts, 1):
        assert reading.part is part and reading.is_last == (number == len(PARTS))
        reading.hear(f"  Ann :  Part {number} is over! \nand more")
        assert reading.is_over and reading.behind == number - 1
        if not reading.is_last:
            reading.go_on()
            assert not reading.is_over
    table = Path(given["gaming_agent"]) / FOLDER / "assets/skip_conversations.json"
    table.write_text(json.dumps({PARTS[0]: {"end_statement.": ["Ann: Part 1 is over!"]}}))
    endless = DialogueProgress(read_parts(given["gaming_agent"]))
    endless.hear("Ann: Part 1 is over!")
    assert endless.lines == 1 and not endless.is_over


@pytest.mark.multiprocess
def test_after_the_last_part_it_is_over(given: dict[str, str]) -> None:
    async def play() -> list[Transition]:
        game = AceAttorney(**given)
        game._parts = game._parts[:1]
        await game.reset(TASK)
        steps = [await answer(game, "a", "Ann: Part 1 is over!"), await answer(game, "a")]
        await game.close()
        return steps

    assert [(step.reward, step.terminated) for step in asyncio.run(play())] == [(0, False), (0, True)]


Spoil = Callable[[dict[str, str]], Any]
ASSETS = FOLDER / "assets"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda given: given.update(rom=""), "rom must be the file of a ROM of Ace Attorney that you own"),
        (lambda given: given.update(gaming_agent=""), "gaming_agent must be a checkout of lmgame-org/GamingAgent"),
        (lambda given: given.update(gaming_agent="/nowhere"), r"gaming_agent: .*level1_1_5.state must be a file"),
        (lambda given: given.update(rom="/nowhere.gba"), "rom: /nowhere.gba cannot be read: No such file"),
        (
            lambda given: Path(given["rom"]).write_bytes(ROM + b"x"),
            r"must be a .gba file of Ace Attorney with the CRC-32 of its saved states, [0-9a-f]{8}; got [0-9a-f]{8}",
        ),
        (
            lambda given: (Path(given["gaming_agent"]) / FOLDER / INTEGRATION / "level1_1_5.state").write_bytes(b"x"),
            "level1_1_5.state must be a state that the emulator saved",
        ),
        (
            lambda given: (Path(given["gaming_agent"]) / ASSETS / "mapping.json").write_text("{"),
            "mapping.json must be a table of the game's lines",
        ),
        (
            lambda given: (Path(given["gaming_agent"]) / ASSETS / "mapping.json").write_text('{"a": {"dialog": [1]}}'),
            r"mapping.json: \$.a.dialog: \[1\] is not of type 'object'",
        ),
        (
            lambda given: shutil.move(Path(given["gaming_agent"]) / ASSETS, given["rom"] + "-assets"),
            "skip_conversations.json must be a table",
        ),
    ],
)
def test_what_cannot_be_played_is_a_sentence(given: dict[str, str], spoil: Spoil, said: str) -> None:
    spoil(given)
    with pytest.raises(InputError, match=said):
        AceAttorney(**given)


def evaluate(folder: Path, *flags: str) -> dict[str, Any]:
    config = load_config("evaluate", ["--config.checkpoint=random", *flags], root=ROOT)
    with RunDirectory.create(folder, config.to_dict(), "evaluate") as run_directory:
        run(config, run_directory)
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


@pytest.mark.multiprocess
def test_the_suite_plays_it_by_its_own_budget(given: dict[str, str], tmp_path: Path) -> None:
    """Chosen by its name, it is played alone: once, as the benchmark has it, for as many steps as the command says."""
    roms = [f"--config.ace_attorney_rom={given['rom']}", f"--config.gaming_agent={given['gaming_agent']}"]
    flags = ["--config.suite=lmgame", f"--config.names={NAME},"]
    result = evaluate(tmp_path / "run", *flags, *roms, "--config.max_steps=4")
    assert set(result["reported"]) == {NAME} and result["reported"][NAME]["value"] == 0
    assert result["successes"] == {NAME: [0, 1]} and not result["lost_to_infrastructure"]
    page = (tmp_path / "run/report.md").read_text()
    assert "at most 4 steps" in page and "Ace Attorney's score is what the policy says that it has read" in page
    assert load_environment(NAME, given).default_max_steps({}) == 300
    with pytest.raises(InputError, match="gaming_agent must be a checkout"):
        evaluate(tmp_path / "without", *flags, roms[0])
    with pytest.raises(InputError, match="config.gaming_agent must be empty where lmgame/ace_attorney is not played"):
        evaluate(tmp_path / "no_rom", "--config.suite=lmgame", roms[1])
    with pytest.raises(InputError, match="config.ace_attorney_rom must be empty where lmgame/ace_attorney is not play"):
        evaluate(tmp_path / "other", "--config.suite=miniwob", roms[0])
    with pytest.raises(InputError, match=r"needs a ROM that you own .*--config.ace_attorney_rom and --config.gaming_a"):
        evaluate(tmp_path / "none", *flags)


def test_moves_are_the_benchmarks() -> None:
    assert set(MOVES) == {"a", "b", "l", "r", "up", "down", "left", "right", "no_op"}
    assert AceAttorney.action_space.function("move") is not None
