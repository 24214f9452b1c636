"""A recording as steps with thoughts, while a person looks it over, and the trajectory that it becomes.

What was said before an action is its thought, what was said of the last one's result included: a policy has seen that
by then. Talk of other things and what was taken back stand in `sentences`, for who looks, never in a trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tars_jax import InputError
from tars_jax.agent.actions import Action, Finished, action_point
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.response import ParseError, Response
from tars_jax.annotation.in_situ.alignment import SpokenSentence
from tars_jax.annotation.in_situ.recording import Head
from tars_jax.annotation.in_situ.steps import RecordedStep
from tars_jax.decoding import decoded_json
from tars_jax.environment import Task
from tars_jax.files import write_atomic
from tars_jax.pictures import plain_png
from tars_jax.trajectory import Outcome, Step, Trajectory

VERSION = 1


class AnnotatedStep(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    actions: str  # calls in the text grammar; "" where none says it
    thought: str
    begins: float
    time: float
    ends: float
    frame: str
    window: str  # its title
    cannot_say: str = ""
    accepted: bool = False
    deleted: bool = False

    @property
    def kept(self) -> bool:
        return not self.deleted and bool(self.actions) and bool(self.frame)


class RecordingAnnotation(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    id: str  # of the recording
    annotator: str
    track: str
    task: str
    success: bool | None  # None: nobody has said
    steps: tuple[AnnotatedStep, ...]
    sentences: tuple[SpokenSentence, ...]
    notes: tuple[str, ...]  # what was missing or could not be read
    last_frame: str  # after the last step
    revision: int = 0  # goes up with each change
    slept: tuple[float, ...] = ()  # when the computer was suspended: nobody worked on, though the clock stood still

    @property
    def kept(self) -> list[AnnotatedStep]:
        return [step for step in self.steps if step.kept]

    @property
    def is_reviewed(self) -> bool:
        return all(step.accepted for step in self.kept)


def annotate(
    head: Head, steps: Sequence[RecordedStep], sentences: Sequence[SpokenSentence], *, last_frame: str, ended: bool,
    notes: Iterable[str] = (), slept: Iterable[float] = (),
) -> RecordingAnnotation:  # fmt: skip
    """`ended`: the person has ended the recording, so that the task is over: an agent says so."""
    found = [
        AnnotatedStep(
            id=number, actions=join_calls(step.actions), thought=thought_of(number, sentences), begins=step.begins,
            time=step.time, ends=step.ends, frame=step.frame, window=step.window.title if step.window else "",
            cannot_say=step.cannot_say or ("" if step.frame else "there is no picture from before it"),
        )
        for number, step in enumerate(steps)
    ]  # fmt: skip
    if ended and steps and last_frame:
        found.append(
            AnnotatedStep(
                id=len(steps), actions=join_calls([Finished()]), thought=thought_of(len(steps), sentences),
                begins=steps[-1].ends, time=steps[-1].ends, ends=steps[-1].ends, frame=last_frame,
                window=found[-1].window,
            )
        )  # fmt: skip
    return RecordingAnnotation(
        version=VERSION, id=head.id, annotator=head.annotator, track=head.track, task=head.task, success=None,
        steps=tuple(found), sentences=tuple(sentences), notes=tuple(notes), last_frame=last_frame,
        slept=tuple(slept),
    )  # fmt: skip


def thought_of(number: int, sentences: Sequence[SpokenSentence]) -> str:
    """Thought of a step: what was said of the step before, once it was done, and of this one."""
    said = [
        each.text
        for each in sentences
        if (each.role, each.step) in (("comments", number - 1), ("announces", number))
    ]  # fmt: skip
    return " ".join(said)


def join_calls(actions: Iterable[Action]) -> str:
    return "\n\n".join(map(format_call, actions))


def read_actions(text: str) -> tuple[Action, ...]:
    """Raises InputError for what is no calls of GUI actions."""
    parsed = parse_response(f"Action: {text}")
    if isinstance(parsed, ParseError):
        raise InputError(f"actions must be calls such as click(point='<point>500 120</point>'); {parsed.message}")
    return parsed.actions


def load_annotation(file: Path) -> RecordingAnnotation:
    """Raises InputError that names the file and the field."""
    try:
        found = decoded_json(file.read_bytes(), RecordingAnnotation, f"{file}: ", unknown=None)
    except OSError as error:
        raise InputError(f"{file} must be a file that can be read; got {error.strerror}") from error
    if found.version != VERSION:
        raise InputError(f"{file}: version must be {VERSION}; got {found.version}")
    return found


def save_annotation(file: Path, annotation: RecordingAnnotation) -> None:
    """Whole or not at all."""
    write_atomic(file, msgspec.json.encode(annotation))


def trajectory_of(annotation: RecordingAnnotation, read_frame: Callable[[str], bytes]) -> Trajectory:
    """The kept steps as a trajectory without windows, as of other recorded data (data/agentnet.py). Raises InputError
    where no step is left, or nobody has said what the task was."""
    if not annotation.kept:
        raise InputError(f"recording {annotation.id!r} must have a step that an action says; got none")
    if not annotation.task.strip():
        raise InputError(f"recording {annotation.id!r} must say what was to be done; got no task")
    steps = [_step(each, read_frame) for each in annotation.kept]
    reward = float(bool(annotation.success))
    last = {**vars(steps[-1]), "reward": reward}
    final = plain_png(read_frame(annotation.last_frame), annotation.last_frame) if annotation.last_frame else b""
    metadata: dict[str, Any] = {
        "instruction": annotation.task, "recorded_in": annotation.id, "annotator": annotation.annotator,
        "track": annotation.track, "reviewed": annotation.is_reviewed,
    }  # fmt: skip
    return Trajectory(
        id=annotation.id,
        task=Task(annotation.id, "recorded", 0, {}, len(steps)).to_json(),
        windows=(),
        steps=(*steps[:-1], Step(**last)),
        outcome=Outcome.FINISHED,
        reward=reward,
        metadata=metadata,
        final_screenshot=final,
        success=annotation.success,
    )


def _step(step: AnnotatedStep, read_frame: Callable[[str], bytes]) -> Step:
    actions = read_actions(step.actions)
    response = Response(step.thought, actions)
    point = action_point(actions[0])
    return Step(
        screenshot=plain_png(read_frame(step.frame), step.frame),
        response=format_response(response),
        thought=response.thought,
        action=join_calls(actions),
        point=None if point is None else (point.x, point.y),
        reward=0.0,
        think_tokens=0,
        valid=True,
        info={"window": step.window, "time": step.time},
    )
