"""Training on several games: their tasks, their curriculum, and the whole job at a tiny size."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from experiments.config import load_config
from experiments.games import RULES, Games
from tars_jax import InputError
from tars_jax.training.metrics import read_metrics
from tars_jax.trajectory import Outcome, Trajectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
GAMES = ("infinity_loop", "game_2048", "maze_path_of_light")


def config(*flags: str) -> Any:
    return load_config("games", [f"--config.games={','.join(GAMES)}", *flags], root=ROOT, rules=RULES)


def test_games_take_turns_and_no_level_is_in_two_sets() -> None:
    work = Games(config("--config.levels=1,2,3", "--config.task.max_steps=30"))
    stream = work.training(None)
    sets = [
        work.demonstrations(300),
        work.value_episodes(300),
        work.held_out(300),
        [stream.task(i) for i in range(300)],
    ]
    for tasks in sets:
        assert Counter(task.game for task in tasks) == dict.fromkeys(GAMES, 100)
        levels = Counter(task.options["level"] for task in tasks)
        assert set(levels) == {1, 2, 3} and min(levels.values()) > 60
    for game in GAMES:
        seeds = [task.seed for tasks in sets for task in tasks if task.game == game]
        assert len(set(seeds)) == 400
    budgets = {(task.game, task.options["level"]): task.max_steps for task in sets[0]}
    assert budgets["maze_path_of_light", 1] == 8 and budgets["game_2048", 3] == 30  # its level's, but at most 30


def episode(game: str, level: int, reward: float) -> Trajectory:
    return Trajectory("", {"game": game, "options": {"level": level}}, (), (), Outcome.FINISHED, reward)


def test_each_game_has_a_curriculum_of_its_own_that_resumes() -> None:
    work = Games(config("--config.levels=1,2"))
    stream = work.training(None)
    solved = [episode("infinity_loop", 1, 1.0) for _ in range(30)] + [episode("infinity_loop", 2, 0.0)]
    metrics = stream.saw([*solved, episode("game_2048", 1, 0.0)])
    assert metrics["infinity_loop_success"] == pytest.approx(30 / 31) and metrics["game_2048_success"] == 0
    assert "maze_path_of_light_success" not in metrics and metrics["maze_path_of_light_level"] == 1.5
    assert metrics["infinity_loop_level"] > 1.7  # level 1 is always solved: level 2 comes more often
    again = work.training(json.loads(json.dumps(stream.state())))
    assert [again.task(index) for index in range(60)] == [stream.task(index) for index in range(60)]


@pytest.mark.parametrize("games", ["chess", "infinity_loop,infinity_loop", "()"])
def test_games_are_known_and_different(games: str) -> None:
    with pytest.raises(InputError, match=r"config.games got .* different ones of .*maze_path_of_light"):
        load_config("games", [f"--config.games={games}"], root=ROOT, rules=RULES)


@pytest.mark.browser
@pytest.mark.multiprocess
def test_the_job_scores_every_game(tmp_path: pathlib.Path) -> None:
    run = tmp_path / "run"
    tiny = {
        "games": "infinity_loop,game_2048",
        "demonstrations.episodes": 12,
        "supervised.updates": 20,
        "supervised.batch_rows": 8,
        "value.episodes": 12,
        "value.max_updates": 12,
        "value.batch_rows": 8,
        "ppo.updates": 1,
        "ppo.min_batch": 6,
        "ppo.minibatch_rows": 8,
        "task.evaluation_episodes": 6,
        "task.max_steps": 4,
        "browser.pages": 4,
    }
    flags = [f"--config.{name}={value}" for name, value in tiny.items()]
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "games", *flags, f"--config.run={run}"],
        cwd=ROOT,
        env={**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((run / "result.json").read_text())
    assert {game: scores["after"][1] for game, scores in result["games"].items()} == {
        "infinity_loop": 3,
        "game_2048": 3,
    }
    [row] = [row for row in read_metrics(run / "metrics.jsonl") if row.stage == "ppo"]
    assert {"infinity_loop_success", "game_2048_success"} <= set(row.values)
    page = (run / "report.html").read_text()
    assert "Infinity-Loop" in page and "Each game while PPO trains" in page
