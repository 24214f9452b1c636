"""Online-Mind2Web's results: a folder for each task, as its evaluation reads them, and what our judge said.

    v2/TASK_ID/result.json      schema_version "online-mind2web-v2"; its reader drops the last step
    v1/TASK_ID/result.json      the form before it, without the last step
    .../TASK_ID/trajectory/     a screenshot before each action, and the last one
    WebJudge_..._auto_eval_results.json    its evaluation's own output, a line each
    summary.json                which tasks were played, and how many were lost

Further attempts are below attempt_1, attempt_2 and so on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic
from tars_jax.judges.evidence import ENDED, evidence_of
from tars_jax.judges.reference import answer_of
from tars_jax.tasks.benchmarks.online_mind2web import fingerprint, task_file

V2 = "online-mind2web-v2"
_ENDED = "(the episode ended here: {})"  # the step that readers drop, where the agent's own last action is a deed


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """Writes a folder for each episode. Episodes lost to the infrastructure have none: they stand in summary.json with
    their reason, and so do those that the judge could not decide, whose folder is there."""
    files, judged = [], []
    for each in played:
        whole = each.counts or each.trajectory.cannot_say  # of which another judge may be asked
        if not whole or not each.trajectory.steps:
            continue
        root = folder / f"attempt_{each.attempt}" if each.attempt else folder
        shots = _write_shots(root / "v2" / each.task.id / "trajectory", each)
        for version, result in (("v2", _result_v2(each, shots)), ("v1", _result_v1(each))):
            task = root / version / each.task.id
            if version == "v1":
                _link(root / "v2" / each.task.id / "trajectory", task / "trajectory")
            files.append(_write(task / "result.json", json.dumps(result, ensure_ascii=False, indent=2)))
            if version == "v2" and each.trajectory.success is not None:
                judged.append(_judged(each, result))
    if judged:
        name = _judge_file(played)
        files.append(_write(folder / name, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in judged)))
    summary = {
        "benchmark": about.benchmark.name, "agent": about.agent, "tasks": len({each.task.id for each in played}),
        "task_file": {"path": str(about.tasks), "sha256": _checksum(about.tasks)},
        "task_versions": {each.task.id: fingerprint(each.task) for each in played},
        "lost": [{"task_id": each.task.id, "attempt": each.attempt, "why": each.loss} for each in played if each.loss],
    }  # fmt: skip
    return [*files, _write(folder / "summary.json", json.dumps(summary, ensure_ascii=False, indent=2))]


def _result_v2(each: Attempt, shots: Sequence[str]) -> dict[str, Any]:
    actions, thoughts = _actions(each), [step.thought for step in each.trajectory.steps]
    if _is_deed(actions[-1]):
        actions, thoughts = [*actions, _ENDED.format(_ended_by(each))], [*thoughts, ""]
    steps = [
        {"action": action, "thought": thought, "screenshot": shot}
        for action, thought, shot in zip(actions, thoughts, shots, strict=False)  # of these there may be one more
    ]
    return {
        "schema_version": V2, "task_id": each.task.id, "task": each.task.instruction,
        "agent_final_answer": answer_of(each.trajectory), "action_history": steps,
    }  # fmt: skip


def _result_v1(each: Attempt) -> dict[str, Any]:
    actions = _actions(each)
    return {
        "task_id": each.task.id, "task": each.task.instruction,
        "final_result_response": answer_of(each.trajectory) or "",
        "action_history": actions if _is_deed(actions[-1]) else actions[:-1],
        "thoughts": [step.thought for step in each.trajectory.steps],
    }  # fmt: skip


def _actions(each: Attempt) -> list[str]:
    """Actions of an episode, without the answer at its end, which would be taken for a deed."""
    task = Task(each.task.id, "online_mind2web", 0, {}, max(1, len(each.trajectory.steps)), each.task.instruction)
    return list(evidence_of(each.trajectory, task).actions)


def _is_deed(action: str) -> bool:
    return not (action.endswith(ENDED) or action.startswith("call_user("))


def _ended_by(each: Attempt) -> str:
    return str(each.trajectory.metadata.get("final", {}).get("benchmark", {}).get("ended_by", "no further step"))


def _judged(each: Attempt, result: Mapping[str, Any]) -> dict[str, Any]:
    """As the benchmark's evaluation adds to a result."""
    said = each.trajectory.metadata.get("judge_details", {})
    label = int(bool(each.trajectory.success))
    return {
        **result, "attempt": each.attempt, "image_judge_record": said.get("image_judge_record", []),
        "key_points": said.get("key_points", ""), "input_text": each.task.instruction, "system_msg": "",
        "evaluation_details": {"response": said.get("verdict", ""), "predicted_label": label},
        "predicted_label": label,
    }  # fmt: skip


def _judge_file(played: Sequence[Attempt]) -> str:
    metadata = next((each.trajectory.metadata for each in played if "judge" in each.trajectory.metadata), {})
    model = re.sub(r"[^\w.-]+", "_", f"{metadata.get('judge', 'none')}_{metadata.get('judge_version', '') or 'rules'}")
    threshold = metadata.get("judge_details", {}).get("score_threshold", 3)
    return f"WebJudge_Online_Mind2Web_eval_{model}_score_threshold_{threshold}_auto_eval_results.json"


def _checksum(tasks: Path) -> str:
    """Checksum of the task file as it is now; empty: it is gone."""
    try:
        return hashlib.sha256(task_file(tasks).read_bytes()).hexdigest()
    except (OSError, InputError):
        return ""


def _write_shots(folder: Path, each: Attempt) -> list[str]:
    """A name for each step, and one for the end; a step without a picture has the one before it."""
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    last = each.trajectory.final_screenshot
    for number, shot in enumerate([*(step.screenshot for step in each.trajectory.steps), last]):
        if shot:
            write_atomic(folder / f"{number}_full_screenshot.png", shot)
        names.append(f"{number}_full_screenshot.png" if shot or not names else names[-1])
    return names


def _link(source: Path, target: Path) -> None:
    """The same pictures, which take no room twice where the disk allows that."""
    target.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        with contextlib.suppress(FileNotFoundError):
            (target / file.name).unlink()
        try:
            os.link(file, target / file.name)
        except OSError:
            shutil.copyfile(file, target / file.name)


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, text.encode())
    return file
