"""Events of a recording, a line of `events.jsonl` each: input, windows, frames, voice, the person's wishes.

    {"kind": "button", "time": 12.031, "x": 640, "y": 32, "button": "left", "down": true}

`time` is in seconds since the recording began, on a clock that never goes back; positions are pixels of the screen.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class RecordedEvent(msgspec.Struct, frozen=True, tag_field="kind", omit_defaults=True, kw_only=True):
    time: float


class Moved(RecordedEvent, tag="move", frozen=True):
    """The mouse, at most some tens of times a second."""

    x: int
    y: int


class Button(RecordedEvent, tag="button", frozen=True):
    x: int
    y: int
    button: Literal["left", "middle", "right"]
    down: bool


class Scrolled(RecordedEvent, tag="scroll", frozen=True):
    """Notches of the wheel; down and right are positive."""

    x: int
    y: int
    dx: int = 0
    dy: int = 0


class KeyStroke(RecordedEvent, tag="key", frozen=True):
    """`key`: its name in X (`a`, `Return`, `Control_L`); `text`: what it types with the modifiers held, "" for none."""

    key: str
    down: bool
    text: str = ""


class FocusedWindow(RecordedEvent, tag="window", frozen=True):
    """The focused window from now on. One that is not allowed has neither name nor title nor place ("" and zeros);
    one that is secret by its title has none of the last two."""

    application: str
    allowed: bool
    title: str = ""
    box: tuple[int, int, int, int] = (0, 0, 0, 0)  # x, y, width, height


class ScreenFrame(RecordedEvent, tag="frame", frozen=True):
    """The screen at that time, without its cursor and with what lies outside of allowed windows blacked out; `file`
    lies in `frames/`. The same file again where the screen is again as it was; until the next one it did not change
    beyond what nobody touched it for."""

    file: str


class Accessibility(RecordedEvent, tag="accessibility", frozen=True):
    """The focused window's tree, where there is one: a JSON file in `accessibility/`."""

    file: str


class Voice(RecordedEvent, tag="voice", frozen=True):
    """A piece of the microphone that began at `time`: a FLAC file in `voice/`, mono, 16 kHz. One that begins where
    another ends goes on with it, to the sample."""

    file: str
    seconds: float


class Secret(RecordedEvent, tag="secret", frozen=True):
    """Begin or end of a secret that was typed: no input, no frame, no voice is kept between."""

    begins: bool


class Paused(RecordedEvent, tag="pause", frozen=True):
    pass


class Resumed(RecordedEvent, tag="resume", frozen=True):
    pass


class Discarded(RecordedEvent, tag="discard", frozen=True):
    """The person took back what lies between `since` and `time`; it is gone from the disk."""

    since: float


class SourceGone(RecordedEvent, tag="lost", frozen=True):
    """A source went away (`microphone`), or some of it is missing (`disk`, `keys`), and why."""

    source: str
    message: str


class Slept(RecordedEvent, tag="sleep", frozen=True):
    """The computer was suspended (a lid closed) until about here. The clock of `time` stood still meanwhile."""

    seconds: float


class Ended(RecordedEvent, tag="end", frozen=True):
    pass


Recorded = (
    Moved | Button | Scrolled | KeyStroke | FocusedWindow | ScreenFrame | Accessibility | Voice
    | Secret | Paused | Resumed | Discarded | SourceGone | Slept | Ended
)  # fmt: skip
