"""Labelled traces by recipe, and a judge that is measured on them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path

import pytest

from experiments.__main__ import main
from tars_jax.agent.calls import action_from_call
from tars_jax.data.recorded import hidden_truth, labelled_traces
from tars_jax.environment import Task
from tars_jax.envs.examples.text_office import KINDS, TextOffice
from tars_jax.trajectory import Trajectory
from tests.judges.episodes import episode, task

QUICK = [
    *(f"--config.parts.{part}.episodes=0" for part in ("maze", "tiles", "encyclopedia", "computer", "text")),
    "--config.parts.office.episodes=10",
    "--config.parts.tools.episodes=6",
]


def test_traces_by_recipe_and_a_judge_on_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [tmp_path / "one", tmp_path / "two"]
    for run in runs:
        assert main(["judge_traces", *QUICK, f"--config.run={run}"]) == 0
    result = json.loads((runs[0] / "result.json").read_text())
    assert result["labelled"] == 16 and 0 < result["solved"] < 16 and list(result["parts"]) == ["office", "tools"]
    said = [
        [
            (each.id, each.site, each.labels, [step.text for step in each.trajectory.steps])
            for each in found
            if each.trajectory
        ]
        for found in map(labelled_traces, map(str, runs))
    ]
    assert said[0] == said[1] and sum(labels[0] for _, _, labels, _ in said[0]) == result["solved"]
    assert {site for _, site, _, _ in said[0]} == {"office", "tools"}
    measured = [
        "judge_agreement",
        "--config.labels=traces",
        f"--config.source={runs[0]}",
        f"--config.run={tmp_path / 'm'}",
    ]
    assert main(measured) == 0
    found = json.loads((tmp_path / "m" / "result.json").read_text())
    assert set(found["by_site"]) == {"office", "tools"} and found["set"]["made_by"].startswith(
        "their environments' hidden"
    )
    assert main([*measured[:2], f"--config.source={tmp_path / 'none'}"]) == 2
    assert "must be a run of judge_traces, with episodes in traces/DOMAIN; got none" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_an_office_is_what_its_state_is(kind: str) -> None:
    """The player's way reaches the goal, also where the first try is refused; what else is pushed is a failure."""

    async def played(seed: int, more: bool) -> bool:
        office = TextOffice(kind)
        seen = await office.reset(Task("t", "office", seed, {}, 9))
        success = False
        for _ in range(5):
            name, arguments = seen.info["state"]["next"]
            if name == "finished":
                break
            turn = await office.step([action_from_call(name, arguments, space=office.action_space)])
            seen, success = turn.observation, bool(turn.success)
        if more:
            wrong = {"shop": "Add", "wiki": "Save", "mail": "Send", "tracker": "Close", "settings": "Reset"}[kind]
            for call in seen.info["state"]["others"]:
                if call[0] == "push" and call[1]["button"].startswith(wrong):
                    turn = await office.step([action_from_call(*call, space=office.action_space)])
            success = bool(turn.success)
        return success

    for seed in range(6):
        assert asyncio.run(played(seed, more=False)) and not asyncio.run(played(seed, more=True))


def test_who_knows_the_truth_of_an_episode() -> None:
    assert hidden_truth(told("finished(content='red')", "red")) and not hidden_truth(
        told("finished(content='Red')", "red")
    )
    assert hidden_truth(told("wait()", "red")) is False
    own = told("wait()", "")
    assert hidden_truth(own) is None


def told(action: str, reference: str) -> Trajectory:
    """Of which its environment says nothing."""

    played = episode([("", action)])
    return dataclasses.replace(played, success=None, task=task(reference=reference).to_json())
