"""What the recorder keeps and what it does not, on a clock of the test's own."""

from __future__ import annotations

import dataclasses
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from tars_jax.annotation.in_situ.events import (
    Button,
    Discarded,
    Ended,
    FocusedWindow,
    KeyStroke,
    Paused,
    RecordedEvent,
    Resumed,
    ScreenFrame,
    Secret,
    Slept,
    SourceGone,
    Voice,
)
from tars_jax.annotation.in_situ.recording import PersonRecording
from tests.annotation.in_situ.simulated import DIARY, NOTES, SIGN_IN, Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "recording")


def kinds(recording: PersonRecording, *wanted: type[RecordedEvent]) -> list[RecordedEvent]:
    return [event for event in recording.events if isinstance(event, wanted)]


def typed(recording: PersonRecording) -> str:
    return "".join(event.text for event in recording.events if isinstance(event, KeyStroke) and event.down)


def content(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.rglob("*") if each.is_file())


def spoken(recording: PersonRecording) -> float:
    return sum(event.seconds for event in recording.events if isinstance(event, Voice))


def test_what_was_typed_clicked_seen_and_said_is_there(session: Session) -> None:
    session.type("abc")
    session.run(1.0, voice=True)
    session.fake.draw(9)
    session.click(5, 6)
    session.run(2.0)
    recording = session.stop()
    assert typed(recording) == "abc" and spoken(recording) == pytest.approx(1.0, abs=0.06)
    assert [(event.x, event.y, event.down) for event in recording.events if isinstance(event, Button)] == [
        (5, 6, True), (5, 6, False),
    ]  # fmt: skip
    colors = {int(np.asarray(Image.open(each))[0, 0, 0]) for each in (recording.path / "frames").iterdir()}
    assert {1, 9} <= colors
    times = [event.time for event in recording.events]
    assert times == sorted(times) and isinstance(recording.events[-1], Ended) and not recording.cut_off
    (piece,) = kinds(recording, Voice)
    samples, rate = soundfile.read(recording.file("voice", piece.file), dtype="int16")  # type: ignore[attr-defined]
    assert rate == 16_000 and set(samples) == {0x1005}


def test_a_window_that_is_not_allowed_leaves_nothing(session: Session) -> None:
    session.type("abc")
    session.run(0.3, voice=True)
    session.focus(NOTES, DIARY)
    session.run(0.1)
    session.type("zzz", DIARY)
    session.click(12, 12)
    session.scroll(12, 12)
    session.run(1.0, voice=True)
    session.focus(DIARY, NOTES)
    session.type("d")
    session.run(0.3, voice=True)
    recording = session.stop()
    assert typed(recording) == "abcd" and not kinds(recording, Button)
    assert b"iary" not in content(session.path)
    assert [(e.allowed, e.application, e.title) for e in recording.events if isinstance(e, FocusedWindow)] == [
        (True, "Notes", "my notes"), (False, "", ""), (True, "Notes", "my notes"),
    ]  # fmt: skip
    assert spoken(recording) < 0.6


def test_pictures_are_black_beside_allowed_windows_and_where_another_was_a_moment_ago(session: Session) -> None:
    session.click(5, 6)
    session.run(1.0)
    session.focus(DIARY, NOTES)  # it goes behind
    session.fake.draw(7)
    session.run(0.25)
    session.click(5, 6)
    session.run(2.0)
    session.focus(NOTES, DIARY)
    session.fake.draw(8)
    session.run(1.0)
    session.click(5, 6)
    session.run(0.05)
    session.focus(NOTES)
    session.fake.draw(9)
    session.run(0.3)
    session.click(5, 6)  # the picture that is wanted shows what the diary has left behind
    session.run(2.0)
    recording = session.stop()
    for each in (recording.path / "frames").iterdir():
        picture = np.asarray(Image.open(each))
        assert not picture[30:].any() and not picture[:, 40:].any()
        if picture[0, 0, 0] == 8:
            assert not picture[10:20, 10:20].any() and picture[9, 9].any()
    colors = {int(np.asarray(Image.open(each))[0, 0, 0]) for each in (recording.path / "frames").iterdir()}
    assert colors == {1, 7, 8, 9}


def test_a_secret_is_dropped_with_what_led_to_it(session: Session) -> None:
    session.type("abc")
    session.run(1.0, voice=True)
    session.type("pw")  # before anybody could tell
    session.run(0.1, voice=True)
    session.fake.hidden = True
    session.fake.draw(77)
    session.type("word")
    session.click(5, 6)
    session.run(1.0, voice=True)
    session.type("!")
    session.fake.hidden = False  # the end comes with the last key
    session.run(0.5)
    session.fake.draw(9)
    session.type("def")
    recording = session.stop()
    assert typed(recording) == "abcdef"
    begin, end = kinds(recording, Secret)
    assert (begin.begins, end.begins) == (True, False)  # type: ignore[attr-defined]
    assert not [
        e for e in recording.events if begin.time - 0.4 < e.time <= end.time and isinstance(e, KeyStroke | ScreenFrame)
    ]
    assert all(np.asarray(Image.open(each))[0, 0, 0] != 77 for each in (recording.path / "frames").iterdir())
    assert spoken(recording) < 1.0


