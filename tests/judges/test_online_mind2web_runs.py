"""Runs of agents on Online-Mind2Web and what its evaluation said of them, from files of our own in its forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.judges.labels.online_mind2web_runs import read_evaluations, read_labelled_runs, read_run
from tars_jax.judges.reference import answer_of

LABELS = [
    {"task_id": "t1", "confirmed_task": "Find pens.", "Ours_human_label": "1", "Other_human_label": 0},
    {"task_id": "t2", "confirmed_task": "Find ink 😀.", "Ours_human_label": "0", "Other_human_label": 1},
]
V1 = {"task_id": "t1", "task": "Find pens.", "action_history": ["click -> pens", None], "thoughts": ["a", "b"],
      "final_result_response": "found"}  # fmt: skip
V2 = {
    "schema_version": "online-mind2web-v2", "task_id": "t2", "task": "Find ink 😀.", "agent_final_answer": None,
    "action_history": [{"action": "CLICK ink", "thought": "t", "screenshot": "1.png"},
                       {"action": "ANSWER: it is there", "thought": None, "screenshot": "2.png"}],
}  # fmt: skip


def run(folder: Path, result: Any, shots: tuple[str, ...] = ("1.png", "2.png", "10.png")) -> Path:
    (folder / "trajectory").mkdir(parents=True)
    (folder / "result.json").write_text(result if isinstance(result, str) else json.dumps(result))
    for name in shots:
        (folder / "trajectory" / name).write_bytes(name.encode())
    return folder


def bench(folder: Path) -> Path:
    folder.mkdir()
    (folder / "human_label.json").write_text(json.dumps(LABELS))
    run(folder / "Ours" / "t1", V1)
    run(folder / "Ours" / "t2", V2)
    lines = [{**V1, "predicted_label": 1, "key_points": "1. pens"}, {"task_id": "t2", "predicted_label": 1}]
    name = "WebJudge_Online_Mind2Web_eval_o4-mini_score_threshold_3_auto_eval_results.json"
    (folder / "Ours" / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_labelled_runs(tmp_path: Path) -> None:
    first, second = read_labelled_runs(bench(tmp_path / "bench"))
    assert [(each.id, each.agent, each.labels) for each in (first, second)] == [
        ("t1/Ours", "Ours", (True,)), ("t2/Ours", "Ours", (False,)),
    ]  # fmt: skip
    assert first.trajectory is not None and second.trajectory is not None
    assert [step.action for step in first.trajectory.steps] == ["click -> pens", "", "finished(content='found')"]
    assert [step.screenshot for step in first.trajectory.steps] == [b"1.png", b"2.png", b"10.png"]
    assert answer_of(first.trajectory) == "found"
    assert [step.action for step in second.trajectory.steps] == ["CLICK ink", "finished()"]
    assert second.task is not None and second.task.instruction == "Find ink 😀."
    assert len(read_labelled_runs(tmp_path / "bench", trajectories=False)) == 4


def test_what_the_evaluation_said(tmp_path: Path) -> None:
    folder = bench(tmp_path / "bench")
    found = read_evaluations(folder, read_labelled_runs(folder, trajectories=False))
    assert [(each.labelled.id, each.verdict) for each in found] == [("t1/Ours", True), ("t2/Ours", True)]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ('{"task": "x"', "must be a whole JSON file"),
        ([], "must hold a JSON object; got list"),
        ({**V1, "task": None}, "field task must be text; got nothing"),
        (
            {**V1, "schema_version": "online-mind2web-v3"},
            "field schema_version must be online-mind2web-v2, or left out",
        ),
        ({**V1, "action_history": [3]}, r"action_history\[0\] must be text; got int"),
        ({**V1, "action_history": [], "final_result_response": ""}, "field action_history must be one step or more"),
        ({**V2, "action_history": ["x"]}, r"action_history\[0\] must be an object; got str"),
        ({**V2, "action_history": [{"action": "x", "screenshot": "../1.png"}]}, "must be the name of a file"),
        ({**V2, "action_history": [{"action": "x", "screenshot": "9.png"}]}, "must be a screenshot that can be read"),
    ],
)
def test_a_run_that_is_none(tmp_path: Path, result: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_run(run(tmp_path / "t1", result))


def test_folders_without_runs(tmp_path: Path) -> None:
    (tmp_path / "human_label.json").write_text(json.dumps(LABELS))
    with pytest.raises(InputError, match="must hold runs as AGENT/TASK_ID/result.json"):
        read_labelled_runs(tmp_path)
    labelled = read_labelled_runs(tmp_path, trajectories=False)
    with pytest.raises(InputError, match="must hold AGENT/"):
        read_evaluations(tmp_path, labelled)
    (tmp_path / "Ours").mkdir()
    for line, said in (
        ('{"task_id": "t1", "predicted_label": "1"}', "predicted_label must be"),
        ("{", "results.json:1"),
    ):
        (tmp_path / "Ours" / "auto_eval_results.json").write_text(line)
        with pytest.raises(InputError, match=said):
            read_evaluations(tmp_path, labelled)
