"""Where a step's hand goes, as somebody has shown it on the picture: by a click, or by a drag."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import GRID, Action, Click, Drag, LeftDouble, LongPress, Point, RightSingle, Scroll
from tars_jax.json_fields import is_number

_AT_A_POINT = (Click, LeftDouble, RightSingle, LongPress, Scroll)


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
