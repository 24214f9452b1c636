"""The merging experiment's tasks. The experiment itself takes minutes: `./launch/local.sh merge_games`."""

from __future__ import annotations

import json
import pathlib
import types
from typing import Any

import pytest

from experiments.merge_games import finish, tasks
from tars_jax import InputError
from tars_jax.pipelines.config import load_config

ROOT = pathlib.Path(__file__).resolve().parents[2]


def lab(*flags: str, **more: Any) -> Any:
    return types.SimpleNamespace(config=load_config("merge_games", flags, root=ROOT), **more)


@pytest.mark.slow
def test_no_level_is_in_two_streams() -> None:
    where = lab()
    for game in where.config.games:
        streams = [
            tasks(where, game, "start", "train", 300),
            tasks(where, game, "specialist", "train", 300),
            tasks(where, game, "evaluation", "eval", 300),
        ]
        seeds = [task.seed for stream in streams for task in stream]
        assert len(set(seeds)) == 900
        assert {task.max_steps for stream in streams for task in stream} == {5}
    assert tasks(where, "maze_path_of_light", "start", "train", 1)[0].options == {"distance": [1, 4]}


def test_the_result_compares_merges_with_the_specialist_of_each_game(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = types.SimpleNamespace(finished=lambda stage: {"seconds": 6.0})
    games = ("infinity_loop", "maze_path_of_light")
    scores = {
        "start": dict.fromkeys(games, (40, 100)),
        games[0]: {games[0]: (80, 100), games[1]: (20, 100)},
        games[1]: {games[0]: (10, 100), games[1]: (90, 100)},
        "merged_0.5": {games[0]: (70, 100), games[1]: (95, 100)},
    }
    finish(lab(path=tmp_path, run=run), scores)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["mean"] == pytest.approx({"start": 0.4, games[0]: 0.5, games[1]: 0.5, "merged_0.5": 0.825})
    over = result["against_specialist"]["merged_0.5"]
    assert over[games[0]]["value"] == pytest.approx(-0.1) and over[games[1]]["value"] == pytest.approx(0.05)
    assert result["minutes"] == pytest.approx((4 + 4 + 8) * 0.1)  # demonstrations, agents, evaluations
    assert "merged_0.5 against the specialist of each game: -10.0 points" in capsys.readouterr().out


@pytest.mark.parametrize("merges", ["0,0.5", "1.0,", "()"])
def test_a_merge_takes_some_of_both(merges: str) -> None:
    with pytest.raises(InputError, match=r"config.merges must be .*between 0 and 1.*; got"):
        lab(f"--config.merges={merges}")
