"""What a copy for others lacks, and that the recording stays as it was."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import FocusedWindow, KeyStroke, RecordedEvent, ScreenFrame, Voice
from tars_jax.annotation.in_situ.export_redaction import BLOCK, EVERYTHING, BlackRectangle, covers, matches, patterns
from tars_jax.annotation.in_situ.exporting import export
from tars_jax.annotation.in_situ.privacy import Box
from tars_jax.annotation.in_situ.recording import PersonRecording, read_recording
from tests.annotation.in_situ.simulated import Session


def typed(recording: PersonRecording) -> str:
    return "".join(event.text for event in recording.events if isinstance(event, KeyStroke) and event.down)


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
    downs = [event.key for event in copy.events if isinstance(event, KeyStroke) and event.down]
    ups = [event.key for event in copy.events if isinstance(event, KeyStroke) and not event.down]
    assert sorted(downs) == sorted(ups)
    first, *_, last = [event for event in copy.events if isinstance(event, ScreenFrame)]
    assert np.asarray(Image.open(copy.file("frames", first.file)))[:30, :40].all()
    assert not np.asarray(Image.open(copy.file("frames", last.file))).any()
    assert hashlib.sha256(content(session.path)).digest() == before
    assert "1 typed texts" in copy.head.redaction


@pytest.mark.parametrize(
    "text",
    ["ann@example.org", "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00", "ghp_abcdefghijklmnop1234",
     "password: hunter2", "+49 30 1234567", "eyJhbGciOi.eyJzdWIiOi.c2ln", "password: correct horse", "PIN: 1234",
     '{"password": "hunter2"}', "--password hunter2", "Passwort: x", "mot de passe : x", "密码：x", "パスワード: x",
     "aws_secret_access_key = abc/def", "Authorization: Bearer abcdef123", "(555) 123-4567", "+1 (555) 123-4567",
     "(030) 1234567", "555.123.4567", "4111.1111.1111.1111", "de89 3704 0044 0532 0130 00", "pypi-AgEIcHlwaS5vcmc",
     "npm_abcdefghijklmnop123456"],
)  # fmt: skip
def test_patterns_that_are_searched_for(session: Session, tmp_path: Path, text: str) -> None:
    session.type(f"see {text}")
    copy = export(session.stop(), tmp_path / "copy", patterns())
    kept = typed(read_recording(copy.path))
    assert copy.matches >= 1 and BLOCK in kept
    assert not set(kept.replace(BLOCK, " ").split()) - {"see", "00", "mot", "de", "Authorization:", "{", '{"', "("}


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
    frames = [event for event in recording.events if isinstance(event, ScreenFrame)]
    black = [BlackRectangle((0, 0, 5, 5)), BlackRectangle((8, 8, 4, 4), since=frames[-1].time - 0.01)]
    export(recording, tmp_path / "copy", patterns(), rectangles=black)
    copy = read_recording(tmp_path / "copy")
    pictures = [np.asarray(Image.open(copy.file("frames", frame.file))) for frame in (frames[0], frames[-1])]
    assert all(not picture[:5, :5].any() and picture[6, 6].all() for picture in pictures)
    assert pictures[0][9, 9].all() and not pictures[1][9, 9].any()


def test_voice_goes_along_where_it_is_asked_for_and_titles_are_searched(session: Session, tmp_path: Path) -> None:
    copy = export(session.stop(), tmp_path / "copy", patterns("my n.tes"), voice=True)
    events = read_recording(copy.path).events
    assert any(isinstance(event, Voice) for event in events)
    assert {event.title for event in events if isinstance(event, FocusedWindow)} == {BLOCK}


def test_a_folder_that_is_there_is_refused_and_nothing_is_left_half(session: Session, tmp_path: Path) -> None:
    recording = session.stop()
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match=r"config\.output must be a folder that is not there yet"):
        export(recording, tmp_path / "there", patterns())
    with pytest.raises(InputError, match="must be outside of the recording"):
        export(recording, recording.path / "frames" / "copy", patterns())
    assert sorted(each.name for each in tmp_path.iterdir()) == ["recording", "there"]


def test_pictures_that_cannot_be_read_and_links_stay_behind_and_nothing_but_pixels_goes(
    session: Session, tmp_path: Path
) -> None:
    session.fake.draw(9)
    session.click(5, 6)
    session.run(2.0)
    recording = session.stop()
    names = list(dict.fromkeys(event.file for event in recording.events if isinstance(event, ScreenFrame)))
    damaged, linked = (recording.file("frames", name) for name in names[:2])
    damaged.write_bytes(b"no picture")
    (tmp_path / "elsewhere.png").write_bytes(linked.read_bytes())
    linked.unlink()
    linked.symlink_to(tmp_path / "elsewhere.png")
    for other in (recording.file("frames", name) for name in names[2:]):
        other.write_bytes(other.read_bytes() + b"behind the picture")
    done = export(recording, tmp_path / "copy", patterns())
    copy = read_recording(tmp_path / "copy")
    assert done.damaged == 2 and not {damaged.name, linked.name} & {each.name for each in copy.path.rglob("*")}
    assert b"behind" not in content(copy.path) and (copy.path.stat().st_mode & 0o77) == 0
    assert {event.file for event in copy.events if isinstance(event, ScreenFrame)} == set(names[2:])


def keys(text: str, begin: float, *titles: tuple[int, str]) -> list[RecordedEvent]:
    """The keys of a text in a window; before some of them it has another title."""
    events: list[RecordedEvent] = []
    for place, letter in enumerate(text):
        time = begin + place / 10
        events += [_window(time, title) for at, title in titles if at == place]
        events += [
            KeyStroke(time=time, key=letter, down=True, text=letter),
            KeyStroke(time=time, key=letter, down=False),
        ]
    return events


def _window(time: float, title: str, application: str = "pad", box: Box = (0, 0, 10, 10)) -> FocusedWindow:
    return FocusedWindow(time=time, application=application, allowed=True, title=title, box=box)


def test_another_title_and_a_glance_elsewhere_do_not_end_a_text() -> None:
    starred = [_window(0, "Untitled"), *keys("password: hunter2", 0.1, (1, "*Untitled"), (12, "(1) *Untitled"))]
    assert [len(each.keys) for each in matches(starred, patterns())] == [len("password: hunter2")]
    glance = [_window(0, "Mail"), *keys("mara@", 0.1), _window(1, "Notes", "notes"), *keys("ok", 1.1)]
    [found] = matches([*glance, _window(2, "Mail"), *keys("example.com", 2.1)], patterns())
    assert len(found.keys) == len("mara@example.com") and found.window is not None and found.window.title == "Mail"


def test_where_the_place_is_not_known_all_of_the_picture_is_black() -> None:
    for window in ([], [_window(0, "Mail", box=(0, 0, 0, 0))]):
        events = [*window, *keys("mara@example.com", 0.1)]
        [cover] = covers(events, matches(events, patterns()))
        assert cover.box == EVERYTHING


def test_rectangles_are_of_the_screen_whatever_the_size_of_the_picture(session: Session, tmp_path: Path) -> None:
    recording = session.stop()
    width, height = recording.head.screen
    frame = next(event for event in recording.events if isinstance(event, ScreenFrame))
    Image.new("RGB", (2 * width, 2 * height), "white").save(recording.file("frames", frame.file))
    export(recording, tmp_path / "copy", patterns(), rectangles=[BlackRectangle((0, 0, width // 2, height))])
    seen = np.asarray(Image.open(tmp_path / "copy" / "frames" / frame.file))
    assert not seen[:, : width // 2 * 2].any() and seen[:, -2:].all()


def _backspace(session: Session, down: bool):  # type: ignore[no-untyped-def]
    from tars_jax.annotation.in_situ.sources import HandInput
    from tests.annotation.in_situ.simulated import NOTES

    return HandInput(KeyStroke(time=session.fake.time, key="BackSpace", down=down), NOTES)
