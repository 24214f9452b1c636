"""Sources without a computer: hands, a screen and a microphone on a clock of the test's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax.annotation.in_situ.events import Button, KeyStroke, Moved, Scrolled
from tars_jax.annotation.in_situ.privacy import AllowedWindows, ScreenWindows, VisibleWindow
from tars_jax.annotation.in_situ.recorder import Recorder
from tars_jax.annotation.in_situ.recording import Head, PersonRecording, read_recording
from tars_jax.annotation.in_situ.recording_writer import RecordingWriter
from tars_jax.annotation.in_situ.sources import HandInput, Picture, RecordingClock, SourceLost, State

NOTES = VisibleWindow(1, "Notes", "notes", "my notes", (0, 0, 40, 30), process=7)
DIARY = VisibleWindow(2, "Diary", "diary", "the diary", (10, 10, 10, 10))
SIGN_IN = dataclasses.replace(NOTES, title="Sign in to the shop")
TURN_S = 0.05


def head(**fields: Any) -> Head:
    values = {
        "version": 1, "id": "test", "began": 0.0, "screen": (64, 48), "consent": "I agree.", "allowed": ("Notes",),
        "source": "synthetic", **fields,
    }  # fmt: skip
    return Head(**values)


class Fake:
    """All sources in one. What is put into `inputs` and `samples` comes with the next turn."""

    def __init__(self) -> None:
        self.time = self.asleep = 0.0
        self.inputs: list[HandInput] = []
        self.samples: list[tuple[float, bytes]] = []
        self.desk = ScreenWindows((64, 48), (NOTES,), NOTES)
        self.color, self.drawn, self.states = 1, True, list[State]()
        self.unplugged = self.hidden = False

    def now(self) -> float:
        return self.time

    def take(self) -> Any:
        raise NotImplementedError

    def windows(self) -> ScreenWindows:
        return self.desk

    def changed(self) -> bool:
        return self.drawn

    def picture(self) -> Picture | None:
        self.drawn = False
        return Picture(np.full((48, 64, 4), self.color, np.uint8), self.desk)

    def wishes(self) -> Sequence[str]:
        return ()

    def show(self, state: State) -> None:
        self.states.append(state)

    def close(self) -> None:
        pass

    def is_secret(self, window: VisibleWindow | None) -> bool:
        return self.hidden

    def tree(self, window: VisibleWindow | None) -> bytes | None:
        return None

    def draw(self, color: int) -> None:
        self.color, self.drawn = color, True


@dataclasses.dataclass
class _Hands:
    fake: Fake

    def take(self) -> Sequence[HandInput]:
        inputs, self.fake.inputs = self.fake.inputs, []
        return inputs

    def close(self) -> None:
        pass


@dataclasses.dataclass
class _Microphone:
    fake: Fake

    def take(self) -> Sequence[tuple[float, bytes]]:
        if self.fake.unplugged:
            raise SourceLost("it was unplugged")
        samples, self.fake.samples = self.fake.samples, []
        return samples

    def close(self) -> None:
        pass


class Session:
    """A recorder over a fake; `run` lets its time pass."""

    def __init__(
        self, path: Path, limit: int = 1 << 30, noticed: Callable[[str], None] = lambda sentence: None
    ) -> None:
        self.fake = Fake()
        clock = RecordingClock(self.fake.now, lambda: self.fake.time + self.fake.asleep)
        self.path = path
        self.recorder = Recorder(
            RecordingWriter(path, head(), limit), clock, _Hands(self.fake), self.fake, AllowedWindows(("notes",)),
            microphone=_Microphone(self.fake), focus=self.fake, noticed=noticed,
        )  # fmt: skip
        self.run(1.0)

    def run(self, seconds: float, voice: bool = False) -> None:
        for _ in range(round(seconds / TURN_S)):
            if voice:
                self.fake.samples.append((self.fake.time, b"\x05\x10" * round(16_000 * TURN_S)))
            self.fake.time += TURN_S
            self.recorder.turn()

    def type(self, text: str, window: VisibleWindow | None = NOTES) -> None:
        for character in text:
            for down in (True, False):
                key = KeyStroke(time=self.fake.time, key=character, down=down, text=character if down else "")
                self.fake.inputs.append(HandInput(key, window))
            self.fake.time += 0.01

    def click(self, x: int, y: int) -> None:
        self.fake.inputs.append(HandInput(Moved(time=self.fake.time, x=x, y=y)))
        for down in (True, False):
            self.fake.inputs.append(HandInput(Button(time=self.fake.time, x=x, y=y, button="left", down=down)))

    def scroll(self, x: int, y: int) -> None:
        self.fake.inputs.append(HandInput(Scrolled(time=self.fake.time, x=x, y=y, dy=1)))

    def focus(self, *shown: VisibleWindow) -> None:
        """The windows, the last of which is on top and has the focus."""
        self.fake.desk = ScreenWindows((64, 48), shown, shown[-1])

    def stop(self) -> PersonRecording:
        self.run(1.0)
        self.recorder.command("stop")
        return read_recording(self.path)
