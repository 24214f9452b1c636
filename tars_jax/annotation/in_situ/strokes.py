"""Strokes of a hand: a press of a button with its release, a notch of the wheel, a stroke of a key."""

from __future__ import annotations

import dataclasses

from tars_jax.agent.actions import Action


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
