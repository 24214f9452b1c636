"""The recorder on a real X screen: what hands do in an allowed window is there, what they do elsewhere nowhere."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import (
    Button,
    Ended,
    FocusedWindow,
    KeyStroke,
    Moved,
    RecordedEvent,
    ScreenFrame,
    Secret,
)
from tars_jax.annotation.in_situ.recording import PersonRecording
from tars_jax.sandbox.browser.events import KeyDown, KeyUp
from tests.annotation.in_situ.conftest import Running, Stage
from tests.waiting import wait_until

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]

Begin = Callable[..., Running]
FORBIDDEN = (255, 0, 255)  # the color of the window that is not allowed


def typed(events: tuple[RecordedEvent, ...]) -> str:
    return "".join(event.text for event in events if isinstance(event, KeyStroke) and event.down)


def all_bytes(recording: PersonRecording) -> bytes:
    return b"".join(path.read_bytes() for path in recording.path.rglob("*") if path.is_file())


def pictures(recording: PersonRecording) -> list[np.ndarray]:
    return [np.asarray(Image.open(path)) for path in sorted((recording.path / "frames").iterdir())]


def has(picture: np.ndarray, color: tuple[int, int, int]) -> bool:
    return bool((picture == color).all(-1).any())


def test_what_hands_do_in_an_allowed_window_is_recorded(stage: Stage, begin: Begin) -> None:
    stage.terminal("Allowed", "my notes", "60x10+100+100", "#00ff00")
    running = begin("allowed")
    stage.click(200, 200)
    running.turn()
    stage.type("Hi ä!")
    running.turn()
    stage.press("Control", "u")
    running.turn(1.0)
    recording = running.stop()
    events = recording.events
    (window,) = [event for event in events if isinstance(event, FocusedWindow)]
    assert (window.application, window.title, window.allowed) == ("Allowed", "my notes", True)
    assert typed(events) == "Hi ä!"
    assert [(e.button, e.down, e.x, e.y) for e in events if isinstance(e, Button)] == [
        ("left", True, 200, 200), ("left", False, 200, 200),
    ]  # fmt: skip
    downs = [event.key for event in events if isinstance(event, KeyStroke) and event.down]
    assert downs[-2:] == ["Control_L", "u"] and any(isinstance(event, Moved) for event in events)
    assert isinstance(events[-1], Ended) and not recording.cut_off
    # The frame of a click is the one before the hand moved.
    first_move = next(event for event in events if isinstance(event, Moved))
    before = [event for event in events if isinstance(event, ScreenFrame) and event.time < first_move.time]
    assert before and has(np.asarray(Image.open(recording.file("frames", before[-1].file))), (0, 255, 0))


def test_nothing_of_a_forbidden_window_is_in_the_recordings_bytes(stage: Stage, begin: Begin) -> None:
    stage.terminal("Allowed", "my notes", "60x10+100+100", "#00ff00")
    stage.terminal("Forbidden", "the diary", "40x10+250+150", "#ff00ff")  # above the other one
    running = begin("allowed")
    stage.focus("my notes")
    running.turn(0.3)
    stage.type("before")
    running.turn(0.3)
    stage.focus("the diary")
    stage.click(400, 200)
    stage.type("Zanzibar")
    stage.press("Enter")
    running.turn(0.3)
    stage.focus("my notes")  # both at once are read: keys belong to windows all the same
    stage.type("after")
    running.turn(1.0)
    recording = running.stop()
    assert typed(recording.events) == "beforeafter"
    titles = [event.title for event in recording.events if isinstance(event, FocusedWindow)]
    assert titles[-1] == "my notes" and set(titles) == {"my notes", ""}
    content = all_bytes(recording)
    assert b"my notes" in content and b"diary" not in content and b"orbidden" not in content
    shown = pictures(recording)
    assert any(has(each, (0, 255, 0)) for each in shown)
    assert not any(has(each, FORBIDDEN) for each in shown)


def test_a_password_that_a_terminal_does_not_show_is_not_recorded(stage: Stage, begin: Begin) -> None:
    from tars_jax.annotation.in_situ.secret_input import SecretWatchers

    asking = "read -s -p 'Your secret? ' word; echo; echo thanks; read rest"
    stage.terminal("Allowed", "my notes", "60x10+100+100", "#00ff00", "bash", "-c", asking)
    running = begin("allowed", focus=SecretWatchers(None))
    running.turn(0.5)
    stage.type("Zanzibar\n")
    running.turn(0.3)
    stage.type("good")
    running.turn(1.0)
    recording = running.stop()
    assert "Z" not in typed(recording.events) and "bar" not in typed(recording.events)
    assert typed(recording.events).endswith("good")
    assert [event.begins for event in recording.events if isinstance(event, Secret)] == [True, False]


@pytest.fixture
def browser(stage: Stage) -> Iterator[Any]:
    """A window titled "notes" which, as Firefox has it, has the focus on another one inside of it."""
    from Xlib import X, display

    shown = display.Display(stage.env["DISPLAY"])
    outer = shown.screen().root.create_window(100, 100, 400, 300, 0, X.CopyFromParent, background_pixel=0x00FF00)
    inner = outer.create_window(0, 0, 400, 300, 0, X.CopyFromParent, event_mask=X.KeyPressMask)
    outer.set_wm_class("browser", "Browser")
    outer.set_wm_name("notes")
    outer.map()
    inner.map()
    shown.sync()
    wait_until(lambda: [each for each in stage.run(stage.desktop.windows()) if each.title == "notes"])
    stage.focus("notes")
    inner.set_input_focus(X.RevertToParent, X.CurrentTime)
    shown.sync()
    yield outer
    shown.close()


def test_a_title_that_changes_is_noticed_where_the_focus_is_on_a_window_inside(
    stage: Stage, begin: Begin, browser: Any
) -> None:
    running = begin("browser")
    kept = running.path / "events.jsonl"

    def is_called(title: str) -> None:
        browser.set_wm_name(title)
        browser.get_wm_name()  # the server has heard of it

    stage.type("open")
    running.turn(0.8)
    is_called("Sign in")
    running.until(lambda: b'"begins":true' in kept.read_bytes())
    stage.type("Zanzibar")
    running.turn(0.8)
    is_called("notes again")
    running.until(lambda: b'"begins":false' in kept.read_bytes())
    stage.type("more")
    running.turn(0.8)
    recording = running.stop()
    assert typed(recording.events) == "openmore"
    assert [event.begins for event in recording.events if isinstance(event, Secret)] == [True, False]


def test_what_the_window_manager_draws_is_no_application(stage: Stage) -> None:
    from tars_jax.annotation.in_situ.x11.screen import XScreen

    stage.terminal("Allowed", "my notes", "60x10+100+100", "#00ff00")
    stage.terminal("Other", "more notes", "60x10+100+300", "#00ff00")
    screen = XScreen("", {})
    try:
        stage.act(KeyDown("Alt"), KeyDown("Tab"), KeyUp("Tab"))  # a list of windows is there until Alt is let go
        shown = screen.windows().shown
    finally:
        stage.act(KeyUp("Alt"))
        screen.close()
    assert len(shown) > 2 and {window.application for window in shown} - {""} == {"Allowed", "Other"}


@pytest.fixture
def bus(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session's bus, by which AT-SPI starts."""
    if shutil.which("dbus-daemon") is None or not Path("/usr/share/dbus-1/services/org.a11y.Bus.service").exists():
        pytest.skip("dbus-daemon and at-spi2-core are not installed")
    try:
        for library in ("libgtk-3.so.0", "libatspi.so.0"):
            ctypes.CDLL(library)
    except OSError as missing:
        pytest.skip(f"{missing}")
    with subprocess.Popen(
        ["dbus-daemon", "--session", "--print-address", "--nofork"],
        env={**stage.env, "NO_AT_BRIDGE": "0"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as daemon:  # fmt: skip
        assert daemon.stdout is not None
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", daemon.stdout.readline().strip())
        monkeypatch.setenv("NO_AT_BRIDGE", "0")
        yield
        daemon.terminate()


@pytest.mark.full  # beside other tests the program's first tree has not come once in 150 s
def test_a_field_for_a_password_is_known_by_accessibility(stage: Stage, begin: Begin, bus: None) -> None:
    from tars_jax.annotation.in_situ.secret_input import Accessible, SecretWatchers

    accessible = Accessible()
    running = begin("form", focus=SecretWatchers(accessible))
    form = Path(__file__).with_name("gtk_form.py")
    env = {**stage.env, "NO_AT_BRIDGE": "0"}
    with subprocess.Popen([sys.executable, str(form)], env=env) as program, contextlib.ExitStack() as ends:
        ends.callback(program.kill)
        events = running.path / "events.jsonl"
        running.until(lambda: b"a form" in events.read_bytes() and list(running.path.glob("accessibility/*.json")))
        stage.type("abc")
        running.turn(1.0)
        stage.press("Tab")
        running.until(lambda: accessible.is_secret)
        running.turn(0.2)
        stage.type("Zanzibar")
        running.turn(0.3)
        stage.press("Tab")
        running.until(lambda: not accessible.is_secret)
        running.turn(0.2)
        stage.type("def")
        running.turn(0.6)
    accessible.close()
    recording = running.stop()
    assert typed(recording.events).replace("\t", "") == "abcdef"
    assert [event.begins for event in recording.events if isinstance(event, Secret)][:2] == [True, False]
    (tree,) = (recording.path / "accessibility").iterdir()
    assert b"password text" in tree.read_bytes()
    assert b"Zan" not in all_bytes(recording)


def test_keys_of_gtk_come_by_another_way_and_belong_to_their_window_too(stage: Stage, begin: Begin) -> None:
    if "editor" not in stage.desktop.applications:
        pytest.skip("no editor is installed: launch/desktop.sh installs it")
    stage.editor()
    running = begin("mousepad")
    stage.type("Hi")
    running.turn(0.2)
    stage.press("Alt", "Tab")  # the window manager's: it stays with the window that had the focus
    running.turn(0.6)
    recording = running.stop()
    assert typed(recording.events) == "Hi"
    downs = [event.key for event in recording.events if isinstance(event, KeyStroke) and event.down]
    assert downs[-2:] == ["Alt_L", "Tab"]


def test_the_sign_is_seen_by_the_person_and_in_no_picture(stage: Stage, begin: Begin) -> None:
    stage.terminal("Allowed", "my notes", "200x60+0+0", "#00ff00")  # all of the screen
    running = begin("allowed")
    running.turn(1.0)
    assert has(stage.run(stage.desktop.screenshot()).pixels, (0xD0, 0x30, 0x30))
    stage.click(300, 300)
    running.turn(1.0)
    shown = pictures(running.stop())
    assert shown and not any(has(each, (0xD0, 0x30, 0x30)) for each in shown)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_jax.annotation.in_situ.sources import require_library

    monkeypatch.setitem(sys.modules, "mss", None)
    with pytest.raises(InputError, match=r"must have mss for pictures .* pip install 'tars_jax\[record\]'"):
        require_library("mss", "pictures of the screen")
