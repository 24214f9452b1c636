"""An ADB server on its own port, stand-in phones, and where their widgets are."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from tars_jax.sandbox.phone import AdbServer
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tests.waiting import PATIENCE_S

T = TypeVar("T")


def place_of(device: StandInDevice, id: str) -> tuple[float, float]:
    """The middle of what can be seen of a widget, pixels."""
    found = [widget for widget in device.widgets() if widget.id == id]
    assert found, f"{id} is not among {[widget.id for widget in device.widgets()]}"
    box, scale = found[-1].visible, device.scale
    return (box.left + box.right) / 2 * scale, (box.top + box.bottom) / 2 * scale


def tap(device: StandInDevice, *ids: str) -> None:
    for id in ids:
        place = place_of(device, id)
        device.touch(place, place, 50)


class Finger:
    """The real adb binary on one stand-in."""

    def __init__(self, server: AdbServer, phone: StandIn) -> None:
        self.server, self.phone = server, phone
        assert "connected" in self.adb("connect", phone.serial, whole=False)

    def adb(self, *words: str, whole: bool = True, status: int = 0, given: bytes | None = None) -> str:
        return self.raw(*words, whole=whole, status=status, given=given).decode()

    def raw(self, *words: str, whole: bool = True, status: int = 0, given: bytes | None = None) -> bytes:
        """stdout; stderr as well where the status is not 0."""
        serial = ("-s", self.phone.serial) if whole else ()
        ran = subprocess.run(
            ["adb", "-P", str(self.server.port), *serial, *words],
            input=given, stdin=None if given is not None else subprocess.DEVNULL,
            capture_output=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert ran.returncode == status, (words, ran)
        return ran.stdout + (ran.stderr if status else b"")

    def tap(self, id: str) -> None:
        x, y = self.phone.call(lambda device: place_of(device, id))
        self.adb("shell", f"input tap {x:.0f} {y:.0f}")


@pytest.fixture(scope="session")
def adb_server() -> Iterator[AdbServer]:
    if shutil.which("adb") is None:
        pytest.skip("adb is not installed (apt-get install adb)")
    with AdbServer() as server:
        yield server


@pytest.fixture
def finger(adb_server: AdbServer) -> Iterator[Finger]:
    with StandIn(StandInDevice(seed=3)) as phone:
        made = Finger(adb_server, phone)
        yield made
        made.adb("disconnect", phone.serial, whole=False)


@pytest.fixture
def run() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    with asyncio.Runner() as runner:
        yield runner.run
