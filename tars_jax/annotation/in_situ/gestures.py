"""Gestures: strokes of one kind that come to one thing: clicks, drags, turns of the wheel, keys pressed together.

A stroke is a press of a button with its release, a notch of the wheel, or a press of a key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tars_jax.agent.actions import (
    MAX_HOTKEY_KEYS,
    Action,
    Click,
    Drag,
    Hotkey,
    LeftDouble,
    Point,
    Press,
    Release,
    RightSingle,
    Scroll,
)

DOUBLE_S, DOUBLE_PIXELS = 0.5, 6  # from press to press
DRAG_PIXELS = 8
SCROLL_S, SCROLL_PIXELS = 1.0, 100
NOTCHES = 3  # of the wheel, that one scroll of an agent turns (envs/gui.py)
REPEAT_S = 1.0
MOST_REPEATS = 32  # of one action in a step; more are as many
_CLICKS: dict[tuple[str, int], tuple[type[Click | LeftDouble | RightSingle], ...]] = {
    ("left", 1): (Click,), ("left", 2): (LeftDouble,), ("left", 3): (LeftDouble, Click), ("right", 1): (RightSingle,),
}  # fmt: skip
_SWITCHERS = ("alt", "meta")


class Clicks:
    """Clicks: one to three at a place, or a drag."""

    def __init__(self, first: Clicked, screen: tuple[int, int]) -> None:
        self._first, self._last, self._screen = first, first, screen
        self._count = 1

    def takes(self, stroke: Stroke) -> bool:
        again = (
            isinstance(stroke, Clicked)
            and stroke.button == self._first.button == "left"
            and not (_is_drag(stroke) or _is_drag(self._first))
            and stroke.held == self._first.held
            and self._count < 3
            and stroke.time - self._last.time <= DOUBLE_S
            and _apart(stroke.start, self._last.start) <= DOUBLE_PIXELS
        )
        if again:
            assert isinstance(stroke, Clicked)
            self._last, self._count = stroke, self._count + 1
        return again

    def done(self, following: Stroke | None) -> list[StrokeActions]:
        first = self._first
        start, end = _point(first.start, self._screen), _point(first.end, self._screen)
        actions: tuple[Action, ...] = ()
        cannot_say = ""
        if start is None or end is None:
            cannot_say = "a click outside of the screen"
        elif _is_drag(first):
            actions = (Drag(start, end),) if first.button == "left" else ()
            cannot_say = "" if actions else f"a drag with the {first.button} button"
        elif kinds := _CLICKS.get((first.button, self._count)):
            actions = tuple(kind(start) for kind in kinds)
        else:
            cannot_say = f"a click of the {first.button} button"
        held = wrapped(actions, first.held) if actions else ()
        return [StrokeActions(held, first.begins, first.time, self._last.ends, first.frame, cannot_say)]


class WheelTurns:
    """Notches in one direction."""

    def __init__(self, first: Wheeled, screen: tuple[int, int]) -> None:
        self._first, self._last, self._screen = first, first, screen
        self._notches = first.notches

    def takes(self, stroke: Stroke) -> bool:
        again = (
            isinstance(stroke, Wheeled)
            and (stroke.direction, stroke.held) == (self._first.direction, self._first.held)
            and stroke.time - self._last.time <= SCROLL_S
            and _apart(stroke.place, self._last.place) <= SCROLL_PIXELS
        )
        if again:
            assert isinstance(stroke, Wheeled)
            self._last, self._notches = stroke, self._notches + stroke.notches
        return again

    def done(self, following: Stroke | None) -> list[StrokeActions]:
        first = self._first
        turns = min(MOST_REPEATS, max(1, round(self._notches / NOTCHES)))
        turn = Scroll(_point(first.place, self._screen), first.direction)
        return [
            StrokeActions(wrapped((turn,) * turns, first.held), first.begins, first.time, self._last.ends, first.frame)
        ]


class Keys:
    """Keys: one combination, once or again and again."""

    def __init__(self, first: Struck) -> None:
        self._first, self._last = first, first
        self._count, self._one_hold = 1, True

    def takes(self, stroke: Stroke) -> bool:
        again = (
            isinstance(stroke, Struck)
            and (stroke.key, stroke.name, stroke.held) == (self._first.key, self._first.name, self._first.held)
            and stroke.time - self._last.time <= REPEAT_S
        )
        if again:
            assert isinstance(stroke, Struck)
            self._one_hold &= stroke.hold == self._first.hold
            self._last, self._count = stroke, self._count + 1
        return again

    def done(self, following: Stroke | None) -> list[StrokeActions]:
        first, times = self._first, min(self._count, MOST_REPEATS)
        actions: tuple[Action, ...] = ()
        if first.key is not None:
            # Windows are gone through while the modifier stays down: let go, the next one would be the first again.
            going_through = times > 1 and self._one_hold and first.key == "tab" and set(first.held) & set(_SWITCHERS)
            if going_through or len(first.held) + 1 > MAX_HOTKEY_KEYS:
                actions = wrapped((Hotkey((first.key,)),) * times, first.held)
            else:
                actions = (Hotkey((*first.held, first.key)),) * times
        cannot_say = "" if actions else f"the key {first.name}"
        return [StrokeActions(actions, first.begins, first.time, self._last.ends, first.frame, cannot_say)]


def wrapped(actions: Sequence[Action], held: Sequence[str]) -> tuple[Action, ...]:
    """Done while modifiers are held down."""
    return (*map(Press, held), *actions, *map(Release, reversed(held)))


def _is_drag(stroke: Clicked) -> bool:
    return _apart(stroke.start, stroke.end) > DRAG_PIXELS


def _apart(one: tuple[int, int], other: tuple[int, int]) -> int:
    return max(abs(one[0] - other[0]), abs(one[1] - other[1]))


def _point(place: tuple[int, int], screen: tuple[int, int]) -> Point | None:
    """On the grid of typed actions, in tenths; None outside of the screen."""
    if not (0 <= place[0] < screen[0] and 0 <= place[1] < screen[1]):
        return None
    exact = Point.from_pixels(place[0] + 0.5, place[1] + 0.5, *screen)
    return Point(round(exact.x, 1), round(exact.y, 1))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stroke:
    begins: float  # seconds: when the hand set out, the mouse's way included
    time: float  # of the press
    ends: float
    held: tuple[str, ...]  # modifiers, in the order in which they were pressed
    frame: str  # the last picture before the hand set out; "" where there is none


@dataclasses.dataclass(frozen=True, kw_only=True)
class Clicked(Stroke):
    button: str
    start: tuple[int, int]  # pixels
    end: tuple[int, int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wheeled(Stroke):
    place: tuple[int, int]
    direction: str
    notches: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Struck(Stroke):
    key: str | None  # of typed actions; None: they have none such
    name: str  # in X
    text: str  # what it types; "" for none
    hold: int  # the same for strokes during which the modifiers were not let go


@dataclasses.dataclass(frozen=True)
class StrokeActions:
    """Actions that strokes make up, before it is known where they stand among steps."""

    actions: tuple[Action, ...]  # none where none of ours says it
    begins: float
    time: float
    ends: float
    frame: str
    cannot_say: str = ""
