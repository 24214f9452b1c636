"""Raw events as steps: one after the other, in bounded memory, however long the day was.

A step is what a typed action of an agent does (agent/actions.py), a few of them where one does not say it: a triple
click, a click with Control held. Its picture is the last one before the hand set out.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator

from tars_jax import InputError
from tars_jax.agent.actions import MAX_WAIT_SECONDS, Action, CallUser, Wait
from tars_jax.annotation.in_situ.events import (
    Accessibility,
    Button,
    FocusedWindow,
    KeyStroke,
    Moved,
    RecordedEvent,
    ScreenFrame,
    Scrolled,
    Secret,
    Voice,
)
from tars_jax.annotation.in_situ.gestures import (
    Clicked,
    Clicks,
    Keys,
    Stroke,
    StrokeActions,
    Struck,
    Wheeled,
    WheelTurns,
)
from tars_jax.annotation.in_situ.key_names import MODIFIERS, is_silent, key_of
from tars_jax.annotation.in_situ.written_text import WrittenText

STILL_S = 0.35  # without a move: the next one is the hand setting out anew
LONGEST_WAY_S = 2.0  # of the mouse to a click: a hand that fidgets has not set out yet
WAIT_S = 2.0  # from an action until the screen has stopped changing: who then acts has waited
TAP_S = 1.0  # a modifier by itself
MOST_FRAMES = 256  # that are remembered
_TAPPED = ("alt", "meta")  # what a modifier does by itself
_Input = Button | Scrolled | KeyStroke


@dataclasses.dataclass(frozen=True)
class RecordedStep:
    """A step of a person, times in seconds of the recording."""

    actions: tuple[Action, ...]  # none where `cannot_say`
    begins: float  # the hand sets out
    time: float  # the first press
    ends: float
    frame: str  # a file in `frames/`; "" where there is none
    window: FocusedWindow | None  # the focused one
    cannot_say: str = ""  # what no action of ours says: "a click of the middle button"


def recorded_steps(
    events: Iterable[RecordedEvent], screen: tuple[int, int], changed: Callable[[str, str], bool] | None = None
) -> Iterator[RecordedStep]:
    """The steps of events in the order of their times.

    Args:
      screen: width and height in pixels.
      changed: whether two pictures (files of `frames/`) differ in more than a blinking cursor. Without it there are no
        waits: nobody knows whether somebody waited or thought.

    Raises InputError for times that go back or are no numbers, and for a screen without pixels.
    """
    if min(screen) < 1:
        raise InputError(f"screen must have a width and a height of 1 pixel or more; got {screen}")
    reading = _Reading(screen, changed)
    for event in events:
        yield from reading.read(event)
    yield from reading.end()


class _Reading:
    """The state of hands, keyboard and screen at a moment."""

    def __init__(self, screen: tuple[int, int], changed: Callable[[str, str], bool] | None) -> None:
        self._screen, self._changed = screen, changed
        self._now = 0.0
        self._frames: collections.deque[ScreenFrame] = collections.deque(maxlen=MOST_FRAMES)
        self._changed_at = -math.inf
        self._window: FocusedWindow | None = None
        self._secret: Secret | None = None
        self._modifiers: dict[str, float] = {}  # held, since when
        self._hold, self._alone = 0, True  # the modifiers' turn; nothing else was pressed in it
        self._down: dict[str, Clicked] = {}  # buttons
        self._way_begins, self._moved = -math.inf, -math.inf
        self._last_end = -math.inf
        self._last_input = self._last_press = -math.inf  # of any event; of a stroke that is complete
        self._pending: Clicks | WheelTurns | Keys | WrittenText | None = None
        self._pending_window: FocusedWindow | None = None

    def read(self, event: RecordedEvent) -> Iterator[RecordedStep]:
        if not (math.isfinite(event.time) and event.time >= self._now):
            raise InputError(
                f"time of an event must be a number of seconds from {self._now:g} on, as events come one after the "
                f"other; got {event.time}"
            )
        self._now = event.time
        if isinstance(event, ScreenFrame):
            self._see(event)
        elif isinstance(event, FocusedWindow):
            if not isinstance(self._pending, Clicks):  # the first of two clicks may focus
                yield from self._flush(None)
            self._window = event
        elif isinstance(event, Secret):
            yield from self._in_secret(event)
        elif isinstance(event, Moved | _Input):
            if self._secret is None and (self._window is None or self._window.allowed):
                yield from self._hands(event)
        elif not isinstance(event, Accessibility | Voice):  # a pause, or something may be missing
            yield from self._interrupted()

    def end(self) -> Iterator[RecordedStep]:
        yield from self._flush(None)
        if self._secret is not None:
            yield self._hidden(self._secret)

    # ---- what is seen

    def _see(self, frame: ScreenFrame) -> None:
        before = self._frames[-1] if self._frames else None
        if before is not None and self._changed is not None and self._changed(before.file, frame.file):
            self._changed_at = frame.time
        self._frames.append(frame)

    def _frame(self, begins: float, time: float) -> str:
        """The last before the hand set out, as long as it is no older than what was done before."""
        before = self._latest(begins)
        if before is None or before.time < self._last_input:
            before = self._latest(time) or before
        return before.file if before else ""

    def _latest(self, time: float) -> ScreenFrame | None:
        return next((frame for frame in reversed(self._frames) if frame.time <= time), None)

    # ---- what hands do

    def _hands(self, event: Moved | _Input) -> Iterator[RecordedStep]:
        if isinstance(event, Moved):
            self._move(event)
            return
        for stroke in self._strokes(event):
            yield from self._add(stroke)
        self._last_input = event.time

    def _move(self, event: Moved) -> None:
        if event.time - max(self._moved, self._last_input) > STILL_S or self._moved <= self._last_input:
            self._way_begins = event.time
        self._moved = event.time

    def _strokes(self, event: _Input) -> Iterator[Stroke]:
        if isinstance(event, KeyStroke):
            yield from self._of_key(event)
        elif isinstance(event, Button):
            self._alone = False
            yield from self._of_button(event)
        elif event.dx or event.dy:
            self._alone = False
            vertical = abs(event.dy) >= abs(event.dx)
            forward = (event.dy if vertical else event.dx) > 0
            direction = (("up", "down") if vertical else ("left", "right"))[forward]
            notches = max(abs(event.dx), abs(event.dy))
            begins, frame = self._setting_out(event.time)
            yield Wheeled(
                place=(event.x, event.y), direction=direction, notches=notches, begins=begins, time=event.time,
                ends=event.time, held=tuple(self._modifiers), frame=frame,
            )  # fmt: skip

    def _setting_out(self, time: float) -> tuple[float, str]:
        """The time at which the hand that pressed the mouse at `time` set out, and the picture before."""
        going = time - self._moved <= STILL_S and self._way_begins > self._last_input
        begins = max(self._way_begins, time - LONGEST_WAY_S) if going else time
        return begins, self._frame(begins, time)

    def _of_button(self, event: Button) -> Iterator[Stroke]:
        place = (event.x, event.y)
        if event.down:
            begins, frame = self._setting_out(event.time)
            self._down[event.button] = Clicked(
                button=event.button, start=place, end=place, begins=begins, time=event.time, ends=event.time,
                held=tuple(self._modifiers), frame=frame,
            )  # fmt: skip
        elif pressed := self._down.pop(event.button, None):
            # What was struck while the button was held comes before it, as it was complete before.
            time = max(pressed.time, self._last_press)
            yield dataclasses.replace(pressed, end=place, time=time, ends=event.time)

    def _of_key(self, event: KeyStroke) -> Iterator[Stroke]:
        modifier = MODIFIERS.get(event.key)
        if modifier is None and (not event.down or is_silent(event.key)):
            return
        if modifier is not None and event.down:
            if not self._modifiers:
                self._hold, self._alone = self._hold + 1, True
            self._modifiers.setdefault(modifier, event.time)
            return
        if modifier is not None:
            since = self._modifiers.pop(modifier, -math.inf)
            tapped = modifier in _TAPPED and self._alone and not self._modifiers and event.time - since <= TAP_S
            if tapped:
                yield self._struck(since, modifier, event.key, "")
            return
        self._alone = False
        text = event.text if event.text.isprintable() else ""
        key = key_of(event.key) or (key_of(text) if text else None)
        yield self._struck(event.time, key, event.key, text)

    def _struck(self, time: float, key: str | None, name: str, text: str) -> Struck:
        return Struck(
            key=key, name=name, text=text, hold=self._hold, begins=time, time=time, ends=time,
            held=tuple(self._modifiers), frame=self._frame(time, time),
        )  # fmt: skip

    # ---- what they come to

    def _add(self, stroke: Stroke) -> Iterator[RecordedStep]:
        self._last_press = stroke.time
        if self._pending is not None and self._pending.takes(stroke):
            return
        yield from self._flush(stroke)
        yield from self._waited(stroke)
        self._pending_window = self._window
        if isinstance(stroke, Clicked):
            self._pending = Clicks(stroke, self._screen)
        elif isinstance(stroke, Wheeled):
            self._pending = WheelTurns(stroke, self._screen)
        elif isinstance(stroke, Struck):
            self._pending = WrittenText(stroke) if WrittenText.begins_with(stroke) else Keys(stroke)

    def _flush(self, following: Stroke | None) -> Iterator[RecordedStep]:
        if self._pending is None:
            return
        for done in self._pending.done(following):
            yield self._step(done, self._pending_window)
        self._pending = None

    def _waited(self, stroke: Stroke) -> Iterator[RecordedStep]:
        since = self._last_end
        settled = self._changed_at
        if settled - since >= WAIT_S and settled <= stroke.begins and math.isfinite(since):
            seconds = min(MAX_WAIT_SECONDS, round(settled - since, 1))
            frame = self._latest(since + 0.5)
            yield self._step(
                StrokeActions((Wait(seconds),), since, since, settled, frame.file if frame else ""), self._window
            )

    def _step(self, done: StrokeActions, window: FocusedWindow | None) -> RecordedStep:
        self._last_end = done.ends
        return RecordedStep(done.actions, done.begins, done.time, done.ends, done.frame, window, done.cannot_say)

    def _interrupted(self) -> Iterator[RecordedStep]:
        """Something may be missing: what is held down is not known any more, nor what was waited for."""
        yield from self._flush(None)
        self._down.clear()
        self._modifiers.clear()
        self._last_end = self._moved = -math.inf

    def _in_secret(self, event: Secret) -> Iterator[RecordedStep]:
        if event.begins and self._secret is None:
            yield from self._interrupted()
            self._secret = event
        elif not event.begins and self._secret is not None:
            yield self._hidden(self._secret)
            self._secret = None
            self._last_end = -math.inf

    def _hidden(self, secret: Secret) -> RecordedStep:
        """The step of an agent where a secret is asked for: it asks its user."""
        frame = self._latest(secret.time)
        done = StrokeActions((CallUser(),), secret.time, secret.time, self._now, frame.file if frame else "")
        return self._step(done, self._window)
