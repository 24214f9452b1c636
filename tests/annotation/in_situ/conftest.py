"""A desktop of ours on which a recorder runs: scripted hands, a window that is allowed and one that is not."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tars_jax.annotation.in_situ.privacy import AllowedWindows
from tars_jax.annotation.in_situ.recorder import Recorder
from tars_jax.annotation.in_situ.recording import Head, PersonRecording, read_recording
from tars_jax.annotation.in_situ.recording_writer import RecordingWriter
from tars_jax.annotation.in_situ.sources import RecordingClock
from tars_jax.sandbox.browser.events import InputEvent, InsertText, KeyDown, KeyUp, MouseDown, MouseMove, MouseUp
from tars_jax.sandbox.computer.machine import ThisMachine
from tests.waiting import PATIENCE_S

T = TypeVar("T")


def head(**fields: Any) -> Head:
    values = {
        "version": 1, "id": "test", "began": 0.0, "screen": (1280, 720), "consent": "I agree.", "allowed": ("xterm",),
        "source": "synthetic", **fields,
    }  # fmt: skip
    return Head(**values)


class Stage:
    """A desktop, and a loop to run its calls in. Each test has windows of its own."""

    def __init__(self, home: Path) -> None:
        from tars_jax.sandbox.desktop import Desktop

        self._runner = asyncio.Runner()
        self.machine = ThisMachine(home)
        self.desktop = self.run(Desktop.start(self.machine))
        self._opened: list[int] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, **self.desktop.env}

    def terminal(self, name: str, title: str, place: str, color: str, *command: str) -> None:
        """An xterm as an application of that name, `place` as X has it (60x10+100+100)."""
        argv = ["xterm", "-class", name, "-title", title, "-geometry", place, "-bg", color, "-fg", "black", "-bc",
                "-fn", "fixed", "-e", *(command or ("cat",))]  # fmt: skip
        self._opened.append(self.run(self.desktop.launch(argv, window_s=PATIENCE_S)))

    def editor(self) -> None:
        self._opened.append(self.run(self.desktop.launch("editor", window_s=PATIENCE_S)))

    def focus(self, title: str) -> None:
        (window,) = [each for each in self.run(self.desktop.windows()) if title in each.title]
        self.run(self.desktop.activate_window(window.id))
        self.run(self.desktop.screenshot(settle=self.desktop.config.settle))

    def act(self, *events: InputEvent) -> None:
        self.run(self.desktop.act(events))

    def type(self, text: str) -> None:
        self.act(InsertText(text))

    def press(self, *keys: str) -> None:
        self.act(*(KeyDown(key) for key in keys), *(KeyUp(key) for key in reversed(keys)))

    def click(self, x: float, y: float) -> None:
        self.act(MouseMove(x, y))
        self.act(MouseDown(x, y, "left"), MouseUp(x, y, "left"))

    def clear(self) -> None:
        """Ends the test's programs; their windows are gone then, too."""
        for process in self._opened:
            self.run(self.machine.kill(process))
        self._opened.clear()
        end = time.monotonic() + PATIENCE_S
        while self.run(self.desktop.windows()) and time.monotonic() < end:
            time.sleep(0.02)

    def close(self) -> None:
        self.clear()
        self.run(self.desktop.close())
        self.run(self.machine.close())
        self._runner.close()


@dataclasses.dataclass
class Running:
    """A recorder of this process, which is turned while the stage acts."""

    recorder: Recorder
    clock: RecordingClock
    path: Path

    def turn(self, seconds: float = 0.1) -> None:
        """For so long of its own clock, however slow the machine is."""
        end = self.clock.now() + seconds
        while self.clock.now() < end and not self.recorder.ended:
            self.recorder.turn()
            time.sleep(0.01)

    def until(self, holds: Callable[[], Any]) -> None:
        end = self.clock.now() + PATIENCE_S
        while not holds():
            assert self.clock.now() < end
            self.recorder.turn()

    def stop(self) -> PersonRecording:
        self.turn(0.2)
        self.recorder.command("stop")
        return read_recording(self.path)


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    pytest.importorskip("Xlib", reason="python-xlib is not installed")
    pytest.importorskip("mss", reason="mss is not installed")
    for program in ("Xvfb", "openbox", "xterm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: launch/desktop.sh installs it")
    stage = Stage(tmp_path_factory.mktemp("desk"))
    yield stage
    stage.close()


@pytest.fixture
def stage(desk: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("XAUTHORITY", desk.desktop.env["XAUTHORITY"])
    monkeypatch.setenv("DISPLAY", desk.desktop.env["DISPLAY"])
    yield desk
    desk.clear()


@pytest.fixture
def begin(stage: Stage, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Begins a recording of the stage in which the applications of these names are allowed."""
    from tars_jax.annotation.in_situ.x11.hands import XHands
    from tars_jax.annotation.in_situ.x11.screen import XScreen

    closing: list[Any] = []

    def start(*applications: str, keys: dict[str, str] | None = None, limit: int = 1 << 30, **more: Any) -> Running:
        clock = RecordingClock()
        screen = XScreen("", keys or {})
        hands = XHands("", clock, screen)
        closing.extend([hands, screen])
        path = tmp_path / "recording"
        writer = RecordingWriter(path, head(allowed=applications, screen=screen.size, source="x11"), limit)
        recorder = Recorder(writer, clock, hands, screen, AllowedWindows(applications), **more)
        running = Running(recorder, clock, path)
        running.turn(1.0)
        return running

    yield start
    for each in closing:
        each.close()