@pytest.mark.parametrize("by", ["title", "person"])
def test_a_secret_by_a_windows_title_or_by_the_person(session: Session, by: str) -> None:
    session.type("abc")
    session.run(1.0)
    if by == "title":
        session.focus(SIGN_IN)
    else:
        session.recorder.command("secret")
    session.run(0.1)
    session.type("zzz", SIGN_IN if by == "title" else NOTES)
    session.fake.draw(77)
    session.run(1.0, voice=True)
    if by == "title":
        session.focus(NOTES)
    else:
        session.recorder.command("secret")
    session.fake.draw(9)
    session.run(1.0)
    session.type("def")
    recording = session.stop()
    assert typed(recording) == "abcdef" and not kinds(recording, Voice) and b"Sign in" not in content(session.path)
    assert all(np.asarray(Image.open(each))[0, 0, 0] != 77 for each in (recording.path / "frames").iterdir())
    assert session.fake.states[:3] == ["recording", "secret", "recording"]


def test_pause_and_resume(session: Session) -> None:
    session.type("abc")
    session.run(1.0)
    session.recorder.command("pause")
    session.type("zzz")
    session.click(5, 6)
    session.run(1.0, voice=True)
    session.type("yyy")
    session.recorder.command("resume")
    session.fake.time += 0.01
    session.type("def")
    recording = session.stop()
    assert typed(recording) == "abcdef" and not kinds(recording, Voice, Button)
    assert [type(event) for event in kinds(recording, Paused, Resumed)] == [Paused, Resumed]
    assert "paused" in session.fake.states


def test_what_is_taken_back_is_gone_from_the_disk(session: Session) -> None:
    session.fake.draw(5)
    session.type("Q")
    session.run(60.0)
    session.focus(dataclasses.replace(NOTES, title="a new title"))
    session.fake.draw(77)
    session.type("W")
    session.run(30.0, voice=True)
    session.recorder.command("discard", "1")
    session.run(0.3)
    session.fake.draw(9)
    session.type("E")
    recording = session.stop()
    assert typed(recording) == "QE"
    assert b'"W"' not in content(session.path) and not list((session.path / "voice").iterdir())
    colors = {int(np.asarray(Image.open(each))[0, 0, 0]) for each in (recording.path / "frames").iterdir()}
    assert 77 not in colors and 5 in colors
    (back,) = kinds(recording, Discarded)
    assert back.time - back.since == pytest.approx(60)  # type: ignore[attr-defined]
    last = kinds(recording, FocusedWindow)[-1]
    assert last.time >= back.time and last.title == "a new title"  # type: ignore[attr-defined]


def test_a_key_that_is_held_into_another_window_is_let_go(session: Session) -> None:
    down, up = (KeyStroke(time=session.fake.time + d, key="Alt_L", down=not d) for d in (0, 1))
    from tars_jax.annotation.in_situ.sources import HandInput

    session.fake.inputs.append(HandInput(down, NOTES))
    session.run(0.5)
    session.focus(NOTES, DIARY)
    session.run(0.5)
    session.fake.inputs.append(HandInput(up, DIARY))
    recording = session.stop()
    assert [(event.key, event.down) for event in recording.events if isinstance(event, KeyStroke)] == [
        ("Alt_L", True), ("Alt_L", False),
    ]  # fmt: skip


def test_an_application_is_allowed_while_it_runs(tmp_path: Path) -> None:
    said: list[str] = []
    session = Session(tmp_path / "recording", noticed=said.append)
    session.focus(NOTES, DIARY)
    session.run(0.5)
    assert said == ["Diary is not recorded; `allow Diary` allows it."]
    session.recorder.command("allow", "Diary")
    session.run(1.0)
    session.type("abc", DIARY)
    recording = session.stop()
    assert typed(recording) == "abc" and recording.head.allowed == ("Notes", "Diary")


def test_a_microphone_that_vanishes_is_told_and_the_rest_goes_on(session: Session) -> None:
    session.run(1.0, voice=True)
    session.fake.unplugged = True
    session.run(0.5)
    session.type("abc")
    recording = session.stop()
    (lost,) = kinds(recording, SourceGone)
    assert lost.source == "microphone" and "unplugged" in lost.message  # type: ignore[attr-defined]
    assert typed(recording) == "abc" and spoken(recording) == pytest.approx(1.0, abs=0.06)


def test_a_lid_that_was_closed_is_told(session: Session) -> None:
    session.type("abc")
    session.run(1.0)
    session.fake.asleep += 3600
    session.run(1.0)
    recording = session.stop()
    (slept,) = kinds(recording, Slept)
    assert slept.seconds == pytest.approx(3600) and recording.events[-1].time < 10  # type: ignore[attr-defined]


def test_it_ends_well_at_its_limit(tmp_path: Path) -> None:
    session = Session(tmp_path / "recording", limit=100_000)
    for _ in range(200):
        session.run(1.0, voice=True)
        if session.recorder.ended:
            break
    assert "limit of 0 MB" in session.recorder.ended
    from tars_jax.annotation.in_situ.recording import read_recording

    recording = read_recording(session.path)
    assert not recording.cut_off and kinds(recording, SourceGone) and spoken(recording) > 0.5
    assert len(content(session.path)) <= 100_000


def test_a_persons_day_takes_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight hours: words, clicks and pictures each two minutes. What a disk takes to sync is left out."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    session = Session(tmp_path / "recording")
    tracemalloc.start()
    after_an_hour = 0
    for part in range(8 * 30):
        session.fake.draw(part % 250 + 1)
        session.type("a few words " * 4)
        session.click(part % 40, part % 30)
        session.run(1.5)
        session.fake.time += 118
        session.recorder.turn()
        if part == 30:
            after_an_hour = tracemalloc.get_traced_memory()[0]
    at_the_end = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    recording = session.stop()
    assert at_the_end < after_an_hour + 1_000_000
    assert len(typed(recording)) == 8 * 120 * 12 and len(kinds(recording, ScreenFrame)) >= 8 * 30
    assert recording.events[-1].time > 8 * 3600 * 0.95
