"""The recorder: what comes from a person's hands, screen and microphone is kept where it may be, and nowhere else.

Everything stays in memory for `HOLD_S` before it goes to the disk. So what turns out to belong to a secret, which
accessibility or a terminal tells a moment late, is dropped with what led to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

from tars_jax.annotation.in_situ.events import (
    Button,
    Ended,
    FocusedWindow,
    KeyStroke,
    Moved,
    Paused,
    RecordedEvent,
    Resumed,
    Secret,
    Slept,
    SourceGone,
)
from tars_jax.annotation.in_situ.frames import FrameRing, Taken
from tars_jax.annotation.in_situ.privacy import AllowedWindows, Blackout, ScreenWindows, VisibleWindow
from tars_jax.annotation.in_situ.recording_writer import Full, RecordingWriter
from tars_jax.annotation.in_situ.sources import (
    Focus,
    HandInput,
    Hands,
    Microphone,
    RecordingClock,
    ScreenSource,
    SourceLost,
    State,
)

HOLD_S = 0.5
STALE_S = 0.5  # a window that has gone may show for so long: `Blackout`
KEEP_S = 1.0  # between two syncs
MOVES_S = 0.05  # between two moves of the mouse that are kept

Command = Literal["pause", "resume", "secret", "discard", "allow", "stop"]


@dataclasses.dataclass(frozen=True)
class _Heard:
    time: float
    samples: bytes


@dataclasses.dataclass(frozen=True)
class _Tree:
    time: float
    content: bytes


class Recorder:
    """Turned by `turn`, some times a second, in one thread. It has ended once `ended` says why."""

    def __init__(
        self, writer: RecordingWriter, clock: RecordingClock, hands: Hands, screen: ScreenSource,
        allowed: AllowedWindows, *,
        microphone: Microphone | None = None, focus: Focus | None = None, noticed: Callable[[str], None] = print,
    ) -> None:  # fmt: skip
        """`noticed`: hears sentences for the person."""
        self._writer, self._clock, self._hands, self._screen = writer, clock, hands, screen
        self._microphone, self._focus, self._notice = microphone, focus, noticed
        self.allowed = allowed
        self.ended = ""
        self._held: list[RecordedEvent | Taken | _Heard | _Tree] = []  # not on the disk yet
        self._ring, self._blackout = FrameRing(), Blackout(STALE_S)
        self._windows: ScreenWindows | None = None
        self._last_window: FocusedWindow | None = None
        self._paused, self._secret = False, False  # `_secret`: as the recording says
        self._by_person = False  # that something is secret
        self._private_until = -1.0  # what hands did before, and is read only now, was not to be recorded
        self._open_since: float | None = None  # when voice and keys of the focused window began to be allowed
        self._down: set[tuple[str, str]] = set()  # keys and buttons whose press is recorded
        self._moved_at = -1.0
        self._last_move: Moved | None = None  # that is not kept unless it is where the mouse comes to rest
        self._picture_at, self._look_again, self._no_picture_before = -1.0, 0.0, 0.0
        self._kept_at, self._told, self._shown_state = 0.0, set[str](), ""

    def turn(self) -> None:
        """Looks at every source once. Raises OSError for a disk that fails in another way than being full."""
        if self.ended:
            return
        now = self._clock.now()
        try:
            if slept := self._clock.slept():
                self._forget(now - HOLD_S)
                self._hold(Slept(time=now, seconds=round(slept, 1)))
            self._look(now)
            self._hear(now)
            for each in self._hands.take():
                self._input(each)
            self._see(now)
            self._flush(now - HOLD_S)
            if now - self._kept_at >= KEEP_S:
                self._writer.keep()
                self._kept_at = now
            self._sign()
        except Full as full:
            self._end(now, SourceGone(time=now, source="disk", message=str(full)))
            self.ended = f"{full}; what was recorded until then is kept"
        except SourceLost as lost:
            self._flush_all()
            self._end(now, SourceGone(time=now, source="screen", message=str(lost)))
            self.ended = str(lost)

    @property
    def is_paused(self) -> bool:
        return self._paused

    def command(self, command: Command, argument: str = "") -> None:
        """Carries out the person's command. Raises OSError as `turn`."""
        if self.ended:
            return
        now = self._clock.now()
        try:
            match command:
                case "pause" if not self._paused:
                    self._flush_all()
                    self._writer.voice_ends()
                    self._paused = True
                    self._forget(now)
                    self._hold(Paused(time=now))
                case "resume" if self._paused:
                    self._paused, self._private_until = False, now
                    self._hold(Resumed(time=now))
                    self._told_window(now)
                case "secret":
                    self._by_person = not self._by_person
                case "discard":
                    since = max(0.0, now - 60 * float(argument))
                    self._forget(since)
                    self._held = [each for each in self._held if each.time < since]
                    self._flush_all()
                    self._writer.discard(since, now)
                    self._last_window = None
                    self._told_window(now)
                case "allow":
                    self.allowed = self.allowed.with_(argument)
                    self._writer.allow(argument)
                    self._windows = None
                case "stop":
                    self._flush_all()
                    self._end(now)
                    self.ended = "stopped"
        except Full as full:
            self._end(now, SourceGone(time=now, source="disk", message=str(full)))
            self.ended = f"{full}; what was recorded until then is kept"
        if not self.ended:
            self._sign()

    def _end(self, now: float, *last: RecordedEvent) -> None:
        self._held.clear()
        self._writer.end(*last, Ended(time=now))

    def _look(self, now: float) -> None:
        """Windows, the focus among them, and whether a secret is being typed."""
        windows = self._screen.windows()
        if windows != self._windows:
            self._windows = windows
            self._blackout.update(self.allowed.visible(windows), now)
            self._look_again = now + STALE_S
        focused = windows.focused
        is_allowed = self.allowed.allows(focused)
        if focused is not None and not is_allowed and not focused.own:
            self._tell_once(focused)
        self._becomes_secret(self._by_person or (is_allowed and self._asks_secret(focused)), now)
        self._told_window(now)
        is_open = is_allowed and not self._paused and not self._secret
        if is_open and self._focus is not None and (tree := self._focus.tree(focused)):
            self._held.append(_Tree(now, tree))
        if is_open and self._open_since is None:
            self._open_since = now
        elif not is_open and self._open_since is not None:
            self._open_since = None

    def _asks_secret(self, focused: VisibleWindow | None) -> bool:
        """Whether a secret goes into the focused window."""
        return self.allowed.is_secret(focused) or (self._focus is not None and self._focus.is_secret(focused))

    def _becomes_secret(self, secret: bool, now: float) -> None:
        if secret == self._secret:
            return
        if secret:
            self._forget(now - HOLD_S)
        else:
            self._private_until = now
            self._look_again = self._no_picture_before = now + STALE_S  # what was typed may still be seen
        self._secret = secret
        self._hold(Secret(time=now, begins=secret))

    def _told_window(self, now: float) -> None:
        """The recording is told of the focused window, where that is another one."""
        if self._paused or self._windows is None:
            return
        window = self._window(self._windows.focused, now)
        if self._last_window is None or _without_time(window) != _without_time(self._last_window):
            self._last_window = window
            self._hold(window)

    def _window(self, focused: VisibleWindow | None, now: float) -> FocusedWindow:
        if focused is None or not self.allowed.allows(focused):
            return FocusedWindow(time=now, application="", allowed=False)
        if self._secret or self.allowed.is_secret(focused):
            return FocusedWindow(time=now, application=focused.application, allowed=True)
        return FocusedWindow(
            time=now, application=focused.application, allowed=True, title=focused.title, box=focused.box
        )

    def _input(self, given: HandInput) -> None:
        event = given.event
        what = _pressed(event)
        if what is not None and not what[1]:  # let go: recorded if its press was
            if what[0] in self._down:
                self._down.discard(what[0])
                self._hold(event)
            return
        if self._paused or self._secret or event.time <= self._private_until:
            return
        if isinstance(event, KeyStroke):
            if not self.allowed.records(given.window):
                return
        elif not self._blackout.shows(event.x, event.y):
            return
        if isinstance(event, Moved):
            self._held += self._ring.moves(event.time)
            if event.time - self._moved_at < MOVES_S:
                self._last_move = event
                return
            self._moved_at, self._last_move = event.time, None
        else:
            if self._last_move is not None:  # where it came to rest
                self._hold(self._last_move)
                self._last_move = None
            self._held += self._ring.acts(event.time)
        if what is not None:
            self._down.add(what[0])
        self._hold(event)

    def _see(self, now: float) -> None:
        """Takes a picture where there is something new, and says which are kept."""
        if self._paused or self._secret or self._blackout.is_dark or now < self._no_picture_before:
            return
        again = 0 < self._look_again <= now
        is_due = now - self._picture_at >= self._ring.interval(now) and (again or self._screen.changed())
        if is_due and (picture := self._screen.picture()) is not None:
            self._picture_at = now
            if again:
                self._look_again = 0.0
            if picture.windows == self._windows and self._blackout.fits(picture.pixels):
                self._blackout.cover(picture.pixels, now)
                self._ring.take(Taken(self._clock.now(), picture.pixels))
        self._held += self._ring.rests(now)

    def _hear(self, now: float) -> None:
        if self._microphone is None:
            return
        try:
            for time, samples in self._microphone.take():
                if self._open_since is not None and time >= self._open_since:
                    self._held.append(_Heard(time, samples))
        except SourceLost as lost:
            self._notice(f"The microphone is gone: {lost}. The rest goes on.")
            self._hold(SourceGone(time=now, source="microphone", message=str(lost)))
            self._microphone.close()
            self._microphone = None

    def _hold(self, event: RecordedEvent) -> None:
        self._held.append(event)

    def _forget(self, since: float) -> None:
        """Drops keys, pictures and voice from then on that are not on the disk yet: a secret may be in them."""
        kept: list[RecordedEvent | Taken | _Heard | _Tree] = []
        for each in self._held:
            if each.time >= since and isinstance(each, KeyStroke | Taken | _Heard | _Tree):
                if isinstance(each, KeyStroke):
                    self._down.discard((type(each).__name__, each.key))
            else:
                kept.append(each)
        self._held = kept
        self._ring.forget(since)

    def _flush(self, until: float) -> None:
        """To the disk goes what is older, in the order of its time."""
        ready = sorted((each for each in self._held if each.time <= until), key=lambda each: each.time)
        if not ready:
            return
        self._held = [each for each in self._held if each.time > until]
        for each in ready:
            match each:
                case Taken(time, pixels):
                    self._writer.frame(time, pixels)
                case _Heard(time, samples):
                    self._writer.voice(time, samples)
                case _Tree(time, content):
                    self._writer.accessibility(time, content)
                case RecordedEvent():
                    self._writer.event(each)

    def _flush_all(self) -> None:
        self._flush(float("inf"))

    def _sign(self) -> None:
        state: State = (
            "paused" if self._paused
            else "secret" if self._secret or self._by_person
            else "recording" if self._open_since is not None
            else "elsewhere"
        )  # fmt: skip
        if state != self._shown_state:
            self._screen.show(state)
            self._shown_state = state

    def _tell_once(self, window: VisibleWindow) -> None:
        name = window.application
        if name and name not in self._told:
            self._told.add(name)
            self._notice(f"{name} is not recorded; `allow {name}` allows it.")


def _pressed(event: RecordedEvent) -> tuple[tuple[str, str], bool] | None:
    """((kind, name), down) of what can be held down."""
    match event:
        case KeyStroke(key=name, down=down):
            return (KeyStroke.__name__, name), down
        case Button(button=name, down=down):
            return ("Button", name), down
    return None


def _without_time(window: FocusedWindow) -> tuple[object, ...]:
    return window.application, window.allowed, window.title, window.box
