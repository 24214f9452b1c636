"""Score against step budget: each budget is played anew, by several contestants, in games and in other environments."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import jax
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from experiments.step_budgets import run
from tars_jax import InputError
from tars_jax.inference.server import ServerConfig, serving
from tars_jax.model.policy import init_parameters
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.config import load_config
from tars_jax.training.checkpoint import save_parameters
from tars_jax.training.run_directory import RunDirectory
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import load_trajectory

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMALL = {"episodes": 2, "screen": 96, "browser.browsers": 1, "browser.pages": 2}


def budgets(path: pathlib.Path, **more: Any) -> dict[str, Any]:
    fields = SMALL | {name.replace("__", "."): value for name, value in more.items()}
    flags = [f"--config.{name}={value}" for name, value in fields.items()]
    config = load_config("step_budgets", flags, root=ROOT)
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


@pytest.mark.full
@pytest.mark.browser
def test_a_budget_in_which_the_reference_scores_nothing_is_no_scale(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="config.budgets must hold one in which a reference player scores.*got 1 at"):
        budgets(tmp_path / "run", names="maze_path_of_light,", budgets="1,", contestants="random,")


@pytest.mark.multiprocess
def test_tasks_of_an_environment_have_budgets_beyond_its_own(tmp_path: pathlib.Path) -> None:
    """A computer's: its player needs a command for each step of the way and an answer."""
    result = budgets(
        tmp_path / "run", suite="environment", environment="computer", contestants="reference,",
        environment_options='{"task": "find_word", "level": 1}', budgets="1,40", screen=0,
    )  # fmt: skip
    values = {int(budget): each["value"] for budget, each in result["curves"]["reference"].items()}
    assert values == {1: 0, 40: 100} and result["unit"] == "success, %" and result["suite"] == "computer"


AGENT = {
    "grammar": "text", "constrained": True, "thought": "never", "show_budget": True, "max_observation_tokens": 12,
    "min_steps": 1, "max_steps": 12, "max_summaries": 0,
}  # fmt: skip
CORRIDOR = {"suite": "environment", "environment": "corridor", "screen": 96}


def played(path: pathlib.Path, stage: str) -> list[Trajectory]:
    return [load_trajectory(file) for file in sorted((path / "trajectories" / f"{stage}-96x96").glob("*.trajectory"))]


@pytest.mark.slow
def test_a_policy_trained_under_a_constraint_plays_under_it_in_windows_of_its_run(tmp_path: pathlib.Path) -> None:
    """Random weights, which without it say nothing that could be read; and twelve steps fill no window of 256."""
    tokenizer = load_tokenizer()
    model = preset("nano", tokenizer.vocabulary)
    weights = jax.jit(lambda: init_parameters(model, jax.random.key(0)))()
    save_parameters(tmp_path / "policy", weights, model=model)
    config = {"agent": AGENT, "engine": {"max_new_tokens": 40}, "browser": {"size": 96}}
    (tmp_path / "config.json").write_text(json.dumps({"experiment": "train", "config": config}))
    corridor = CORRIDOR | {"environment_options": '{"shortest": 12, "longest": 12}'}
    budgets(tmp_path / "run", contestants=f"{tmp_path}/policy,", budgets="12,", **corridor)
    episodes = played(tmp_path / "run", "policy-12")
    assert [len(each.steps) for each in episodes] == [12, 12]
    assert all(step.action.startswith("go(") for each in episodes for step in each.steps)
    assert max(len(window.tokens) for each in episodes for window in each.windows) > 256


def test_our_server_is_asked_under_the_constraint_that_its_policy_was_trained_under(tmp_path: pathlib.Path) -> None:
    patterns: dict[str, str] = {}
    asked: list[str] = []

    async def policy(request: Request) -> Response:
        return JSONResponse({"model": "ours", "version": 3, "agent": AGENT, "screenshot": [96, 96]})

    async def keep(request: Request) -> Response:
        patterns[request.path_params["name"]] = json.loads(await request.body())["pattern"]
        return JSONResponse({"name": request.path_params["name"], "shortest": 9})

    async def complete(request: Request) -> Response:
        asked.append(json.loads(await request.body())["constraint"])
        answer = {"content": "Action: go(way='up')"}
        return JSONResponse({"choices": [{"message": answer, "finish_reason": "stop"}]})

    routes = [
        Route("/v1/rl/policy", policy),
        Route("/v1/rl/constraints/{name}", keep, methods=["PUT"]),
        Route("/v1/chat/completions", complete, methods=["POST"]),
    ]
    with serving(Starlette(routes=routes), ServerConfig(port=0)) as address:
        budgets(tmp_path / "run", contestants=f"{address},", called="ours,", budgets="3,", **CORRIDOR)
    assert len(asked) == 6 and {*asked} == {*patterns}
    (pattern,) = patterns.values()
    assert re.fullmatch(pattern, "Action: go(way='up')") and not re.fullmatch(pattern, "Action: go(way='home')")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"budgets": "3,3"}, "config.budgets must be different whole numbers of 1 or more"),
        ({"budgets": "0,3"}, "config.budgets must be different whole numbers of 1 or more"),
        ({"contestants": "()"}, "config.contestants must be different ones"),
        ({"contestants": "nobody,"}, "config.contestants must be a folder of exported weights"),
        ({"suite": "environment", "contestants": "person,"}, "config.contestants must be without person"),
        ({"called": "a,"}, "config.called must be different names, one for each of 3 contestants; got a"),
    ],
)
def test_what_it_cannot_have_is_a_sentence(fields: dict[str, Any], words: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match=words):
        budgets(tmp_path / "run", **fields)
