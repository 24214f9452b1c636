"""What a recording tells, a line of `events.jsonl` each: input, windows, frames, voice, the person's wishes.

    {"kind": "button", "time": 12.031, "x": 640, "y": 32, "button": "left", "down": true}

`time` is in seconds since the recording began, on a clock that never goes back; positions are pixels of the screen.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Event(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True, kw_only=True):
    time: float


class Moved(Event, tag="move"):
    """The mouse, at most some tens of times a second."""

    x: int
    y: int


class Button(Event, tag="button"):
    x: int
    y: int
    button: Literal["left", "middle", "right"]
    down: bool


class Scrolled(Event, tag="scroll"):
    """Notches of the wheel; down and right are positive."""

    x: int
    y: int
    dx: int = 0
    dy: int = 0


class Key(Event, tag="key"):
    """`key`: its name in X (`a`, `Return`, `Control_L`); `text`: what it types with the modifiers held, "" for none."""

    key: str
    down: bool
    text: str = ""


class Window(Event, tag="window"):
    """The focused window from now on. One that is not allowed has no title; nothing else is recorded under it."""

    application: str
    allowed: bool
    title: str = ""
    box: tuple[int, int, int, int] = (0, 0, 0, 0)  # x, y, width, height


class Frame(Event, tag="frame"):
    """The screen at that time, with what lies outside of allowed windows blacked out; `file` lies in `frames/`."""

    file: str


class Accessibility(Event, tag="accessibility"):
    """The focused window's tree, where there is one: a JSON file in `accessibility/`."""

    file: str


class Voice(Event, tag="voice"):
    """A piece of the microphone that began at `time`: a FLAC file in `voice/`, mono, 16 kHz."""

    file: str
    seconds: float


class Secret(Event, tag="secret"):
    """From here on, or up to here, a secret was typed: no key, no frame, no voice is kept between."""

    begins: bool


class Paused(Event, tag="pause"):
    pass


class Resumed(Event, tag="resume"):
    pass


class Discarded(Event, tag="discard"):
    """The person took back what lies between `since` and `time`; its frames and voice are gone from the disk."""

    since: float


class Lost(Event, tag="lost"):
    """A source went away (`microphone`), or some of it is missing (`disk`, `keys`), and why."""

    source: str
    message: str


class Ended(Event, tag="end"):
    pass


Recorded = (
    Moved | Button | Scrolled | Key | Window | Frame | Accessibility | Voice | Secret | Paused | Resumed | Discarded
    | Lost | Ended
)  # fmt: skip
