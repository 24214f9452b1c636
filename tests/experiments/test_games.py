"""Training on several games: their tasks, their curriculum, and the whole job at a tiny size."""

from __future__ import annotations

import json
import pathlib
import types
from collections import Counter
from typing import Any

import pytest

from experiments.games import finish_games
from tars_jax import InputError
from tars_jax.data.game_synthesis.source import write_game
from tars_jax.data.game_synthesis.templates import TemplateAuthor
from tars_jax.pipelines.agent import STAGES, Evaluated
from tars_jax.pipelines.config import load_config
from tars_jax.pipelines.games import Games
from tars_jax.tasks.library import playable_names
from tars_jax.trajectory import Outcome, Trajectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
GAMES = ("infinity_loop", "game_2048", "maze_path_of_light")


def config(*flags: str) -> Any:
    return load_config("games", [f"--config.games={','.join(GAMES)}", *flags], root=ROOT)


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
        assert Counter(task.environment for task in tasks) == dict.fromkeys(GAMES, 100)
        levels = Counter(task.options["level"] for task in tasks)
        assert set(levels) == {1, 2, 3} and min(levels.values()) > 60
    for game in GAMES:
        seeds = [task.seed for tasks in sets for task in tasks if task.environment == game]
        assert len(set(seeds)) == 400
    budgets = {(task.environment, task.options["level"]): task.max_steps for task in sets[0]}
    assert budgets["maze_path_of_light", 1] == 8 and budgets["game_2048", 3] == 30  # its level's, but at most 30


def episode(game: str, level: int | None, reward: float) -> Trajectory:
    options = {} if level is None else {"level": level}
    task = {"environment": game, "options": options}
    return Trajectory("", task, (), (), Outcome.FINISHED, reward, success=reward > 0)


def test_each_game_has_a_curriculum_of_its_own_that_resumes() -> None:
    work = Games(config("--config.levels=1,2"))
    stream = work.training(None)
    solved = [episode("infinity_loop", 1, 1.0) for _ in range(30)] + [episode("infinity_loop", 2, 0.0)]
    metrics = stream.update([*solved, episode("game_2048", 1, 0.0)])
    assert metrics["infinity_loop_success"] == pytest.approx(30 / 31) and metrics["game_2048_success"] == 0
    assert "maze_path_of_light_success" not in metrics and metrics["maze_path_of_light_level"] == 1.5
    assert metrics["infinity_loop_level"] > 1.7  # level 1 is always solved: level 2 comes more often
    again = work.training(json.loads(json.dumps(stream.state())))
    assert [again.task(index) for index in range(60)] == [stream.task(index) for index in range(60)]


@pytest.mark.parametrize("flags", [(), ("--config.task.next_levels=True", "--config.task.level_rewards=True")])
def test_what_a_stream_hands_out_it_takes_back(flags: tuple[str, ...]) -> None:
    stream = Games(config("--config.levels=1,2", *flags)).training(None)
    tasks = [stream.task(index) for index in range(60)]
    assert all(("next_levels" in task.options) == bool(flags) for task in tasks)
    played = [
        Trajectory(
            "", task.to_json(), (), (), Outcome.FINISHED, 1.0, {"final": {"verdict": {"score": 2.0}}},
            success=task.options["level"] == 1,
        )
        for task in tasks
    ]  # fmt: skip
    metrics = stream.update(played)
    assert metrics["infinity_loop_level"] == pytest.approx(1.5, abs=0.4)
    assert metrics.get("infinity_loop_score") == (2.0 if flags else None)


def test_benchmarks_are_trained_on_like_games() -> None:
    """Whole ones by name; what has no levels has one kind of task."""
    flags = ["--config.games=lmgame,maze_path_of_light,miniwob/click-test", "--config.levels=1,2"]
    games = Games(load_config("games", flags, root=ROOT))
    assert games.names == (*playable_names("lmgame"), "maze_path_of_light", "miniwob/click-test")
    assert not games.has_reference
    stream = games.training(None)
    for tasks in (games.held_out(60), [stream.task(index) for index in range(60)]):
        assert {(task.environment, task.options.get("level")) for task in tasks} == {
            *((name, None) for name in (*playable_names("lmgame"), "miniwob/click-test")),
            ("maze_path_of_light", 1),
            ("maze_path_of_light", 2),
        }
    metrics = stream.update([episode("miniwob/click-test", None, 1.0), episode("lmgame/sokoban", None, 3.0)])
    assert metrics["miniwob/click-test_success"] == 1 and "miniwob/click-test_level" not in metrics
    with pytest.raises(InputError, match="games must be .*no two of one name.*; got"):
        load_config("games", ["--config.games=lmgame,lmgame/sokoban"], root=ROOT)


@pytest.mark.parametrize("games", ["chess", "infinity_loop,infinity_loop", "()"])
def test_games_are_known_and_different(games: str) -> None:
    with pytest.raises(InputError, match=r"config.games must be different ones of .*maze_path_of_light.*; got"):
        load_config("games", [f"--config.games={games}"], root=ROOT)


def test_folders_that_hold_games_of_one_name_are_refused(tmp_path: pathlib.Path) -> None:
    """Their curves would be one curve, with the points of whichever came last."""
    folders = [write_game(TemplateAuthor(seed).write(4), tmp_path / str(seed)) for seed in (0, 2)]
    assert len({folder.name for folder in folders}) == 1
    given = ",".join(map(str, folders))
    with pytest.raises(InputError, match=r"config.games must be .*no two of one name.*; got"):
        load_config("games", [f"--config.games={given}"], root=ROOT)
    load_config("games", [f"--config.games={folders[0]},maze_path_of_light"], root=ROOT)


def test_the_result_scores_every_game(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The job itself is the main job's; what is its own is the table."""
    (tmp_path / "metrics.jsonl").write_text("")
    stages = {name: {"seconds": 6.0, "success": 0.5, "consumed": 7} for name in STAGES}
    stages["value"] |= {"explained_variance": 0.2, "simulator_explained_variance": 0.3}
    lab: Any = types.SimpleNamespace(
        config=config(),
        path=tmp_path,
        run=types.SimpleNamespace(finished=stages.get),
        rollouts=types.SimpleNamespace(infrastructure={}),
    )
    before = [episode(game, 1, float(number < 3)) for game in GAMES for number in range(12)]
    after = [
        episode(game, 1, float(number < (12 if game == "game_2048" else 3))) for game in GAMES for number in range(12)
    ]
    finish_games(lab, GAMES, Evaluated(before, after))
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["parts"]["2048"]["before"]["value"] == 0.25 and result["parts"]["2048"]["after"]["value"] == 1
    assert result["parts"]["2048"]["measure"] == "success" and result["parts"]["2048"]["episodes"] == [12, 12]
    assert result["minutes"] == pytest.approx(0.6) and result["episodes"] == 36
    said = capsys.readouterr().out
    assert "2048" in said and "improved" in said and "no change shown" in said
    page = (tmp_path / "report.html").read_text()
    assert "Infinity-Loop" in page and "Each part" in page
