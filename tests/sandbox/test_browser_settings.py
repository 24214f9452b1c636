"""What can be checked of the browser sandbox without a browser."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import (
    BrowserConfig,
    BrowserManager,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
    chromium_flags,
    config,
    find_executable,
    is_key,
)
from tars_jax.sandbox.browser.chromium_flags import sandbox_environment, sandbox_flags
from tars_jax.sandbox.browser.events import InputDevices, InputEvent, event_batches
from tars_jax.sandbox.browser.launch import launch_failure
from tars_jax.sandbox.browser.relay import Addressee, Messages


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("browsers", 0),
        ("pages_per_browser", -1),
        ("width", 0),
        ("width", 8193),
        ("call_timeout_s", 0.0),
        ("screenshot", "jpeg"),
    ],
)
def test_impossible_settings_name_the_field(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"browser\.{field} must be .*; got {value!r}"):
        BrowserConfig(**{field: value})


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Chromium: nothing on the PATH, nothing in the caches."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    monkeypatch.delenv("TARS_JAX_CHROMIUM", raising=False)
    monkeypatch.setattr(config, "REPOSITORY", tmp_path / "repository")
    return tmp_path


def test_no_chromium_is_an_input_error(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no Chromium found"):
        find_executable()
    with pytest.raises(InputError, match="browser.executable must be .*; got '/nowhere/chromium'"):
        find_executable("/nowhere/chromium")
    monkeypatch.setenv("TARS_JAX_CHROMIUM", str(bare_machine))
    with pytest.raises(InputError, match="TARS_JAX_CHROMIUM must be the path"):
        find_executable()


def test_headless_shells_come_before_full_browsers(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = program(bare_machine / "bin" / "chromium")
    assert find_executable() == full
    installed = program(bare_machine / "playwright/chromium_headless_shell-1200/linux/chrome-headless-shell")
    assert find_executable() == installed
    cached = program(bare_machine / "repository/.cache/chromium/node_modules/headless_shell")
    assert find_executable() == cached
    system = program(bare_machine / "bin" / "chromium-headless-shell")
    assert find_executable() == system
    monkeypatch.setenv("TARS_JAX_CHROMIUM", str(cached))
    assert find_executable() == cached
    assert find_executable(str(full)) == full


def test_the_sandbox_of_chromium_is_as_the_switch_says(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default root has none, and everybody else has it."""
    for user, value, flags in ((0, "", ["--no-sandbox"]), (1000, "", []), (0, "1", []), (1000, "0", ["--no-sandbox"])):
        monkeypatch.setattr("os.geteuid", lambda user=user: user)
        monkeypatch.setenv("TARS_JAX_CHROMIUM_SANDBOX", value)
        assert sandbox_flags() == flags
    monkeypatch.setenv("TARS_JAX_CHROMIUM_SANDBOX", "off")
    with pytest.raises(InputError, match="TARS_JAX_CHROMIUM_SANDBOX must be 0 or 1; got 'off'"):
        BrowserManager(BrowserConfig(executable=str(program(bare_machine / "chromium"))))


