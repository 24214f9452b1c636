"""A day of work as its tasks: cut where somebody says that the next one begins, and where hands rested for long.

Another application is no border: one task often goes through several.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import msgspec

from tars_jax.agent.actions import Finished
from tars_jax.annotation.in_situ import cues
from tars_jax.annotation.in_situ.annotated import AnnotatedStep, RecordingAnnotation, join_calls


def cut_tasks(annotation: RecordingAnnotation, rest_s: float) -> list[RecordingAnnotation]:
    """Cuts a recording into tasks, an annotation for each, in their order; those without a step that is kept are left
    out.

    A task that was named aloud ("the next task is to pay the rent") is called so, others as the recording is. The one
    before it ends with `finished`, as its person went on; one after which hands only rested does not.

    Args:
      rest_s: seconds between two steps, or a suspended computer, after which another task begins; 0: never.
    """
    steps = annotation.steps
    named = {_first_after(steps, each.begins): _name(each.said) for each in annotation.sentences if each.role == "task"}
    borders = set(named)
    for number in range(1, len(steps)):
        before, after = steps[number - 1], steps[number]
        slept = any(before.ends <= time <= after.begins for time in annotation.slept)
        if rest_s and (after.begins - before.ends >= rest_s or slept):
            borders.add(number)
    starts = sorted({0, *borders} - {len(steps)})
    parts = []
    for start, end in zip(starts, [*starts[1:], len(steps)], strict=True):
        part = _part(annotation, steps[start:end], named.get(start), steps[end : end + 1] if end in named else ())
        if part.kept:
            parts.append(part)
    if len(parts) < 2:
        return parts
    width = len(str(len(parts)))
    return [msgspec.structs.replace(part, id=f"{part.id}-{n:0{width}d}") for n, part in enumerate(parts, 1)]


def _part(
    annotation: RecordingAnnotation,
    steps: Sequence[AnnotatedStep],
    name: str | None,
    following: Sequence[AnnotatedStep],
) -> RecordingAnnotation:
    """`following`: the first step of a task that was named, if this one ends by that."""
    kept = list(steps)
    last_frame = annotation.last_frame if steps[-1:] == annotation.steps[-1:] else ""
    if following and kept and (last_frame := following[0].frame):
        ends = kept[-1].ends
        accepted = all(step.accepted for step in kept if step.kept)
        kept.append(
            AnnotatedStep(
                id=max(step.id for step in annotation.steps) + 1, actions=join_calls([Finished()]),
                thought="", begins=ends, time=ends, ends=ends, frame=last_frame, window=kept[-1].window,
                accepted=accepted,
            )
        )  # fmt: skip
    return msgspec.structs.replace(annotation, steps=tuple(kept), task=name or annotation.task, last_frame=last_frame)


def _first_after(steps: Sequence[AnnotatedStep], time: float) -> int:
    """The number of the first step whose press comes after a time."""
    return bisect.bisect_left([step.time for step in steps], time)


def _name(said: str) -> str:
    name = said.split()[cues.task_named_in(cues.normal(said)) :]
    text = " ".join(name).rstrip(" .!?,;")
    return text[:1].upper() + text[1:]
