"""adbutils as it comes: what people call most, on the stand-in by a real ADB server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.phone.conftest import Finger

pytestmark = pytest.mark.multiprocess
adbutils = pytest.importorskip("adbutils", reason="adbutils is not installed (the extra phone)")


@pytest.fixture
def device(finger: Finger) -> Any:
    return adbutils.AdbClient("127.0.0.1", finger.server.port).device(finger.phone.serial)


def test_a_failing_command_tells_its_status(device: Any) -> None:
    ran = device.shell2("echo before; no_such_program")
    assert ran.returncode == 127 and ran.output.startswith("before\n") and "not found" in ran.output
    both = device.shell2("no_such_program; echo after")
    assert both.returncode == 0 and both.output.index("not found") < both.output.index("after")
    assert device.shell2("echo words", rstrip=True).output == "words"
    apart = device.shell2("echo out; no_such_program", v2=True)
    assert (apart.stdout, apart.returncode) == ("out\n", 127) and "not found" in apart.stderr


def test_the_screen_is_off_until_it_is_woken(device: Any, finger: Finger) -> None:
    assert device.is_screen_on()
    device.switch_screen(False)
    assert not device.is_screen_on() and device.screenshot().convert("RGB").getextrema() == ((0, 0),) * 3
    home = device.app_current().package
    finger.tap("icon_calculator")
    device.keyevent("HOME")
    assert device.app_current().package == home and not device.is_screen_on()  # a finger wakes nothing
    device.keyevent("POWER")
    assert device.is_screen_on()
    finger.tap("icon_calculator")
    assert device.app_current().package == "com.tarsjax.calculator"


def test_files_properties_and_gestures(device: Any, tmp_path: Any) -> None:
    assert device.prop.model and device.window_size() == (360, 640)
    (tmp_path / "a b.txt").write_text("ü\n")
    device.sync.push(str(tmp_path / "a b.txt"), "/sdcard/Download/a b.txt")
    assert device.sync.read_text("/sdcard/Download/a b.txt") == "ü\n"
    assert [each.path for each in device.sync.list("/sdcard/Download")] == ["a b.txt"]
    device.swipe(180, 500, 180, 100, 0.2)
    device.app_start("com.tarsjax.calculator")
    assert device.app_current().package == "com.tarsjax.calculator"
    device.app_stop("com.tarsjax.calculator")
    assert "com.tarsjax.calculator" in device.list_packages()
