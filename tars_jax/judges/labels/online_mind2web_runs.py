"""Agents' runs on Online-Mind2Web with the verdicts of its evaluation, beside the labels of people.

FOLDER/human_label.json                     labels (`online_mind2web.py`)
FOLDER/AGENT/TASK_ID/result.json            an agent's run, of either form; trajectory/ has its screenshots
FOLDER/AGENT/*_auto_eval_results.json       an object a line: task_id, predicted_label 0 or 1
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar_text import format_call
from tars_jax.environment import Task, Verification
from tars_jax.json_fields import Fields, read_json_lines, read_object
from tars_jax.judges.labels.judgments import Judgment
from tars_jax.judges.labels.labelled import Labelled
from tars_jax.judges.labels.online_mind2web import read_online_mind2web
from tars_jax.trajectory import Outcome, Step, Trajectory

V2 = "online-mind2web-v2"
LABELS = "human_label.json"
EVALUATIONS = "*auto_eval_results.json"


def read_labelled_runs(folder: str | Path, *, trajectories: bool = True) -> list[Labelled]:
    """The labels of a folder; `trajectories`: those whose runs are in it, with them.

    Raises InputError that names the file and the field for what is not as above, and where no run is there.
    """
    root = Path(folder)
    labelled = read_online_mind2web(root / LABELS)
    if not trajectories:
        return labelled
    found = []
    for each in labelled:
        assert each.task is not None, "labels name their task"
        run = root / each.agent / each.task.id
        if (run / "result.json").is_file():
            played = read_run(run)
            found.append(dataclasses.replace(each, trajectory=played, task=Task.from_json(played.task)))
    if not found:
        raise InputError(f"{root} must hold runs as AGENT/TASK_ID/result.json for labels of {LABELS}; got none")
    return found


def read_run(folder: Path) -> Trajectory:
    """The run of one task, of the first form or of the second, whose last step is no action. Raises InputError."""
    file = folder / "result.json"
    record = read_object(file)
    fields = Fields(record, f"{file}: field ")
    asked, id = fields.text("task"), fields.text("task_id", folder.name)
    version = fields.text("schema_version", "")
    if version not in ("", V2):
        raise fields.error("schema_version", f"{V2}, or left out")
    said = fields.text("agent_final_answer" if version else "final_result_response", "")
    steps = list(_steps_v2(fields, folder) if version else _steps_v1(fields, folder))
    if version and steps:  # its last action is what the agent said, and no deed
        steps[-1] = _step(format_call(Finished(said)), steps[-1].thought, steps[-1].screenshot)
    shots = [] if version else _shots(folder)
    last = _picture(shots[-1]) if len(shots) > len(steps) else b""
    if said and not version:
        steps.append(_step(format_call(Finished(said)), "", last))
    if not steps:
        raise fields.error("action_history", "one step or more")
    task = Task(id, "online_mind2web", 0, {}, len(steps), asked, Verification("judge"))
    about = {"instruction": asked}
    return Trajectory(id, task.to_json(), (), tuple(steps), Outcome.FINISHED, 0.0, about, last)


def read_evaluations(folder: str | Path, labelled: Sequence[Labelled]) -> list[Judgment]:
    """Reads the verdicts of the benchmark's evaluation on labelled runs. Raises InputError that names file, line and
    field."""
    root, said = Path(folder), dict[str, bool]()
    for agent in sorted({each.agent for each in labelled}):
        for file in sorted((root / agent).rglob(EVALUATIONS)):
            for where, record in read_json_lines(file, "what the evaluation said of a task"):
                fields = Fields(record, f"{where}: field ")
                id = f"{fields.text('task_id')}/{agent}"
                label = fields.integer("predicted_label", None, 0, 1)
                if label is None:
                    raise fields.error("predicted_label", "0 or 1")
                if said.setdefault(id, bool(label)) != bool(label):
                    raise InputError(f"{where}: field predicted_label must be one for a task; got 0 and 1 for {id}")
    found = [Judgment(each, said[each.id]) for each in labelled if each.id in said]
    if not found:
        raise InputError(f"{root} must hold AGENT/{EVALUATIONS} for agents of {LABELS}; got none")
    return found


def _steps_v2(fields: Fields, folder: Path) -> Iterator[Step]:
    for number, each in enumerate(fields.array("action_history", required=True)):
        if not isinstance(each, dict):
            raise InputError(f"{fields.prefix}action_history[{number}] must be an object; got {type(each).__name__}")
        step = Fields(each, f"{fields.prefix}action_history[{number}].")
        name = step.text("screenshot", "")
        if name in (".", "..") or "/" in name or "\\" in name:
            raise step.error("screenshot", "the name of a file in trajectory/")
        shot = _picture(folder / "trajectory" / name) if name else b""
        yield _step(step.text("action"), step.text("thought", ""), shot)


def _steps_v1(fields: Fields, folder: Path) -> Iterator[Step]:
    actions, thoughts = (_texts(fields, name) for name in ("action_history", "thoughts"))
    shots = _shots(folder)
    for number, action in enumerate(actions):
        thought = thoughts[number] if number < len(thoughts) else ""
        yield _step(action, thought, _picture(shots[number]) if number < len(shots) else b"")


def _texts(fields: Fields, name: str) -> list[str]:
    values: list[Any] = fields.array(name)
    for number, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            raise InputError(f"{fields.prefix}{name}[{number}] must be text; got {type(value).__name__}")
    return [value or "" for value in values]


def _shots(folder: Path) -> list[Path]:
    """By the first number in their names, as the benchmark's evaluation orders them."""
    numbered = [(re.search(r"\d+", file.name), file) for file in (folder / "trajectory").glob("*")]
    return [file for _, file in sorted((int(found[0]), file) for found, file in numbered if found)]


def _step(action: str, thought: str, screenshot: bytes) -> Step:
    return Step(screenshot, f"{thought}\n{action}", thought, action, None, 0.0, 0, bool(action), {}, "")


def _picture(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} must be a screenshot that can be read; got {error.strerror}") from error
