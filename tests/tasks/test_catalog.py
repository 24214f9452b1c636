"""Metadata and checksums of the games."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.games import checksums
from tars_jax.tasks.games.catalog import GAMES_FOLDER, PAGE_SUFFIXES, game_names, load_game, load_game_folder


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The folder of the maze in a copy of the games."""
    shutil.copytree(GAMES_FOLDER / "kit", tmp_path / "kit")
    shutil.copytree(GAMES_FOLDER / "maze_path_of_light", tmp_path / "maze_path_of_light")
    return tmp_path / "maze_path_of_light"


def test_every_game_loads_and_is_complete() -> None:
    assert game_names() == tuple(sorted(page.parent.name for page in GAMES_FOLDER.glob("*/index.html")))
    for name in game_names():
        game = load_game(name)
        assert game.single_canvas and 0 < game.settle_ms <= 200
        assert [level.level for level in game.levels] == list(range(1, len(game.levels) + 1))
        budgets = [level.max_steps for level in game.levels]
        assert budgets == sorted(budgets)
        assert game.steps_of_level(10**6) == budgets[-1]
        assert (game.site_root / game.index).is_file()
        assert (game.folder / "picture.png").stat().st_size < 100_000
        assert f"{name}/verify.js" in game.checksums and "kit/random.js" in game.checksums


def test_pages_reach_no_network_and_use_no_unseeded_randomness() -> None:
    for path in GAMES_FOLDER.rglob("*"):
        if path.suffix in PAGE_SUFFIXES:
            text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("//"))
            for word in ("Math.random", "fetch(", "XMLHttpRequest", "WebSocket", "http:", "https:", "eval("):
                assert word not in text, f"{path} contains {word}"


@pytest.mark.parametrize("changed", ["maze_path_of_light/game.js", "kit/stage.js"])
def test_a_changed_file_is_named(copied: Path, changed: str) -> None:
    with (copied.parent / changed).open("a") as file:
        file.write("// changed\n")
    with pytest.raises(InputError, match=changed):
        load_game_folder(copied)


def test_a_missing_and_an_unknown_file_are_named(copied: Path) -> None:
    (copied / "extra.js").write_text("")
    with pytest.raises(InputError, match=r"extra\.js"):
        load_game_folder(copied)
    (copied / "extra.js").unlink()
    (copied / "verify.js").unlink()
    with pytest.raises(InputError, match=r"verify\.js.*no such file"):
        load_game_folder(copied)


def test_checksums_are_rewritten_and_nothing_else(copied: Path) -> None:
    before = (copied / "game.json").read_text()
    assert not checksums.rewrite(copied / "game.json")
    with (copied / "game.js").open("a") as file:
        file.write("// changed\n")
    assert checksums.rewrite(copied / "game.json")
    after = (copied / "game.json").read_text()
    assert after.split('"checksums"')[0] == before.split('"checksums"')[0] and after != before
    load_game_folder(copied)


def test_bad_metadata_names_file_and_field(copied: Path) -> None:
    path = copied / "game.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "settle_ms": -1}))
    with pytest.raises(InputError, match=r"game\.json: field \$\.settle_ms"):
        load_game_folder(copied)
    path.write_text(json.dumps({**record, "name": "other"}))
    with pytest.raises(InputError, match="field name must be 'maze_path_of_light'"):
        load_game_folder(copied)
    path.write_text("{")
    with pytest.raises(InputError, match=r"game\.json: not JSON"):
        load_game_folder(copied)


def test_unknown_games_and_options_are_refused() -> None:
    with pytest.raises(InputError, match="a game must be one of .*game_2048.*; got 'chess'"):
        load_game("chess")
    maze = load_game("maze_path_of_light")
    maze.check_options({"level": 3, "distance": [2, 4], "size": 6, "loops": 0})
    refused: list[tuple[dict[str, Any], str]] = [
        (
            {"colour": 1},
            "an option must be one of level, size, loops, distance, next_levels, level_rewards; got colour",
        ),
        ({"level": 0}, "option level .* got 0"),
        ({"level": 1.5}, "option level .* got 1.5"),
        ({"distance": [2]}, "option distance"),
        ({"distance": [4, 2]}, "option distance must begin with the lesser number"),
    ]
    for options, words in refused:
        with pytest.raises(InputError, match=words):
            maze.check_options(options)
