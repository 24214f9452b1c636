"""What judges said elsewhere, from files of our own in AgentRewardBench's form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.judges.labels import read_agent_reward_bench
from tars_jax.judges.labels.judgments import read_judgments
from tests.judges.test_labels import folder_of


def judgment(text: str | None, steps: int = 7, reward: float | None = 1.0) -> dict[str, Any]:
    response = None if text is None else {"choices": [{"message": {"content": text, "role": "assistant"}}]}
    return {"response": response, "trajectory_info": {"summary_info": {"n_steps": steps, "cum_reward": reward}}}


def judgments_of(path: Path, by_task: dict[str, Any]) -> Path:
    for task, record in by_task.items():
        file = path / "webarena" / "GenericAgent-ä" / "webjudge" / f"{task}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(record), encoding="utf-8")
    return path


def read(tmp_path: Path, by_task: dict[str, Any], judge: str = "webjudge") -> list[tuple[str, bool | None, str]]:
    labelled = read_agent_reward_bench(folder_of(tmp_path / "labels"), trajectories=False)
    found = read_judgments(judgments_of(tmp_path / "judgments", by_task), judge, labelled)
    return [(each.labelled.id.split("/")[0], each.verdict, each.failure) for each in found]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('Thoughts: It looped.\n\nStatus: "failure"', False),
        ("Thoughts: A success. Status: failure", False),
        ("**Status**: success", None),
        ("Status: **success**", True),
        ("<reasoning>No.</reasoning>\n<success>Unsuccessful</success>\n<side>No</side>", False),
        ("<success> Successful </success>", True),
        ("Thought: half of it.\nReward: 3", False),
        ("Thought: all of it.\nReward: 4", True),
        ("Reward: 9", None),
        ("Status: success\nStatus: failure", None),
        ("It was a success.", None),
        (None, None),
    ],
)
def test_forms_of_its_judges(text: str | None, verdict: bool | None, tmp_path: Path) -> None:
    [(task, found, failure)] = read(tmp_path, {"webarena.1": judgment(text)})
    assert (task, found) == ("webarena.1", verdict) and ("one verdict" in failure) == (verdict is None)


def test_steps_and_the_rules_verdict_come_along(tmp_path: Path) -> None:
    labelled = read_agent_reward_bench(folder_of(tmp_path / "labels"), trajectories=False)
    said = {"webarena.2": judgment("Status: success", 3, 0.0), "webarena.1": judgment("Status: success", 7, None)}
    found = read_judgments(judgments_of(tmp_path / "judgments", said), "webjudge", labelled)
    assert [(each.labelled.steps, each.labelled.rule_verdict) for each in found] == [(7, None), (3, False)]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ([], "must hold a JSON object; got list"),
        ({"response": None}, "field trajectory_info must be"),
        ({**judgment("x"), "response": "text"}, "field response must be an object; got str"),
        ({**judgment("x"), "response": {"choices": [{"message": {"content": 3}}]}}, "content must be text; got 3"),
    ],
)
def test_a_file_of_another_form_is_named(record: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="webarena.1.json") as found:
        read(tmp_path, {"webarena.1": record})
    assert words in str(found.value)


def test_a_judge_without_judgments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must hold judgments of aer as BENCHMARK/AGENT/aer/TASK.json"):
        read(tmp_path, {"webarena.1": judgment("Status: success")}, "aer")