def test_the_setuid_helper_is_offered_where_it_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHROME_DEVEL_SANDBOX", raising=False)
    helper = tmp_path / "chrome-sandbox"
    monkeypatch.setattr(chromium_flags, "HELPER", helper)
    assert sandbox_environment() == {}
    program(helper)
    assert sandbox_environment() == {}  # without the setuid bit it would end the browser
    helper.chmod(0o4755)
    offered = {"CHROME_DEVEL_SANDBOX": str(helper)} if os.geteuid() == 0 else {}  # another user's does not help
    assert sandbox_environment() == offered
    monkeypatch.setenv("CHROME_DEVEL_SANDBOX", "/opt/mine")
    assert sandbox_environment() == {}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ([], None),
        (["[7:7:1125/1.2:FATAL:broker.cc(2)] First cause.", "#0 0x55d0 <unknown>", "Later words."], "First cause."),
        (["It cannot start.", "[7/1.2:ERROR:dbus/bus.cc:4] No bus", "  r8: 00007f0000000000"], "It cannot start."),
        (["[7/1.2:WARNING:a.cc:4] Careful", "Received signal 11 SEGV_MAPERR", "it ended with exit code 1"],
         "Received signal 11 SEGV_MAPERR"),
        (["[7/1.2:ERROR:dbus/bus.cc:4] No bus", "it ended with signal SIGKILL"], "it ended with signal SIGKILL"),
        (["/a/chromium: error while loading shared libraries: libnss3.so: cannot open shared object file: No such file",
          "it ended with exit code 127"],
         "/a/chromium: error while loading shared libraries: libnss3.so: cannot open shared object file: No such file; "
         "install what it needs"),
        (["OSError: [Errno 8] Exec format error: '/a/chromium'"],
         "OSError: [Errno 8] Exec format error: '/a/chromium'; take a Chromium that was built for this processor"),
        (["[7/1.2:ERROR:z.cc:9] Running as root without --no-sandbox is not supported. See https://crbug.com/638180."],
         "Running as root without --no-sandbox is not supported; unset TARS_JAX_CHROMIUM_SANDBOX"),
        (["[7/1.2:ERROR:f.cc:9] mkdir failed: No space left on device (28)"],
         "mkdir failed: No space left on device (28); free some space"),
    ],
)  # fmt: skip
def test_a_launch_failure_has_the_browsers_reason(written: list[str], reason: str | None) -> None:
    log = "\n".join(["Target closed", "Call log:", "  - <launched> pid=7", *(f"  - [pid=7][err] {x}" for x in written)])
    found = launch_failure(Exception(f"{log}\n  - [pid=7] <kill>"))
    assert found is None if reason is None else found and found.startswith(reason)


def test_a_drag_tells_which_button_is_held() -> None:
    devices = InputDevices()
    held = [
        devices.command(event)[1]["buttons"]
        for event in (MouseMove(1, 1), MouseDown(1, 1), MouseDown(1, 1, "right"), MouseMove(2, 2), MouseUp(2, 2))
    ]
    assert held == [0, 1, 3, 3, 2]
    commands = devices.at_rest()
    assert [params["type"] for _, params in commands] == ["mouseReleased", "mouseMoved"]
    assert commands[-1][1]["buttons"] == 0


def test_a_click_is_sent_at_once_and_nothing_else_is() -> None:
    def kinds(*events: InputEvent) -> list[list[str]]:
        groups = event_batches(InputDevices().commands(events))
        return [[params["type"].removeprefix("mouse") for _, params in group] for group in groups]

    click: list[InputEvent] = [MouseDown(1, 1), MouseUp(1, 1)]
    assert kinds(MouseMove(1, 1), *click, *click) == [["Moved", "Pressed", "Released", "Pressed", "Released"]]
    assert kinds(MouseMove(1, 1), MouseMove(2, 2), *click) == [["Moved"], ["Moved", "Pressed", "Released"]]
    assert kinds(MouseDown(1, 1), MouseMove(2, 2), MouseUp(2, 2)) == [["Pressed"], ["Moved"], ["Released"]]
    assert kinds(MouseMove(1, 1), Wheel(1, 1, 0, 9), MouseDown(1, 1)) == [["Moved"], ["Wheel"], ["Pressed"]]
    assert kinds(KeyDown("a"), KeyUp("a"), MouseDown(1, 1)) == [["keyDown"], ["keyUp"], ["Pressed"]]
    assert kinds() == []


