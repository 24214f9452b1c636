"""Debian's real adb binary on the stand-in."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PIL import Image

from tars_jax.sandbox.phone import AdbServer
from tars_jax.sandbox.phone.adb_server import answers
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tars_jax.sandbox.phone.stand_in.streams import AdbStream
from tests.sandbox.phone.conftest import Finger
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.multiprocess


def test_adb_lists_it_and_says_what_it_is(finger: Finger) -> None:
    (line,) = [line for line in finger.adb("devices", "-l", whole=False).splitlines() if finger.phone.serial in line]
    assert line.split()[1] == "device" and "model:Stand_in" in line
    assert finger.adb("get-state").strip() == "device"
    assert finger.adb("shell", "getprop ro.build.display.id").startswith("tars_jax stand-in")


def test_a_screenshot_and_a_tap_that_changes_it(finger: Finger) -> None:
    before = Image.open(io.BytesIO(finger.raw("exec-out", "screencap -p")))
    assert before.size == (360, 640)
    assert before.tobytes() == finger.phone.call(lambda device: device.screenshot()).tobytes()
    finger.tap("icon_calculator")
    after = Image.open(io.BytesIO(finger.raw("exec-out", "screencap -p")))
    assert after.tobytes() != before.tobytes()
    assert "com.tarsjax.calculator" in finger.adb("shell", "dumpsys window")


def test_exit_codes_and_both_outputs_come_apart(finger: Finger) -> None:
    assert finger.adb("shell", "exit 7", status=7) == ""
    assert "not found" in finger.adb("shell", "nosuch", status=127)
    assert finger.adb("shell", "echo", "'a  b'", ";", "nosuch", "2>/dev/null", status=127) == "a  b\n"


@pytest.mark.parametrize("size", [0, 1, 65536, 5_000_001])
def test_files_go_there_and_back(finger: Finger, tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    source, back = tmp_path / "a file ä.bin", tmp_path / "back.bin"
    source.write_bytes(content)
    finger.adb("push", str(source), "/sdcard/Download/")
    finger.adb("pull", "/sdcard/Download/a file ä.bin", str(back))
    assert back.read_bytes() == content
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    assert finger.adb("shell", "md5sum '/sdcard/Download/a file ä.bin'").startswith(digest)


def test_a_folder_is_pushed_and_pulled(finger: Finger, tmp_path: Path) -> None:
    (tmp_path / "x" / "deep").mkdir(parents=True)
    (tmp_path / "x" / "deep" / "ü").write_text("one")
    finger.adb("push", str(tmp_path / "x"), "/sdcard/")
    finger.adb("pull", "/sdcard/x", str(tmp_path / "y"))
    assert (tmp_path / "y" / "deep" / "ü").read_text() == "one"
    assert "does not exist" in finger.adb("pull", "/sdcard/none", str(tmp_path), status=1)


def test_a_push_that_has_no_room_is_refused(finger: Finger, tmp_path: Path) -> None:
    finger.phone.call(lambda device: device.storage.write("/sdcard/full", bytes((256 << 20) - 10), 0))
    (tmp_path / "big").write_bytes(bytes(100_000))
    assert "No space left" in finger.adb("push", str(tmp_path / "big"), "/sdcard/big", status=1)
    finger.adb("shell", "rm /sdcard/full")
    finger.adb("push", str(tmp_path / "big"), "/sdcard/big")


def test_commands_read_their_input(finger: Finger) -> None:
    finger.adb("shell", "cat > /sdcard/in", given="grüße\n".encode())
    assert finger.adb("exec-out", "cat /sdcard/in") == "grüße\n"
    finger.adb("exec-in", "cat > /sdcard/in", given=bytes(300_000))
    assert wait_until(lambda: "300000" in finger.adb("shell", "wc -c /sdcard/in"))


def test_an_interactive_shell(finger: Finger) -> None:
    assert finger.adb("shell", given=b"pwd\nnosuch\necho done\nexit\n").splitlines()[0] == "/"


def test_what_a_stand_in_has_not_is_refused(finger: Finger) -> None:
    finger.adb("reboot", status=1)
    assert "unknown command" in finger.adb("shell", "am instrument x", status=255)


def test_text_of_input_has_the_limits_of_android(finger: Finger) -> None:
    finger.tap("icon_notes")
    finger.tap("new_note")
    finger.adb("shell", "input text 'a%sb'")
    assert "NullPointerException" in finger.adb("shell", "input text 'ä'", status=255)
    finger.tap("save")
    assert "title=a b," in finger.adb("shell", "content query --uri content://notes/notes")


def test_a_device_that_vanishes_in_the_middle_of_a_push(
    finger: Finger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, taken, in_the_middle = AdbStream.read_exactly, 0, threading.Event()

    async def read_a_megabyte(stream: AdbStream, count: int) -> bytes:
        nonlocal taken
        taken += count
        if taken > 1 << 20:
            in_the_middle.set()
            await asyncio.Event().wait()
        return await read(stream, count)

    monkeypatch.setattr(AdbStream, "read_exactly", read_a_megabyte)
    (tmp_path / "big").write_bytes(bytes(60 << 20))
    command = [
        "adb",
        "-P",
        str(finger.server.port),
        "-s",
        finger.phone.serial,
        "push",
        str(tmp_path / "big"),
        "/sdcard/",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as push:
        assert in_the_middle.wait(PATIENCE_S)
        finger.phone.close()
        push.communicate(timeout=PATIENCE_S)
        assert push.returncode != 0
    monkeypatch.undo()
    finger.adb("disconnect", finger.phone.serial, whole=False)  # a server keeps a line that is dead
    with StandIn(finger.phone.device, port=finger.phone.port) as back:
        assert Finger(finger.server, back).adb("shell", "echo back") == "back\n"


def test_a_phone_whose_owner_refuses_is_unauthorized(adb_server: AdbServer) -> None:
    with StandIn(authorized=False) as phone:
        subprocess.run(
            ["adb", "-P", str(adb_server.port), "connect", phone.serial], capture_output=True, timeout=PATIENCE_S
        )
        listed = subprocess.run(
            ["adb", "-P", str(adb_server.port), "devices"], capture_output=True, timeout=PATIENCE_S, text=True
        )
        assert f"{phone.serial}\tunauthorized" in listed.stdout
        subprocess.run(
            ["adb", "-P", str(adb_server.port), "disconnect", phone.serial], capture_output=True, timeout=PATIENCE_S
        )


def test_a_server_ends_with_whoever_started_it(adb_server: AdbServer) -> None:
    code = "from tars_jax.sandbox.phone import AdbServer; s = AdbServer(); print(s.port, flush=True); input()"
    owner = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    port = int(owner.stdout.readline())
    assert answers("127.0.0.1", port)
    owner.kill()
    owner.communicate()
    assert wait_until(lambda: not answers("127.0.0.1", port)), "the server outlived its owner"


@pytest.mark.slow
def test_the_command_serves_until_a_signal(adb_server: AdbServer) -> None:
    command = [sys.executable, "-m", "tars_jax.sandbox.phone.stand_in", "--port=0", "--seed=2", "--size=300x500"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        serial = served.stdout.readline().split()[-1]
        adb = ["adb", "-P", str(adb_server.port)]
        subprocess.run([*adb, "connect", serial], check=True, capture_output=True, timeout=PATIENCE_S)
        shown = subprocess.run(
            [*adb, "-s", serial, "shell", "wm size"], capture_output=True, timeout=PATIENCE_S, text=True
        )
        assert shown.stdout == "Physical size: 300x500\n"
        served.send_signal(signal.SIGTERM)
        assert served.wait(PATIENCE_S) == 0
        subprocess.run([*adb, "disconnect", serial], capture_output=True, timeout=PATIENCE_S)
    bad = subprocess.run([*command[:3], "--size=big"], capture_output=True, text=True, timeout=PATIENCE_S)
    assert bad.returncode == 2 and "--size must be" in bad.stderr
