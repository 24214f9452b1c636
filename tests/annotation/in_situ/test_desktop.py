"""The recorder on a real X screen: what hands do in an allowed window is there, what they do elsewhere nowhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from tars_jax.annotation.in_situ.events import Button, Ended, Event, Frame, Key, Moved, Secret, Window
from tars_jax.annotation.in_situ.recording import Recording
from tests.annotation.in_situ.conftest import Running, Stage

pytestmark = pytest.mark.multiprocess

Begin = Callable[..., Running]
FORBIDDEN = (255, 0, 255)  # the color of the window that is not allowed


def typed(events: tuple[Event, ...]) -> str:
    return "".join(event.text for event in events if isinstance(event, Key) and event.down)


def all_bytes(recording: Recording) -> bytes:
    return b"".join(path.read_bytes() for path in recording.path.rglob("*") if path.is_file())


def pictures(recording: Recording) -> list[np.ndarray]:
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
    (window,) = [event for event in events if isinstance(event, Window)]
    assert (window.application, window.title, window.allowed) == ("Allowed", "my notes", True)
    assert typed(events) == "Hi ä!"
    assert [(e.button, e.down, e.x, e.y) for e in events if isinstance(e, Button)] == [
        ("left", True, 200, 200), ("left", False, 200, 200),
    ]  # fmt: skip
    downs = [event.key for event in events if isinstance(event, Key) and event.down]
    assert downs[-2:] == ["Control_L", "u"] and any(isinstance(event, Moved) for event in events)
    assert isinstance(events[-1], Ended) and not recording.cut_off
    assert any(has(each, (0, 255, 0)) for each in pictures(recording))


def test_the_frame_of_a_click_is_the_one_before_the_hand_moved(stage: Stage, begin: Begin) -> None:
    stage.terminal("Allowed", "my notes", "60x10+100+100", "#00ff00")
    running = begin("allowed")
    stage.click(200, 200)
    running.turn(1.0)
    recording = running.stop()
    first_move = next(event for event in recording.events if isinstance(event, Moved))
    frames = [event for event in recording.events if isinstance(event, Frame)]
    before = [frame for frame in frames if frame.time < first_move.time]
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
    assert [event.title for event in recording.events if isinstance(event, Window)] == ["my notes", "", "my notes"] or [
        event.allowed for event in recording.events if isinstance(event, Window)
    ].count(False) >= 1
    content = all_bytes(recording)
    assert b"my notes" in content and b"diary" not in content and b"orbidden" not in content
    shown = pictures(recording)
    assert any(has(each, (0, 255, 0)) for each in shown)
    assert not any(has(each, FORBIDDEN) for each in shown)


def test_no_picture_shows_what_a_window_left_behind(stage: Stage, begin: Begin) -> None:
    stage.terminal("Allowed", "my notes", "60x10+100+100", "#00ff00")
    stage.terminal("Forbidden", "the diary", "40x10+250+150", "#ff00ff")
    running = begin("allowed")
    for _ in range(4):
        stage.focus("my notes")
        stage.type("x")
        running.turn(0.3)
        stage.focus("the diary")
        running.turn(0.3)
    recording = running.stop()
    assert not any(has(each, FORBIDDEN) for each in pictures(recording))


def test_a_password_that_a_terminal_does_not_show_is_not_recorded(stage: Stage, begin: Begin) -> None:
    from tars_jax.annotation.in_situ.focus import Watchers

    asking = "read -s -p 'Your secret? ' word; echo; echo thanks; read rest"
    stage.terminal("Allowed", "my notes", "60x10+100+100", "#00ff00", "bash", "-c", asking)
    running = begin("allowed", focus=Watchers(None))
    running.turn(0.5)
    stage.type("Zanzibar\n")
    running.turn(0.3)
    stage.type("good")
    running.turn(1.0)
    recording = running.stop()
    assert "Z" not in typed(recording.events) and "bar" not in typed(recording.events)
    assert typed(recording.events).endswith("good")
    assert [event.begins for event in recording.events if isinstance(event, Secret)] == [True, False]
