"""Sources of the recorder: hands, a screen, a microphone, a sign that it runs. Each system has its own of these.

Times are those of the recording's `RecordingClock`. Nothing here keeps anything on a disk.
"""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import numpy as np

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Button, KeyStroke, Moved, Scrolled
from tars_jax.annotation.in_situ.privacy import ScreenWindows, VisibleWindow

State = Literal["recording", "elsewhere", "secret", "paused"]  # elsewhere: a window that is not allowed has the focus


class RecordingClock:
    """Seconds since the recording began, by a clock that stands still while the computer is suspended."""

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        awake_or_not: Callable[[], float] | None = None,
    ) -> None:
        """`awake_or_not`: one that goes on meanwhile; None: the system's, where it has one."""
        self.monotonic = monotonic
        self._boot = awake_or_not or _boot_time
        self.wall = time.time()
        self._began, self._asleep = monotonic(), self._boot() - monotonic()

    def now(self) -> float:
        return self.monotonic() - self._began

    def at(self, monotonic: float) -> float:
        """The time of the recording at a time of the monotonic clock."""
        return monotonic - self._began

    def slept(self) -> float:
        """Seconds that the computer was suspended for since this was last asked for; 0 for less than one."""
        asleep = self._boot() - self.monotonic()
        if (seconds := asleep - self._asleep) < 1:
            return 0.0
        self._asleep = asleep
        return seconds


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclasses.dataclass(frozen=True)
class HandInput:
    """Something that a hand did. `window`: of a key, the one that it went to; None where it went elsewhere."""

    event: Moved | Button | Scrolled | KeyStroke
    window: VisibleWindow | None = None


@dataclasses.dataclass(frozen=True)
class Picture:
    pixels: np.ndarray  # np.uint8 [height, width, 4], BGRX; the taker's own
    windows: ScreenWindows  # as they were all the while


class Hands(Protocol):
    def take(self) -> Sequence[HandInput]:
        """Takes the input since the last call, in its order. Raises SourceLost once nothing more will come."""

    def close(self) -> None: ...


class ScreenSource(Protocol):
    def windows(self) -> ScreenWindows:
        """The windows as they are now. Raises SourceLost."""

    def changed(self) -> bool:
        """Whether it may show something else since the last picture."""

    def picture(self) -> Picture | None:
        """None where windows changed while it was taken. Raises SourceLost."""

    def wishes(self) -> Sequence[str]:
        """Hotkeys that the person pressed since the last call: pause, secret, discard."""

    def show(self, state: State) -> None:
        """The sign on the screen that tells the person what is recorded; no picture has it."""

    def close(self) -> None: ...


class Microphone(Protocol):
    def take(self) -> Sequence[tuple[float, bytes]]:
        """Pieces (its first sample's time, 16-bit samples at 16 kHz, mono) since the last call. Raises SourceLost."""

    def close(self) -> None: ...


class Focus(Protocol):
    """Other signs that a secret is being typed: accessibility, terminals."""

    def is_secret(self, window: VisibleWindow | None) -> bool: ...

    def tree(self, window: VisibleWindow | None) -> bytes | None:
        """JSON of the focused window, where there is any and it is another one than before."""

    def close(self) -> None: ...


class SourceLost(Exception):
    """A source that will give nothing more; the message says why."""


def require_library(module: str, what_for: str) -> None:
    """Raises InputError where a library of the extra is not installed."""
    try:
        importlib.import_module(module)
    except ImportError as missing:
        raise InputError(
            f"recording must have {missing.name} for {what_for}, which the extra record brings: "
            "pip install 'tars_jax[record]'"
        ) from missing
