"""AgentNet's records (OpenCUA, arXiv 2508.09123) as trajectories: one desktop task a line, its steps as PyAutoGUI code.

    {"task_id", "instruction", "task_completed", "traj": [{"index", "image", "value": {"thought", "action", "code"}}]}

A step's thought is `thought`, or where there is none what `action` says in words. Success is `task_completed`.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Point, action_point
from tars_jax.agent.grammar import format_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.response import Response
from tars_jax.data.chat_messages import task_of
from tars_jax.data.held_out import marks_in
from tars_jax.data.pyautogui_calls import NoSuchAction, actions_of_code
from tars_jax.trajectory import Outcome, Step, Trajectory
from tars_jax.trajectory.context import context_in


def is_agentnet(record: Mapping[str, Any]) -> bool:
    return "traj" in record


def trajectory_of_agentnet(
    record: Mapping[str, Any],
    where: str,
    name: str,
    read_image: Callable[[Any, str], bytes],
    left_out: collections.Counter[str],
) -> Trajectory:
    """The trajectory of one record. A step that our actions cannot say is left out, and counted in `left_out` by what
    it does.

    Raises InputError that begins with `where` and names the field; NoSuchAction where no step is left.
    """
    steps: list[Step] = []
    places: dict[int, int] = {}  # of entries among the steps
    mouse: Point | None = None
    entries = record.get("traj")
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{where}: field traj must be a list of steps; got {entries!r:.80}")
    for number, entry in enumerate(entries):
        try:
            step, mouse = _step(entry, f"{where}: field traj[{number}]", mouse, read_image)
        except NoSuchAction as action:
            left_out[str(action)] += 1
            mouse = None  # it may have gone anywhere
        else:
            places[number] = len(steps)
            steps.append(step)
    instruction, completed = record.get("instruction"), record.get("task_completed")
    if not isinstance(instruction, str) or not instruction:
        raise InputError(f"{where}: field instruction must be a text; got {instruction!r:.80}")
    if type(completed) not in (bool, type(None)):
        raise InputError(f"{where}: field task_completed must be true or false; got {completed!r:.80}")
    if not steps:
        raise NoSuchAction("any of its steps")
    context = {
        name: [places[each] for each in given if each in places]
        for name, given in context_in(record, where, len(entries)).items()
    }
    id, reward = str(record.get("task_id") or name), float(bool(completed))
    return Trajectory(
        id=id,
        task=task_of(None, id, len(steps), where),
        windows=(),
        steps=(*steps[:-1], Step(**{**vars(steps[-1]), "reward": reward})),
        outcome=Outcome.FINISHED,
        reward=reward,
        metadata={"instruction": instruction, "recorded_in": where, **marks_in(record, where), **context},
        success=completed,
    )


def _step(
    entry: Any, where: str, mouse: Point | None, read_image: Callable[[Any, str], bytes]
) -> tuple[Step, Point | None]:
    value = entry.get("value") if isinstance(entry, dict) else None
    if not isinstance(value, dict) or not isinstance(value.get("code"), str):
        raise InputError(f"{where} must have an image and a value with code; got {entry!r:.80}")
    try:
        actions, mouse = actions_of_code(value["code"], mouse)
    except InputError as error:
        raise InputError(f"{where}.value.{error}") from error
    thought = str(value.get("thought") or value.get("action") or "")
    response = Response(thought, actions)
    point = action_point(actions[0])
    step = Step(
        screenshot=read_image(entry.get("image"), f"{where}.image"),
        response=format_response(response),
        thought=response.thought,
        action="\n\n".join(map(format_call, actions)),
        point=None if point is None else (point.x, point.y),
        reward=0.0,
        think_tokens=0,
        valid=True,
        info={},
    )
    return step, mouse
