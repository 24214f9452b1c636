"""Changes of an annotation: pure functions, each of which gives the next one."""

from __future__ import annotations

from typing import Any

import msgspec

from tars_jax import InputError
from tars_jax.annotation.in_situ.annotated import AnnotatedStep, RecordingAnnotation, join_calls, read_actions
from tars_jax.annotation.in_situ.review.placing import placed, read_place

LONGEST_TEXT = 1 << 16  # characters


def change_step(annotation: RecordingAnnotation, id: int, given: dict[str, Any]) -> RecordingAnnotation:
    """Some of `actions`, `thought`, `accepted`, `deleted` of a step, or the `place` of its actions (placing.py).

    What is mended is accepted only if it says so.

    Raises InputError for calls that the grammar does not have, another field or type, and a step that is not there.
    """
    place = _place(annotation, id)
    step = annotation.steps[place]
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if name == "place":
            before = read_actions(step.actions) if step.actions else ()
            fields |= {"actions": join_calls(placed(before, read_place(value))), "cannot_say": ""}
            continue
        kind = {"actions": str, "thought": str, "accepted": bool, "deleted": bool}.get(name)
        if kind is None or type(value) is not kind:
            raise InputError(
                "a change of a step must have actions or thought (text), place (numbers), accepted or deleted "
                f"(true or false); got {name!r:.80}: {value!r:.80}"
            )
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise InputError(f"{name} must have at most {LONGEST_TEXT} characters; got {len(value)}")
        fields[name] = value
    if "actions" in given:
        fields |= {"actions": join_calls(read_actions(fields["actions"])), "cannot_say": ""}
    new = msgspec.structs.replace(step, **fields)
    if new.accepted and not new.actions:
        raise InputError(f"step {id} must have actions before it is accepted; got none: {new.cannot_say}")
    return _with(annotation, place, new)


def merge_step(annotation: RecordingAnnotation, id: int) -> RecordingAnnotation:
    """The step and the next that is not deleted as one, seen as the first. Raises InputError for the last one."""
    place = _place(annotation, id)
    following = next(
        (each for each in range(place + 1, len(annotation.steps)) if not annotation.steps[each].deleted), 0
    )
    if not following:
        raise InputError(f"step {id} must have a step behind it to be merged with; got the last one")
    first, second = annotation.steps[place], annotation.steps[following]
    new = msgspec.structs.replace(
        first,
        actions="\n\n".join(each for each in (first.actions, second.actions) if each),
        thought=" ".join(each for each in (first.thought, second.thought) if each),
        ends=second.ends,
        cannot_say=first.cannot_say or second.cannot_say,
        accepted=False,
    )
    merged = _with(annotation, place, new)
    gone = msgspec.structs.replace(second, deleted=True, accepted=False)
    return msgspec.structs.replace(_with(merged, following, gone), revision=annotation.revision + 1)


def change_about(annotation: RecordingAnnotation, given: dict[str, Any]) -> RecordingAnnotation:
    """`task` (text) and `success` (true, false, null). Raises InputError for others."""
    for name, value in given.items():
        fits = isinstance(value, str) if name == "task" else name == "success" and value in (True, False, None)
        if not fits or (isinstance(value, str) and len(value) > LONGEST_TEXT):
            raise InputError(f"task must be a text, and success true, false or null; got {name!r:.80}: {value!r:.80}")
    return msgspec.structs.replace(annotation, **given, revision=annotation.revision + 1)


def _place(annotation: RecordingAnnotation, id: int) -> int:
    for place, step in enumerate(annotation.steps):
        if step.id == id:
            return place
    raise InputError(f"a step must be one of the recording's; got {id}")


def _with(annotation: RecordingAnnotation, place: int, step: AnnotatedStep) -> RecordingAnnotation:
    steps = (*annotation.steps[:place], step, *annotation.steps[place + 1 :])
    return msgspec.structs.replace(annotation, steps=steps, revision=annotation.revision + 1)
