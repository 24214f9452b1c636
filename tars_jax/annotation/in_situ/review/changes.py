"""Changes of an annotation: pure functions, each of which gives the next one. Where a step acts is shown by a click or
a drag on its picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec

from tars_jax import InputError
from tars_jax.agent.actions import GRID, Action, Click, Drag, LeftDouble, LongPress, Point, RightSingle, Scroll
from tars_jax.annotation.in_situ.annotated import AnnotatedStep, RecordingAnnotation, join_calls, read_actions
from tars_jax.json_fields import is_number

LONGEST_TEXT = 1 << 16  # characters
_AT_A_POINT = (Click, LeftDouble, RightSingle, LongPress, Scroll)


def change_step(annotation: RecordingAnnotation, id: int, given: dict[str, Any]) -> RecordingAnnotation:
    """Some of `actions`, `thought`, `accepted`, `deleted` of a step, or the `place` of its actions.

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


def read_place(given: Any) -> tuple[Point, ...]:
    """[x, y], or from there to [x, y, x, y], 0 to 1000. Raises InputError for others."""
    if not (
        isinstance(given, list)
        and len(given) in (2, 4)
        and all(is_number(side) and 0 <= side <= GRID for side in given)
    ):
        raise InputError(f"place must be [x, y] or [x, y, to x, to y], each 0 to {GRID}; got {given!r:.80}")
    sides = [round(float(side), 1) for side in given]
    return tuple(Point(*sides[start : start + 2]) for start in range(0, len(sides), 2))


def placed(actions: Sequence[Action], place: Sequence[Point]) -> tuple[Action, ...]:
    """The actions at another place.

    Args:
      actions: none: a step that no action says becomes a click, or a drag.
      place: one point, or the two of a drag, which takes the place of a click as a click does of a drag.

    Raises InputError where none of them has a place on the screen.
    """
    pointing = [number for number, action in enumerate(actions) if isinstance(action, (*_AT_A_POINT, Drag))]
    if actions and not pointing:
        raise InputError(f"a step must click, scroll or drag to have a place; this one has {actions[0].name}")
    if len(place) == 2:
        drag = Drag(*place)
        kept = [action for number, action in enumerate(actions) if number not in pointing[1:]]
        return tuple(drag if number == min(pointing, default=0) else each for number, each in enumerate(kept or [drag]))
    (point,) = place
    return tuple(_at(action, point) for action in actions) or (Click(point),)


def _at(action: Action, point: Point) -> Action:
    if isinstance(action, Drag):
        return Click(point)
    return dataclasses.replace(action, point=point) if isinstance(action, _AT_A_POINT) else action
