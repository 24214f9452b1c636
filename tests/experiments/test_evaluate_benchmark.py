"""The evaluation command on a benchmark that is read from its own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.evaluate import RULES, run
from tars_jax import InputError
from tars_jax.pipelines.checkout import ROOT
from tars_jax.pipelines.config import load_config
from tars_jax.training.run_directory import RunDirectory
from tests.envs.benchmarks.counting import COUNTING, write_tasks


def evaluate(path: Path, tasks: Path | str, **more: Any) -> tuple[int, dict[str, Any]]:
    fields = {"suite": COUNTING.name, "tasks": tasks, "checkpoint": "reference", **more}
    flags = [f"--config.{name.replace('__', '.')}={value}" for name, value in fields.items()]
    config = load_config("evaluate", flags, root=ROOT, rules=RULES)
    with RunDirectory.create(path, config.to_dict(), "evaluate") as directory:
        status = run(config, directory)
    return status or 0, json.loads((path / "result.json").read_text())


def test_the_reference_solves_all_and_results_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, result = evaluate(tmp_path / "run", write_tasks(tmp_path / "words.jsonl"))
    assert status == 0
    assert (result["tasks"], result["episodes"], result["lost_to_infrastructure"]) == (5, 10, 0)
    assert result["success"]["value"] == 1.0 and result["success"]["low"] < 0.9
    assert set(result["groups"]) == {"short", "long"} and result["left_out"] == {"kiwi": "kiwi.txt is missing"}
    assert result["by_task"]["plum"] == {"group": "short", "scores": [1.0, 1.0], "successes": [True, True], "lost": []}
    assert result["costs"]["tokens_written"] > 0 and result["costs"]["seconds"] > 0
    assert result["step_budgets"]["1"]["value"] == 0 and result["step_budgets"]["4"]["value"] == 100
    own = json.loads((tmp_path / "run/benchmark/results.json").read_text())
    assert own["results"] == {f"{word} {k}": 1.0 for word in result["by_task"] for k in (0, 1)}
    said = capsys.readouterr().out
    assert said.index("left out: kiwi: kiwi.txt is missing") < said.index("# Counting, played by reference")
    assert "pass@2" in (tmp_path / "run/report.md").read_text()


def test_what_was_lost_counts_nowhere_and_is_played_again(tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    tasks = write_tasks(tmp_path / "words.jsonl", mended)
    broken = {"environment_options": '{"broken": "fig"}', "attempts": 1}
    status, result = evaluate(tmp_path / "run", tasks, **broken)
    assert (status, result["tasks"], result["lost_to_infrastructure"]) == (0, 4, 1)
    assert result["success"]["value"] == 1.0 and "not installed" in result["by_task"]["fig"]["lost"][0]
    assert "1 of 5 episodes were lost and count nowhere" in (tmp_path / "run/report.md").read_text()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "run/trajectories/played").glob("*.trajectory")}
    mended.touch()
    _, result = evaluate(tmp_path / "run", tasks, **broken)
    assert (result["tasks"], result["lost_to_infrastructure"]) == (5, 0)
    again = [path for path, time in kept.items() if path.stat().st_mtime_ns != time]
    assert len(again) == 1


def test_nothing_measured_is_no_success(tmp_path: Path) -> None:
    tasks = write_tasks(tmp_path / "words.jsonl", tmp_path / "never")
    status, result = evaluate(
        tmp_path / "run", tasks, environment_options='{"broken": "fig"}', names="fig,", attempts=1
    )
    assert status == 1 and result["lost_to_infrastructure"] == 1 and "success" not in result


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tasks": ""}, "config.tasks must be where the tasks of"),
        ({"names": "pear,"}, "names must be ids of tasks"),
        ({"episodes": 3}, "config.episodes must be left out but for games15, miniwob and lmgame; got 3"),
        ({"checkpoint": "person"}, "config.checkpoint must not be person, who plays games alone"),
        ({"judge_options": '{"a": 1}'}, "config.judge must name the judge of judge_options"),
        ({"environment_options": '{"time_limit": 3}', "time_limit": 2.0}, "must leave out what config.time_limit says"),
        ({"suite": "games15"}, "config.tasks must be left out but for a benchmark that is read from its own files"),
        ({"suite": "no_such"}, "config.suite must be one of 'games15'|config.suite must be one of games15"),
        ({"interface": "sdk"}, "an option must be one of broken, time_limit; got 'interface'"),
    ],
)
def test_fields_that_cannot_be(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    tasks = write_tasks(tmp_path / "words.jsonl")
    with pytest.raises(InputError, match=words):
        evaluate(tmp_path / "run", **{"tasks": tasks, **fields})
