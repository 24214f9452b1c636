"""Trajectories as a folder in AgentNet's form: `agentnet.jsonl`, a task a line, and its `images/`.

    {"task_id", "instruction", "natural_language_task", "actual_task", "task_completed", "alignment_score",
     "efficiency_score", "task_difficulty",
     "traj": [{"index", "image", "value": {"code", "observation", "thought", "action", "reflection",
                                           "last_step_correct", "last_step_redundant"}}]}

and ours: `purpose` and `held_out`, which keep evaluations apart (held_out.py), and `context_steps`, the indices of
steps that nobody is to imitate. What nobody has said is null: scores,
reflections, whether a step was right. Steps are numbered without a gap, so an episode of which one step is no code of
PyAutoGUI, or shows no image, is left out as a whole, and counted.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, ToolCall
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import ParseError
from tars_jax.data.exporters import ImageFiles, writable
from tars_jax.data.held_out import marks_of
from tars_jax.data.pyautogui_calls import NoSuchAction
from tars_jax.data.pyautogui_code import code_of_actions
from tars_jax.data.recorded import instruction_of
from tars_jax.data.store.records import flush
from tars_jax.trajectory import Step, Trajectory
from tars_jax.trajectory.context import CONTEXT_STEPS, context_of

RECORDS = "agentnet.jsonl"
SCORES = ("alignment_score", "efficiency_score", "task_difficulty")
log = logging.getLogger(__name__)


def write_agentnet(folder: Path, trajectories: Iterable[Trajectory]) -> int:
    """FOLDER/agentnet.jsonl and FOLDER/images; returns how many."""
    images = ImageFiles(folder)
    left_out = collections.Counter[str]()
    count = 0
    partial = folder / f".{RECORDS}.partial"
    with open(partial, "wb") as lines:
        for trajectory in trajectories:
            try:
                record = record_of(trajectory, images)
            except NoSuchAction as action:
                left_out[str(action)] += 1
            else:
                lines.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
                count += 1
    flush([*images.kept, partial])
    os.replace(partial, folder / RECORDS)
    if left_out:
        reasons = ", ".join(f"{reason} ({number})" for reason, number in left_out.most_common())
        log.warning("%d episodes are left out, as AgentNet's form cannot say them: %s", left_out.total(), reasons)
    return count


def record_of(trajectory: Trajectory, images: ImageFiles) -> dict[str, Any]:
    """The record of one line. Raises NoSuchAction, in words for the count of what is left out, for what the form cannot
    say."""
    if not trajectory.outcome.carries_reward or not trajectory.steps:
        raise NoSuchAction("nothing, as it failed" if trajectory.steps else "nothing, as it has no step")
    try:
        instruction = instruction_of(trajectory)
    except InputError:
        raise NoSuchAction("nobody says what was asked") from None
    codes = [code_of_actions(_actions(step)) for step in trajectory.steps]  # all of them before an image is written
    if not all(step.screenshot for step in trajectory.steps):
        raise NoSuchAction("a step without an image")
    return {
        "task_id": writable(trajectory.id),
        "instruction": writable(instruction),
        "natural_language_task": writable(instruction),
        "actual_task": writable(instruction),
        "task_completed": trajectory.success,
        **marks_of(trajectory),
        CONTEXT_STEPS: context_of(trajectory),
        **{score: trajectory.metadata.get(score) for score in SCORES},
        "traj": [
            {"index": index, "image": images.keep(step.screenshot).name, "value": _value(step, code)}
            for index, (step, code) in enumerate(zip(trajectory.steps, codes, strict=True))
        ],
    }


def _value(step: Step, code: str) -> dict[str, Any]:
    return {
        "code": writable(code),
        "observation": writable(step.text),
        "thought": writable(step.thought),
        "action": writable(step.action),
        "reflection": None,
        "last_step_correct": None,
        "last_step_redundant": None,
    }


def _actions(step: Step) -> tuple[Action, ...]:
    if not step.valid or not step.action:
        raise NoSuchAction("an answer that could not be read")
    read = parse_response(f"Action: {step.action}", space=RECORDED)
    if isinstance(read, ParseError):
        raise NoSuchAction("an action that cannot be read")
    if calls := [action for action in read.actions if isinstance(action, ToolCall)]:
        raise NoSuchAction(calls[0].name)
    return tuple(dataclasses.replace(action) for action in read.actions)
