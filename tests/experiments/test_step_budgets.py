"""Score against step budget: each budget is played anew, by several contestants, in games and in other environments."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from experiments.step_budgets import RULES, run
from tars_jax import InputError
from tars_jax.pipelines.config import load_config
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory.files import load_trajectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = {"episodes": 2, "screen": 96, "browser.browsers": 1, "browser.pages": 2}


def budgets(path: pathlib.Path, **more: Any) -> dict[str, Any]:
    fields = SMALL | {name.replace("__", "."): value for name, value in more.items()}
    flags = [f"--config.{name}={value}" for name, value in fields.items()]
    config = load_config("step_budgets", flags, root=ROOT, rules=RULES)
    with RunDirectory.create(path, config.to_dict(), "step_budgets") as run_directory:
        run(config, run_directory)
    found: dict[str, Any] = json.loads((path / "result.json").read_text())
    return found


@pytest.mark.browser
def test_games_are_played_anew_in_each_budget(tmp_path: pathlib.Path) -> None:
    play = {"names": "maze_path_of_light,", "budgets": "12,4", "contestants": "reference,random"}
    result = budgets(tmp_path / "run", called="best,chance", **play)
    curves = {name: {int(b): each["value"] for b, each in curve.items()} for name, curve in result["curves"].items()}
    assert list(curves) == ["best", "chance"] and list(curves["best"]) == [4, 12]
    assert curves["best"][12] == 100 > curves["best"][4] > 0 and curves["chance"][12] < 50
    for budget in (4, 12):
        played = [
            load_trajectory(path)
            for path in (tmp_path / "run" / "trajectories" / f"best-{budget}-96x96").glob("*.trajectory")
        ]
        assert len(played) == 2 and all(len(episode.steps) == episode.task["max_steps"] == budget for episode in played)
    page = (tmp_path / "run" / "report.md").read_text()
    assert "best" in page and "played anew" in page and (tmp_path / "run" / "budgets.svg").stat().st_size > 5000


@pytest.mark.multiprocess
def test_tasks_of_an_environment_have_budgets_beyond_its_own(tmp_path: pathlib.Path) -> None:
    """A computer's: its player needs a command for each step of the way and an answer."""
    result = budgets(
        tmp_path / "run", suite="environment", environment="computer", contestants="reference,",
        environment_options='{"task": "find_word", "level": 1}', budgets="1,40", screen=0,
    )  # fmt: skip
    values = {int(budget): each["value"] for budget, each in result["curves"]["reference"].items()}
    assert values == {1: 0, 40: 100} and result["unit"] == "success, %" and result["suite"] == "computer"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"budgets": "3,3"}, "config.budgets must be different whole numbers of 1 or more"),
        ({"budgets": "0,3"}, "config.budgets must be different whole numbers of 1 or more"),
        ({"contestants": "()"}, "config.contestants must be different ones"),
        ({"suite": "chess"}, "config.suite must be one of 'games15'"),
        ({"called": "a,"}, "config.called must be different names, one for each of 3 contestants; got a"),
    ],
)
def test_what_it_cannot_have_is_a_sentence(fields: dict[str, Any], words: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match=words):
        budgets(tmp_path / "run", **fields)
