"""What can be checked of the browser sandbox without a browser."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import (
    BrowserConfig,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
    config,
    find_executable,
    is_key,
)
from tars_jax.sandbox.browser.events import InputDevices, InputEvent, volleys
from tars_jax.sandbox.browser.relay import Addressee, Messages


@pytest.mark.parametrize(
    ("field", "value"),
    [("browsers", 0), ("pages_per_browser", -1), ("width", 0), ("call_timeout_s", 0.0), ("screenshot", "jpeg")],
)
def test_impossible_settings_name_the_field(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=rf"browser\.{field} is {value!r}; it takes"):
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
    with pytest.raises(InputError, match="browser.executable is '/nowhere/chromium'"):
        find_executable("/nowhere/chromium")
    monkeypatch.setenv("TARS_JAX_CHROMIUM", str(bare_machine))
    with pytest.raises(InputError, match="TARS_JAX_CHROMIUM is"):
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
        groups = volleys(InputDevices().commands(events))
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
    with pytest.raises(InputError, match="key is 'Hyper'"):
        devices.command(KeyDown("Hyper"))
    with pytest.raises(InputError, match="mouse button is 'thumb'"):
        devices.command(MouseDown(1, 1, "thumb"))
    with pytest.raises(InputError, match="mouse position"):
        devices.command(MouseMove(math.nan, 1))
    with pytest.raises(InputError, match="the wheel turns by"):
        devices.command(Wheel(1, 1, 0, math.inf))
    with pytest.raises(InputError, match="mouse button is 'thumb'"):  # nothing of what came before it counts
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
