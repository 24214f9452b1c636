"""What outlives a kill, a full disk and a cut, and what a reader makes of anything at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.annotation.in_situ.events import Ended, KeyStroke, Moved, ScreenFrame, SourceGone, Voice
from tars_jax.annotation.in_situ.local_recordings import delete_recording, list_recordings, open_recording
from tars_jax.annotation.in_situ.recording import EVENTS, HEAD, PersonRecording, read_recording
from tars_jax.annotation.in_situ.recording_writer import Full, RecordingWriter
from tests.annotation.in_situ.simulated import Session, head

ROOT = Path(__file__).parents[3]


def typed(recording: PersonRecording) -> str:
    return "".join(event.text for event in recording.events if isinstance(event, KeyStroke) and event.down)


@pytest.mark.multiprocess
def test_kill_9_loses_nothing_that_came_before(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.annotation.in_situ.kept_writing", str(path)], cwd=ROOT, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        written = 0
        while written < 25:
            written = int(process.stdout.readline())
        assert list_recordings(tmp_path)[0].state == "running"
        with pytest.raises(InputError, match="is being recorded"):
            delete_recording(path)
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            written = int(line)
    before = read_recording(path)
    assert before.cut_off and len(typed(before)) >= written
    recording = open_recording(path)
    assert typed(recording)[:written] == "".join(chr(0x4E00 + turn) for turn in range(1, written + 1))
    frames = [event for event in recording.events if isinstance(event, ScreenFrame)]
    assert len({frame.file for frame in frames}) >= written - 1 and recording.missing == 0
    spoken = sum(event.seconds for event in recording.events if isinstance(event, Voice))
    assert spoken >= 2.0 * written - 0.6  # what was in memory
    assert not list(path.glob("*/*.pcm")) and list_recordings(tmp_path)[0].state == "cut off"
    assert open_recording(path) == recording


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("a file system of its own takes root: " + made.stderr.decode().strip())
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_came_before(small_disk: Path) -> None:
    session = Session(small_disk / "recording")
    turn = 0
    while not session.recorder.ended:
        turn += 1
        session.type(chr(0x4E00 + turn))
        session.fake.draw(turn % 250 + 1)
        session.run(1.0, voice=True)
    assert session.recorder.ended.startswith("the disk is full")
    recording = open_recording(session.path)
    assert not recording.cut_off and isinstance(recording.events[-1], Ended)
    (lost,) = [event for event in recording.events if isinstance(event, SourceGone)]
    assert lost.source == "disk"
    text = typed(recording)
    assert len(text) >= turn - 2 and text == "".join(chr(0x4E00 + n) for n in range(1, len(text) + 1))
    voice = [event for event in recording.events if isinstance(event, Voice)]
    assert sum(event.seconds for event in voice) + 1.6 > recording.events[-1].time - 1.0 or list(
        session.path.glob("voice/*.pcm")
    )


def test_a_line_that_does_not_fit_is_left_out_whole(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "recording", head(), 66_000)
    written = 0
    with pytest.raises(Full, match="limit"):
        while True:
            writer.event(Moved(time=float(written), x=1, y=2))
            written += 1
    writer.end(Ended(time=99.0))
    recording = read_recording(tmp_path / "recording")
    assert len(recording.events) == written + 1 and not recording.cut_off


def test_the_same_picture_is_one_file(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "recording", head(), 1 << 24)
    one, other = (np.full((48, 64, 4), color, np.uint8) for color in (3, 4))
    for time, pixels in enumerate((one, other, one)):
        writer.frame(float(time), pixels)
    writer.end(Ended(time=3.0))
    names = [event.file for event in read_recording(tmp_path / "recording").events if isinstance(event, ScreenFrame)]
    assert names[0] == names[2] != names[1] and len(list((tmp_path / "recording" / "frames").iterdir())) == 2


def test_a_recording_is_deleted_whole_and_nothing_else_is(tmp_path: Path) -> None:
    Session(tmp_path / "one").stop()
    Session(tmp_path / "two").stop()
    delete_recording(tmp_path / "one")
    assert [each.path.name for each in list_recordings(tmp_path)] == ["two"] and not (tmp_path / "one").exists()
    (tmp_path / "letters").mkdir()
    with pytest.raises(InputError, match=r"config\.recording must be a recording"):
        delete_recording(tmp_path / "letters")
    assert (tmp_path / "letters").exists()


def test_only_the_person_may_read_it(tmp_path: Path) -> None:
    Session(tmp_path / "one").stop()
    assert (tmp_path / "one").stat().st_mode & 0o077 == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    session = Session(tmp_path_factory.mktemp("whole") / "recording")
    session.type("hello")
    session.click(3, 4)
    session.run(1.0, voice=True)
    session.stop()
    return session.path


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("kind", "time", "file", "since", "x", "seconds", "key", "button", "box", "allowed", "down")
KINDS = ("move", "key", "window", "frame", "voice", "discard", "end", "lost", "secret", "nothing")
LINES = st.one_of(
    st.binary(max_size=40),
    JUNK.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(st.sampled_from(FIELDS), JUNK, max_size=6).map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda kind, time, file: json.dumps({"kind": kind, "time": time, "file": file, "since": time}).encode(),
        st.sampled_from(KINDS), st.floats(allow_nan=False) | st.just(1e999), st.text(max_size=12) | st.just("../x"),
    ),
)  # fmt: skip


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=5), place=st.integers(0, 20), cut=st.integers(0, 400))
def test_whatever_its_lines_are_it_is_read_or_refused(
    whole: Path, tmp_path: Path, lines: list[bytes], place: int, cut: int
) -> None:
    copy = tmp_path / "copy"
    if not copy.exists():
        shutil.copytree(whole, copy)
    good = (whole / EVENTS).read_bytes().split(b"\n")
    content = b"\n".join([*good[:place], *lines, *good[place:]])
    (copy / EVENTS).write_bytes(content[: len(content) - cut] if cut else content)
    with contextlib.suppress(InputError):
        for event in read_recording(copy).events:
            if isinstance(event, ScreenFrame | Voice):
                name = ("frames/" if isinstance(event, ScreenFrame) else "voice/") + event.file
                assert (copy / name).resolve().is_relative_to(copy.resolve())


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | JUNK.map(lambda value: json.dumps(value).encode()), place=st.integers(0, 300))
def test_whatever_its_head_is_it_is_read_or_refused(whole: Path, tmp_path: Path, content: bytes, place: int) -> None:
    good = (whole / HEAD).read_bytes()
    for head_content in (content, good[:place] + content + good[place + len(content) :]):
        (tmp_path / HEAD).write_bytes(head_content)
        with contextlib.suppress(InputError):
            read_recording(tmp_path)


def test_what_is_wrong_is_said_with_its_line(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    lines = (whole / EVENTS).read_bytes().split(b"\n")
    (tmp_path / "copy" / EVENTS).write_bytes(b"\n".join([*lines[:2], b'{"kind":"key","time":1}', *lines[2:]]))
    with pytest.raises(InputError, match=r"events\.jsonl, line 3: key must be text"):
        read_recording(tmp_path / "copy")
    with pytest.raises(InputError, match=r"must have recording\.json; got .*nowhere"):
        read_recording(tmp_path / "nowhere")


def test_an_event_whose_file_is_gone_is_left_out(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "copy")
    for each in (tmp_path / "copy" / "frames").iterdir():
        each.unlink()
    recording = read_recording(tmp_path / "copy")
    assert recording.missing > 0 and not any(isinstance(event, ScreenFrame) for event in recording.events)
    assert msgspec.json.encode(recording.head) == (whole / HEAD).read_bytes()
