"""What a copy for others lacks, and that the recording stays as it was."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Frame, Key, Voice, Window
from tars_jax.annotation.in_situ.exporting import export
from tars_jax.annotation.in_situ.recording import Recording, read_recording
from tars_jax.annotation.in_situ.redaction import BLOCK, Rectangle, matches, patterns
from tests.annotation.in_situ.simulated import Session


def typed(recording: Recording) -> str:
    return "".join(event.text for event in recording.events if isinstance(event, Key) and event.down)


def content(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file())


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session(tmp_path / "recording")
    session.click(5, 6)
    session.run(1.0, voice=True)
    return session


def test_a_mail_address_is_a_block_and_its_window_black_from_then_on(session: Session, tmp_path: Path) -> None:
    session.type("to ann.lee@example.org now")
    session.run(2.0)
    session.fake.draw(9)
    session.click(5, 6)
    recording = session.stop()
    before = hashlib.sha256(content(session.path)).digest()
    done = export(recording, tmp_path / "copy", patterns())
    copy = read_recording(tmp_path / "copy")
    assert typed(copy) == f"to {BLOCK} now" and (done.matches, copy.cut_off) == (1, False)
    assert not any(isinstance(event, Voice) for event in copy.events)
    assert not list((tmp_path / "copy" / "voice").iterdir())
    downs = [event.key for event in copy.events if isinstance(event, Key) and event.down]
    ups = [event.key for event in copy.events if isinstance(event, Key) and not event.down]
    assert sorted(downs) == sorted(ups)
    first, *_, last = [event for event in copy.events if isinstance(event, Frame)]
    assert np.asarray(Image.open(copy.file("frames", first.file)))[:30, :40].all()
    assert not np.asarray(Image.open(copy.file("frames", last.file))).any()
    assert hashlib.sha256(content(session.path)).digest() == before
    assert "1 typed texts" in copy.head.redaction


@pytest.mark.parametrize(
    "text",
    ["ann@example.org", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "ghp_abcdefghijklmnop1234",
     "password: hunter2", "+49 30 1234567", "eyJhbGciOi.eyJzdWIiOi.c2ln"],
)  # fmt: skip
def test_patterns_that_are_searched_for(session: Session, tmp_path: Path, text: str) -> None:
    session.type(f"see {text}")
    copy = export(session.stop(), tmp_path / "copy", patterns())
    assert copy.matches == 1 and typed(read_recording(copy.path)).strip() in (f"see {BLOCK}", f"see {BLOCK} 00")


def test_what_was_typed_and_erased_is_searched_too(session: Session, tmp_path: Path) -> None:
    session.type("ann@example.or")
    for _ in range(14):
        for down in (True, False):
            session.fake.inputs += [_backspace(session, down)]
    session.type("bob")
    copy = export(session.stop(), tmp_path / "copy", patterns())
    assert typed(read_recording(copy.path)) in (f"{BLOCK}bob", BLOCK)


def test_ordinary_words_stay(session: Session) -> None:
    session.type("Book a table for 4 on 2026-11-29 at 19:30, room 12")
    assert matches(session.stop().events, patterns()) == []


def test_rectangles_for_all_time_and_for_some(session: Session, tmp_path: Path) -> None:
    session.fake.draw(9)
    session.click(5, 6)
    recording = session.stop()
    frames = [event for event in recording.events if isinstance(event, Frame)]
    black = [Rectangle((0, 0, 5, 5)), Rectangle((8, 8, 4, 4), since=frames[-1].time - 0.01)]
    export(recording, tmp_path / "copy", patterns(), rectangles=black)
    copy = read_recording(tmp_path / "copy")
    pictures = [np.asarray(Image.open(copy.file("frames", frame.file))) for frame in (frames[0], frames[-1])]
    assert all(not picture[:5, :5].any() and picture[6, 6].all() for picture in pictures)
    assert pictures[0][9, 9].all() and not pictures[1][9, 9].any()


def test_voice_goes_along_where_it_is_asked_for_and_titles_are_searched(session: Session, tmp_path: Path) -> None:
    copy = export(session.stop(), tmp_path / "copy", patterns(["my n.tes"]), voice=True)
    events = read_recording(copy.path).events
    assert any(isinstance(event, Voice) for event in events)
    assert {event.title for event in events if isinstance(event, Window)} == {BLOCK}


def test_a_folder_that_is_there_is_refused_and_nothing_is_left_half(session: Session, tmp_path: Path) -> None:
    recording = session.stop()
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match=r"config\.output must be a folder that is not there yet"):
        export(recording, tmp_path / "there", patterns())
    frame = next(event for event in recording.events if isinstance(event, Frame))
    recording.file("frames", frame.file).write_bytes(b"no picture")
    with pytest.raises(InputError, match="must be a picture"):
        export(recording, tmp_path / "copy", patterns(), rectangles=[Rectangle((0, 0, 5, 5))])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["recording", "there"]


def _backspace(session: Session, down: bool):  # type: ignore[no-untyped-def]
    from tars_jax.annotation.in_situ.sources import Input
    from tests.annotation.in_situ.simulated import NOTES

    return Input(Key(time=session.fake.time, key="BackSpace", down=down), NOTES)