def test_keys_type_what_a_keyboard_types() -> None:
    devices = InputDevices()

    def down(key: str) -> tuple[Any, ...]:
        params = devices.command(KeyDown(key))[1]
        return (
            params["type"],
            params["key"],
            params["code"],
            params.get("text"),
            params["modifiers"],
            params["autoRepeat"],
        )

    assert down("a") == ("keyDown", "a", "KeyA", "a", 0, False)
    assert down("a") == ("keyDown", "a", "KeyA", "a", 0, True)
    assert down("Enter") == ("keyDown", "Enter", "Enter", "\r", 0, False)
    assert down("ArrowLeft") == ("rawKeyDown", "ArrowLeft", "ArrowLeft", None, 0, False)
    assert down("Shift") == ("rawKeyDown", "Shift", "ShiftLeft", None, 8, False)
    assert down("2") == ("keyDown", "@", "Digit2", "@", 8, False)
    assert down("Control") == ("rawKeyDown", "Control", "ControlLeft", None, 10, False)
    assert down("c") == ("rawKeyDown", "C", "KeyC", None, 10, False)
    assert devices.command(KeyUp("Shift"))[1]["modifiers"] == 2


def test_what_no_device_can_do_is_an_input_error() -> None:
    devices = InputDevices()
    with pytest.raises(InputError, match="key must be .*; got 'Hyper'"):
        devices.command(KeyDown("Hyper"))
    with pytest.raises(InputError, match="mouse button must be .*; got 'thumb'"):
        devices.command(MouseDown(1, 1, "thumb"))
    with pytest.raises(InputError, match="mouse position must be"):
        devices.command(MouseMove(math.nan, 1))
    with pytest.raises(InputError, match="wheel must be two finite numbers"):
        devices.command(Wheel(1, 1, 0, math.inf))
    with pytest.raises(
        InputError, match="mouse button must be .*; got 'thumb'"
    ):  # nothing of what came before it counts
        devices.commands([MouseDown(1, 1), KeyDown("Shift"), MouseDown(1, 1, "thumb")])
    assert is_key("a") and is_key("F12") and not is_key("hyper") and not is_key("")
    assert devices.at_rest()[0][1]["type"] == "mouseMoved"  # what was refused is not held


def test_the_relay_cuts_messages_wherever_a_chunk_ends() -> None:
    stream = b'{"id":1}\0' + b"x" * 50 + b"\0" + b"\0last\0rest"
    for size in (1, 2, 7, 1000):
        messages = Messages()
        cut = [message for i in range(0, len(stream), size) for message in messages.cut(stream[i : i + size])]
        assert cut == [b'{"id":1}\0', b"x" * 50 + b"\0", b"\0", b"last\0"]


def test_the_relay_knows_whose_answer_it_is() -> None:
    is_manager = Addressee().is_manager
    assert is_manager(b'{"id":1073741824,"result":{}}\0') and not is_manager(b'{"id":12,"result":{}}\0')
    assert not is_manager(b'{"method":"Page.loadEventFired","params":{"id":1073741824}}\0')
    assert is_manager(b'{"error":{"code":-32001},"id":1073741825}\0')


def test_the_relay_knows_whose_session_an_event_is_of() -> None:
    is_manager = Addressee().is_manager
    mine, below, other = (letter * 32 for letter in ("A", "B", "C"))

    def event(session: str, method: str = "Page.loadEventFired", params: str = "{}") -> bool:
        return is_manager(f'{{"method":"{method}","params":{params},"sessionId":"{session}"}}\0'.encode())

    assert not event(mine)
    assert is_manager(f'{{"id":1073741824,"result":{{"sessionId":"{mine}"}},"sessionId":"{other}"}}\0'.encode())
    assert not is_manager(f'{{"id":7,"result":{{"sessionId":"{other}"}}}}\0'.encode())
    assert event(mine) and not event(below) and not event(other)
    assert not event(other, "Target.attachedToTarget", f'{{"sessionId":"{below}"}}') and not event(below)
    assert event(mine, "Target.attachedToTarget", f'{{"sessionId":"{below}"}}') and event(below)


def test_the_sandbox_does_not_import_jax() -> None:
    script = "import sys, tars_jax.sandbox.browser; sys.exit('jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
