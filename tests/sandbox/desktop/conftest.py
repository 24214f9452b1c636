"""One desktop for the tests that do no harm to it, driven from synchronous tests; skipped where X is not installed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tars_jax.sandbox.browser.events import InputEvent, MouseDown, MouseMove, MouseUp
from tars_jax.sandbox.computer.machine import ThisMachine

T = TypeVar("T")


def require_desktop() -> None:
    pytest.importorskip("Xlib", reason="python-xlib is not installed")
    for program in ("Xvfb", "openbox", "xterm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: launch/desktop.sh installs it")


def click(x: float, y: float, button: str = "left") -> list[InputEvent]:
    return [MouseMove(x, y), MouseDown(x, y, button), MouseUp(x, y, button)]


class Room:
    """A machine with a desktop, and a loop to run calls in."""

    def __init__(self, home: Path) -> None:
        from tars_jax.sandbox.desktop import Desktop

        self.home, self._runner = home, asyncio.Runner()
        self.machine = ThisMachine(home)
        self.desktop = self.run(Desktop.start(self.machine))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def close(self) -> None:
        self.run(self.desktop.close())
        self.run(self.machine.close())
        self._runner.close()


@pytest.fixture(scope="package")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    require_desktop()
    room = Room(tmp_path_factory.mktemp("home with spaces ä"))
    yield room
    room.close()
