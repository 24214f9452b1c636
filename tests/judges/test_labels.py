"""Labels of people, from files of our own in the forms of AgentRewardBench and Online-Mind2Web."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.judges.evidence import evidence_of
from tars_jax.judges.labels import agreement, read_agent_reward_bench, read_online_mind2web, settled
from tars_jax.trajectory import Outcome

COLUMNS = ("annotator_name", "benchmark", "task_id", "model_name", "exp_name", "trajectory_success",
           "trajectory_side_effect", "trajectory_optimality", "trajectory_looping")  # fmt: skip
PNG = b"\x89PNG"


def annotation(task: str, success: str, annotator: str = "A", benchmark: str = "webarena") -> dict[str, str]:
    rest = {"trajectory_side_effect": "No", "trajectory_optimality": "2. Suboptimal", "trajectory_looping": "No"}
    return {"annotator_name": annotator, "benchmark": benchmark, "task_id": task, "model_name": "GenericAgent-ä",
            "exp_name": "run 1", "trajectory_success": success, **rest}  # fmt: skip


ROWS = [
    annotation("webarena.1", "Successful"),
    annotation("webarena.2", "Unsuccessful"),
    annotation("webarena.1", "Successful", "B"),
    annotation("webarena.3", "Successful", "B"),
    annotation("webarena.3", "Unsuccessful", "C"),
    annotation("work.4", "Unsure", benchmark="workarena"),
]


def cleaned(task: str, reward: float | None, benchmark: str = "webarena") -> dict[str, Any]:
    step = {"num": 0, "reasoning": "<think>It is done.</think>", "action": "click('24')", "url": "http://shop/",
            "screenshot_path": f"trajectories/screenshots/{benchmark}/{task}/0.png",
            "axtree_pruned": "[24] link 'Cart'",
            "last_action_error": "", "chat_messages": []}  # fmt: skip
    spoken = {**step, "num": 1, "action": "send_msg_to_user('I did it')", "screenshot_path": "", "axtree_pruned": None}
    info = {"n_steps": 2, "cum_reward": reward, "terminated": True, "truncated": reward is None}
    return {"benchmark": benchmark, "agent": "GenericAgent-ä", "goal": f"Goal of {task}", "valid": True, "seed": 0,
            "summary_info": info, "steps": [step, spoken]}  # fmt: skip


def folder_of(path: Path, rows: list[dict[str, str]] = ROWS, screenshots: bool = True) -> Path:
    path.mkdir(exist_ok=True)
    with (path / "annotations.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    for number, row in enumerate(rows):
        task, benchmark = row["task_id"], row["benchmark"]
        file_of(path, task, benchmark).parent.mkdir(parents=True, exist_ok=True)
        record = cleaned(task, None if task == "webarena.3" else float(number == 0), benchmark)
        if not file_of(path, task, benchmark).exists():
            file_of(path, task, benchmark).write_text(json.dumps(record), encoding="utf-8")
        if screenshots:
            shown = path / "screenshots" / benchmark / task
            shown.mkdir(parents=True, exist_ok=True)
            (shown / "0.png").write_bytes(PNG)
    return path


def file_of(path: Path, task: str, benchmark: str = "webarena") -> Path:
    return path / "cleaned" / benchmark / "GenericAgent-ä" / "run 1" / f"{task}.json"


def test_agent_reward_bench(tmp_path: Path) -> None:
    labelled = read_agent_reward_bench(folder_of(tmp_path))
    assert [(each.site, each.labels, each.rule_verdict, each.steps) for each in labelled] == [
        ("webarena", (True, True), True, 2),
        ("webarena", (False,), False, 2),
        ("webarena", (True, False), None, 2),
        ("workarena", (), False, 2),
    ]
    assert agreement(labelled) == (1, 2)
    assert [solved for _, solved in settled(labelled)] == [True, False]  # one contradicts itself, one has no label
    assert [solved for _, solved in settled(labelled, "first")] == [True, False, True]
    assert [solved for _, solved in settled(labelled, "failure")] == [True, False, False]
    unsure = read_agent_reward_bench(tmp_path, unsure="failure", trajectories=False)
    assert unsure[3].labels == (False,) and unsure[3].trajectory is None and unsure[3].steps == 0
    first = labelled[0]
    assert first.trajectory is not None and first.task is not None
    assert first.trajectory.outcome is Outcome.FINISHED and first.task.instruction == "Goal of webarena.1"
    assert first.trajectory.success is None  # a label is never shown to a judge
    evidence = evidence_of(first.trajectory, first.task)
    assert evidence.instruction == "Goal of webarena.1" and evidence.actions == ("click('24')", "finished()")
    assert evidence.observations[0].text == "http://shop/\n[24] link 'Cart'"
    assert evidence.observations[0].screenshot == PNG and evidence.observations[1].screenshot == b""
    without = read_agent_reward_bench(folder_of(tmp_path / "texts", screenshots=False))
    assert without[0].trajectory is not None and without[0].trajectory.steps[0].screenshot == b""


def rows_with(change: dict[str, str]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        folder_of(path, [ROWS[0], {**ROWS[1], **change}])

    return damage


def annotations_as(content: bytes | None) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        file = folder_of(path) / "annotations.csv"
        file.unlink()
        if content is not None:
            file.write_bytes(content)

    return damage


def record_with(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        folder_of(path)
        record = cleaned("webarena.2", 0.0)
        changed = change(record)
        file_of(path, "webarena.2").write_text(json.dumps(record if changed is None else changed))

    return damage


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (rows_with({"trajectory_success": "Maybe"}), "row 3: field trajectory_success must be Successful.*'maybe'"),
        (rows_with({"task_id": ""}), "annotations.csv: row 3: field task_id must be text; got nothing"),
        (rows_with({"exp_name": "../.."}), "row 3: field exp_name must be the name of a folder; got '../..'"),
        (annotations_as(b"benchmark,task_id\na,b\n"), "annotations.csv must have .* none named model_name"),
        (annotations_as(b"\xff\xfe\x00"), "must be CSV in UTF-8"),
        (annotations_as(None), "annotations.csv must be a file that can be read"),
        (lambda path: file_of(folder_of(path), "webarena.2").unlink(), "webarena.2.json does not exist"),
        (lambda path: file_of(folder_of(path), "webarena.2").write_text("{"), "must be a whole JSON file"),
        (record_with(lambda record: [record]), "webarena.2.json must hold a JSON object; got list"),
        (record_with(lambda record: record.pop("goal") and None), "webarena.2.json: field goal must be text; got no"),
        (record_with(lambda record: record.update(steps=[])), "field steps must hold one step or more; got none"),
        (record_with(lambda record: record["steps"][1].update(action=7)), r"steps\[1\].action must be text; got 7"),
        (record_with(lambda record: record["steps"].append("x")), r"field steps\[2\] must be an object; got str"),
        (
            record_with(lambda record: record["steps"][0].update(screenshot_path="trajectories/../../etc/passwd")),
            r"steps\[0\].screenshot_path must be a path below the folder",
        ),
        (
            record_with(lambda record: record["steps"][0].update(screenshot_path="trajectories/screenshots/no.png")),
            r"steps\[0\].screenshot_path must be a file that can be read",
        ),
        (record_with(lambda record: record.update(summary_info=None)), "field summary_info must be a value of"),
        (
            record_with(lambda record: record["summary_info"].update(cum_reward="1")),
            "summary_info.cum_reward must be a number",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_row_and_field(damage: Any, words: str, tmp_path: Path) -> None:
    damage(tmp_path)
    with pytest.raises(InputError, match=words):
        read_agent_reward_bench(tmp_path)


MIND2WEB: list[dict[str, Any]] = [
    {"task_id": "b7", "confirmed_task": "Find a “shop”.", "Operator_human_label": "1", "SeeAct_human_label": "0"},
    {"task_id": "ad", "confirmed_task": "Compare plans.", "Operator_human_label": "2", "SeeAct_human_label": 1},
]


def test_online_mind2web(tmp_path: Path) -> None:
    file, sites = tmp_path / "human_label.json", tmp_path / "tasks.json"
    file.write_text(json.dumps(MIND2WEB), encoding="utf-8")
    sites.write_text(json.dumps([{"task_id": "b7", "website": "https://shop.example"}]))
    found = read_online_mind2web(file, sites)
    assert [(each.id, each.site, each.agent, each.labels) for each in found] == [
        ("b7/Operator", "https://shop.example", "Operator", (True,)),
        ("b7/SeeAct", "https://shop.example", "SeeAct", (False,)),
        ("ad/SeeAct", "online-mind2web", "SeeAct", (True,)),  # what could not be carried out is left out
    ]
    assert found[0].task is not None and found[0].task.instruction == "Find a “shop”."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "must hold a list of objects; got dict"),
        ([], "must hold a list of objects"),
        ([3], "entry 0 must be an object; got int"),
        ([{**MIND2WEB[0], "task_id": None}], "entry 0: field task_id must be text; got nothing"),
        ([MIND2WEB[0], MIND2WEB[0]], "entry 1: field task_id must be another for each; got 'b7' twice"),
        ([{"task_id": "b7", "confirmed_task": "x"}], "entry 0 must have a field AGENT_human_label; got none"),
        ([{**MIND2WEB[0], "SeeAct_human_label": "3"}], "field SeeAct_human_label must be 0, 1 or 2; got '3'"),
        ([{**MIND2WEB[0], "SeeAct_human_label": True}], "field SeeAct_human_label must be 0, 1 or 2; got True"),
    ],
)
def test_labels_that_are_none(content: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / "human_label.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=words):
        read_online_mind2web(tmp_path / "human_label.json")


def test_rules_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unsure must be one of leave_out, failure; got 'success'"):
        read_agent_reward_bench(folder_of(tmp_path), unsure="success")
    with pytest.raises(InputError, match="contradiction must be one of leave_out, failure, first; got 'any'"):
        settled([], "any")
