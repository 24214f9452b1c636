"""Recordings of other tools in and out: AgentNetTool's folders, openadapt-capture's databases."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.annotation.exchange.agentnet import import_agentnet
from tars_jax.annotation.exchange.openadapt import import_openadapt
from tars_jax.annotation.exchange.openadapt_writing import SCHEMA, export_openadapt
from tars_jax.annotation.exchange.recordings import NewRecording
from tars_jax.annotation.in_situ.events import (
    Accessibility,
    Button,
    Ended,
    FocusedWindow,
    KeyStroke,
    Moved,
    Paused,
    RecordedEvent,
    Resumed,
    ScreenFrame,
    Scrolled,
    SourceGone,
    Voice,
)
from tars_jax.annotation.in_situ.recording import Head, PersonRecording, read_recording

HEAD = Head(
    version=1, id="mine", began=1_700_000_000.0, screen=(64, 48), consent="I agree.", allowed=("Notes",),
    source="synthetic", task="Write a note.",
)  # fmt: skip


def png(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), (shade, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def flac(seconds: float, rate: int = 16_000, channels: int = 1) -> bytes:
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    samples = np.sin(np.arange(round(seconds * rate)) / 20)[:, None] * np.ones(channels)
    soundfile.write(buffer, samples, rate, format="FLAC")
    return buffer.getvalue()


def recorded(
    path: Path, events: Sequence[RecordedEvent], files: Sequence[tuple[str, str, bytes]] = ()
) -> PersonRecording:
    new = NewRecording(path)
    for each in files:
        new.file(*each)
    return read_recording(new.finish(HEAD, events))


# ---- AgentNetTool

METADATA = {
    "system": "Windows", "screen_width": 64, "screen_height": 48, "scroll_direction": -1,
    "start_time": "2024-11-05 18:56:31", "video_start_timestamp": 100.0,
}  # fmt: skip
LINES: list[dict[str, Any]] = [
    {"time_stamp": 101.0, "action": "move", "x": 30, "y": 20, "event_idx": 0},
    {"time_stamp": 101.1, "action": "click", "x": 70, "y": 20, "button": "left", "pressed": True, "event_idx": 1},
    {"time_stamp": 101.2, "action": "click", "x": 70, "y": 20, "button": "left", "pressed": False, "event_idx": 2},
    {"time_stamp": 102.0, "action": "scroll", "x": 30, "y": 20, "dx": 0, "dy": -1, "event_idx": 3},
    {"time_stamp": 103.0, "action": "press", "name": "shift", "pynput_key": "Key.shift", "event_idx": 4},
    {"time_stamp": 103.1, "action": "press", "name": "A", "pynput_key": "'A'", "event_idx": 5},
    {"time_stamp": 103.2, "action": "release", "name": "A", "pynput_key": "'A'", "event_idx": 6},
    {"time_stamp": 103.3, "action": "release", "name": "shift", "pynput_key": "Key.shift", "event_idx": 7},
    {"time_stamp": 104.0, "action": "press", "name": "ctrl_l", "pynput_key": "Key.ctrl_l", "event_idx": 8},
    {"time_stamp": 104.1, "action": "press", "name": "T", "pynput_key": "<84>", "event_idx": 9},
    {"time_stamp": 104.2, "action": "press", "name": "media_next", "pynput_key": "<176>", "event_idx": 10},
    {"time_stamp": 105.0, "action": "pause", "event_idx": 11},
    {"time_stamp": 109.0, "action": "resume", "event_idx": 12},
    {"time_stamp": 110.0, "action": "press", "name": "space", "pynput_key": "Key.space", "event_idx": 13},
]  # fmt: skip


def agentnet(folder: Path, lines: Sequence[Any] = LINES, **metadata: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "metadata.json").write_text(json.dumps({**METADATA, **metadata}))
    (folder / "task_name.json").write_text(json.dumps({"task_name": "Do it.", "description": ""}))
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "top_window.jsonl").write_text('{"time_stamp": 100.5, "top_window_name": "explorer"}\n')
    (folder / "a11y.jsonl").write_text('{"time_stamp": 100.6, "axtree": {"Name": "Taskbar"}}\n')
    return folder


def test_an_agentnet_folder_becomes_a_recording(tmp_path: Path) -> None:
    recording = read_recording(import_agentnet(agentnet(tmp_path / "theirs"), tmp_path / "ours"))
    head = recording.head
    assert (head.screen, head.task, head.allowed, head.source) == ((64, 48), "Do it.", ("explorer",), "pynput")
    assert "AgentNetTool" in head.consent and not recording.cut_off
    said = [each for each in recording.events if not isinstance(each, SourceGone | Accessibility)]
    assert said == [
        FocusedWindow(time=0.5, application="explorer", allowed=True, box=(0, 0, 64, 48)),
        Moved(time=1.0, x=30, y=20),
        Button(time=1.1, x=63, y=20, button="left", down=True),  # a mouse at the edge is reported beyond
        Button(time=1.2, x=63, y=20, button="left", down=False),
        Scrolled(time=2.0, x=30, y=20, dy=1),
        KeyStroke(time=3.0, key="Shift_L", down=True),
        KeyStroke(time=3.1, key="A", down=True, text="A"),
        KeyStroke(time=3.2, key="A", down=False),
        KeyStroke(time=3.3, key="Shift_L", down=False),
        KeyStroke(time=4.0, key="Control_L", down=True),
        KeyStroke(time=4.1, key="t", down=True),  # its virtual key alone, and Control is held: nothing is typed
        Paused(time=5.0),
        Resumed(time=9.0),
        KeyStroke(time=10.0, key="space", down=True),
        Ended(time=10.0),
    ]
    (tree,) = (each for each in recording.events if isinstance(each, Accessibility))
    assert json.loads(recording.file("accessibility", tree.file).read_bytes()) == {"Name": "Taskbar"}
    lost = {each.source: each.message for each in recording.events if isinstance(each, SourceGone)}
    assert lost == {"frames": "the recording has no video", "keys": "no name of ours for key media_next (1)"}


def video(file: Path, shades: Sequence[int]) -> None:
    """One second of each shade, eight frames a second."""
    av = pytest.importorskip("av")
    with av.open(str(file), "w") as container:
        stream = container.add_stream("mpeg4", rate=8)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for shade in shades:
            for _ in range(8):
                frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), shade, np.uint8), format="rgb24")
                container.mux(stream.encode(frame))
        container.mux(stream.encode())


def test_frames_of_the_video_are_those_that_changed_at_the_time_of_the_events(tmp_path: Path) -> None:
    folder = agentnet(tmp_path / "theirs")
    video(folder / "2024.mp4", (0, 0, 120, 120, 120, 240))
    recording = read_recording(import_agentnet(folder, tmp_path / "ours"))
    frames = [each for each in recording.events if isinstance(each, ScreenFrame)]
    # The last second of the video comes after the pause of four.
    assert [each.time for each in frames] == pytest.approx([0.0, 2.0, 9.0], abs=0.3)
    shades = [np.asarray(Image.open(recording.file("frames", each.file)))[20, 20, 0] for each in frames]
    assert np.allclose(shades, [0, 120, 240], atol=12)


@pytest.mark.parametrize(
    ("lines", "metadata", "says"),
    [
        ([{"action": "move", "x": 1, "y": 1}], {}, "events.jsonl, line 1: time_stamp must be a number; got nothing"),
        (
            [LINES[0], {"time_stamp": 1, "action": "fly"}],
            {},
            "events.jsonl, line 2: action must be one of move, click, scroll",
        ),
        ([{**LINES[0], "x": "left"}], {}, "events.jsonl, line 1: x must be a number; got 'left'"),
        (["x"], {}, "events.jsonl, line 1 must be an object; got 'x'"),
        (LINES, {"screen_width": 0}, "metadata.json: field screen_width and screen_height must be pixels; got (0, 48)"),
        (LINES, {"screen_width": "wide"}, "metadata.json: field screen_width must be a whole number; got 'wide'"),
    ],
)
def test_a_malformed_agentnet_folder_is_named_by_file_line_and_field(
    tmp_path: Path, lines: Sequence[Any], metadata: dict[str, Any], says: str
) -> None:
    folder = agentnet(tmp_path / "theirs", lines, **metadata)
    with pytest.raises(InputError) as raised:
        import_agentnet(folder, tmp_path / "ours")
    assert says in str(raised.value) and str(folder) in str(raised.value)
    assert [each.name for each in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.parametrize("stamp", [-999_900.0, 1_000_100.0, -1e300])
def test_clocks_that_disagree_are_said(tmp_path: Path, stamp: float) -> None:
    with pytest.raises(InputError, match=r"events\.jsonl, line 1: field time_stamp must be .* the clocks disagree"):
        import_agentnet(agentnet(tmp_path / "theirs", video_start_timestamp=stamp), tmp_path / "ours")
    assert [each.name for each in tmp_path.iterdir()] == ["theirs"]


def test_inputs_keep_their_order_where_the_clock_was_set_back(tmp_path: Path) -> None:
    lines = [
        {"time_stamp": stamp, "action": "press", "name": name, "pynput_key": f"'{name}'"}
        for stamp, name in ((102.0, "a"), (101.0, "b"), (101.2, "c"), (103.0, "d"))
    ]
    events = read_recording(import_agentnet(agentnet(tmp_path / "theirs", lines), tmp_path / "ours")).events
    assert [(event.key, event.time) for event in events if isinstance(event, KeyStroke)] == [
        ("a", 2.0), ("b", 2.0), ("c", 2.0), ("d", 3.0),
    ]  # fmt: skip
    [lost] = [event for event in events if isinstance(event, SourceGone) and event.source == "clock"]
    assert lost.message == "it went back, by 1.00 s at most: 2 inputs count as at once"


def test_a_recording_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    with pytest.raises(InputError, match="must have a folder of its own"):
        import_agentnet(agentnet(tmp_path / "theirs"), tmp_path / "ours")


scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6)
names = sorted({name for line in LINES for name in line})


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LINES), st.dictionaries(st.sampled_from(names), scalars, max_size=3), st.binary(max_size=20))
def test_any_agentnet_line_is_read_or_refused_by_file_and_line(line: Any, change: dict[str, Any], more: bytes) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = agentnet(Path(scratch, "theirs"), [{**line, **change}])
        (folder / "top_window.jsonl").write_bytes(more)
        try:
            read_recording(import_agentnet(folder, Path(scratch, "ours")))
        except InputError as error:
            assert f"{folder}" in str(error) and ", line " in str(error)


# ---- openadapt-capture

whole = st.integers(0, 4000).map(lambda count: count / 64)
places = {"x": st.integers(0, 63), "y": st.integers(0, 47)}
typed = [("a", "a"), ("a", "A"), ("period", "."), ("1", "!"), ("space", " "), ("Return", ""), ("F5", "")]
inputs = st.one_of(
    st.builds(Moved, time=whole, **places),
    st.builds(Button, time=whole, **places, button=st.sampled_from(["left", "middle", "right"]), down=st.booleans()),
    st.builds(Scrolled, time=whole, **places, dx=st.integers(-3, 3), dy=st.integers(-3, 3)),
    st.builds(FocusedWindow, time=whole, application=st.sampled_from(["Notes", "Mail"]), allowed=st.just(True),
              title=st.text(max_size=5), box=st.just((1, 2, 3, 4))),
    st.builds(lambda time, key: KeyStroke(time=time, key=key[0], down=True, text=key[1]), whole,
              st.sampled_from(typed)),
    st.builds(lambda time, key: KeyStroke(time=time, key=key[0], down=False), whole, st.sampled_from(typed)),
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(inputs, max_size=12))
def test_a_capture_says_what_the_recording_said(events: list[RecordedEvent]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        ours = recorded(Path(scratch, "ours"), [*events, Ended(time=1e3)])
        export_openadapt(ours, Path(scratch, "theirs"))
        again = read_recording(import_openadapt(Path(scratch, "theirs"), Path(scratch, "again")))

        def sorted_lines(recording: PersonRecording) -> list[bytes]:
            kept = (each for each in recording.events if not isinstance(each, Ended | SourceGone))
            return sorted(msgspec.json.encode(each) for each in kept)

        assert sorted_lines(again) == sorted_lines(ours)


def capture(scratch: Path) -> tuple[PersonRecording, Path]:
    events = [
        FocusedWindow(time=0.0, application="Notes", allowed=True, title="todo - Notes", box=(0, 0, 64, 48)),
        ScreenFrame(time=0.5, file="a.png"),
        Voice(time=0.6, file="a.flac", seconds=0.5),
        Button(time=1.0, x=10, y=20, button="left", down=True),
        Button(time=1.1, x=10, y=20, button="left", down=False),
        ScreenFrame(time=1.5, file="b.png"),
        KeyStroke(time=2.0, key="Control_L", down=True),
        KeyStroke(time=2.1, key="c", down=True),
        KeyStroke(time=2.2, key="c", down=False),
        KeyStroke(time=2.3, key="Control_L", down=False),
        Scrolled(time=3.0, x=10, y=20, dy=2),
        Ended(time=4.0),
    ]
    files = [("frames", "a.png", png(10)), ("frames", "b.png", png(200)), ("voice", "a.flac", flac(0.5))]
    return recorded(scratch / "ours", events, files), scratch / "theirs"


def test_pictures_and_voice_go_out_and_come_in(tmp_path: Path) -> None:
    ours, folder = capture(tmp_path)
    export_openadapt(ours, folder)
    again = read_recording(import_openadapt(folder, tmp_path / "again"))
    assert [type(each) for each in again.events[:-1]] == [type(each) for each in ours.events[:-1]]
    (first, second) = (each for each in again.events if isinstance(each, ScreenFrame))
    assert again.file("frames", first.file).read_bytes() == png(10)
    assert again.file("frames", second.file).read_bytes() == png(200)
    (voice,) = (each for each in again.events if isinstance(each, Voice))
    assert (voice.time, voice.seconds) == (0.6, 0.5)
    assert again.file("voice", voice.file).read_bytes() == ours.file("voice", "a.flac").read_bytes()
    assert again.head.task == ours.head.task and again.head.began == ours.head.began
    pressed = [each.text for each in again.events if isinstance(each, KeyStroke) and each.down]
    assert pressed == ["", ""]  # Control is held


def test_an_action_is_bound_to_what_was_seen_before_it(tmp_path: Path) -> None:
    ours, folder = capture(tmp_path)
    with contextlib.closing(sqlite3.connect(export_openadapt(ours, folder))) as opened:
        bound = opened.execute("SELECT name, screenshot_id, window_event_id FROM action_event ORDER BY id").fetchall()
    assert [each[1] for each in bound] == [1, 1, 2, 2, 2, 2, 2] and {each[2] for each in bound} == {1}


def test_voice_of_another_rate_becomes_ours(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    ours, folder = capture(tmp_path)
    with contextlib.closing(sqlite3.connect(export_openadapt(ours, folder))) as opened, opened:
        opened.execute("UPDATE audio_info SET flac_data = ?", (flac(0.5, 44_100, 2),))
    again = read_recording(import_openadapt(folder, tmp_path / "again"))
    (voice,) = (each for each in again.events if isinstance(each, Voice))
    about = soundfile.info(again.file("voice", voice.file))
    assert (about.samplerate, about.channels) == (16_000, 1) and voice.seconds == pytest.approx(0.5, abs=0.01)


@pytest.mark.skipif(importlib.util.find_spec("openadapt_capture") is None, reason="openadapt-capture is not installed")
def test_openadapts_own_reader_opens_it(tmp_path: Path) -> None:
    from openadapt_capture.capture import CaptureSession

    ours, folder = capture(tmp_path)
    export_openadapt(ours, folder)
    with CaptureSession.load(folder) as session:
        assert [each.type for each in session.actions()] and len(session.raw_events()) == 7


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            "UPDATE action_event SET mouse_x = 'left' WHERE id = 1",
            "action_event, row 1, column mouse_x must be a number",
        ),
        ("UPDATE action_event SET name = 'fly' WHERE id = 2", "action_event, row 2, column name must be move, click"),
        ("UPDATE action_event SET mouse_pressed = NULL WHERE id = 1", "row 1, column mouse_pressed must be true or"),
        ("UPDATE window_event SET state = '{'", "window_event, row 1, column state must be JSON"),
        ("UPDATE screenshot SET png_data = x'00' WHERE id = 2", "screenshot, row 2, column png_data must be an image"),
        ("UPDATE audio_info SET flac_data = x'00'", "audio_info, row 1, column flac_data must be FLAC"),
        ("UPDATE recording SET monitor_width = 0", "recording, row 1, column monitor_width must be pixels; got 0"),
        ("DELETE FROM recording", "table recording must hold a row"),
        ("DROP TABLE action_event", "must have a table action_event"),
    ],
)
def test_a_malformed_capture_is_named_by_table_row_and_column(tmp_path: Path, change: str, says: str) -> None:
    ours, folder = capture(tmp_path)
    file = export_openadapt(ours, folder)
    with contextlib.closing(sqlite3.connect(file)) as opened, opened:
        opened.execute(change)
    with pytest.raises(InputError) as raised:
        import_openadapt(folder, tmp_path / "again")
    assert says in str(raised.value) and str(file) in str(raised.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["ours", "theirs"]


cells = st.none() | st.integers(-(2**62), 2**62) | st.floats() | st.text(max_size=6) | st.binary(max_size=6)
columns = [(table, column) for table in ("recording", "action_event", "window_event", "screenshot", "audio_info")
           for column in SCHEMA[table] if column != "id"]  # fmt: skip


@pytest.fixture(scope="module")
def whole_capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ours, folder = capture(tmp_path_factory.mktemp("capture"))
    return export_openadapt(ours, folder)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(columns), cells), min_size=1, max_size=3))
def test_any_cell_is_read_or_refused_by_table_row_and_column(whole_capture: Path, changes: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "recording.db")
        file.write_bytes(whole_capture.read_bytes())
        with contextlib.closing(sqlite3.connect(file)) as opened, opened:
            for (table, column), value in changes:
                opened.execute(f'UPDATE {table} SET "{column}" = ?', (value,))
        try:
            read_recording(import_openadapt(Path(scratch), Path(scratch, "again")))
        except InputError as error:
            assert f"{file}: table " in str(error) and ", row " in str(error)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + bytes(200)])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recording.db").write_bytes(content)
    with pytest.raises(InputError, match="recording"):
        import_openadapt(tmp_path, tmp_path / "again")


def test_the_command_tells_what_a_folder_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def convert(source: Path, output: str) -> int:
        flags = [f"--config.output={tmp_path / output}", f"--config.run={tmp_path / 'run'}-{output}"]
        return main(["convert_recording", str(source), *flags])

    assert convert(agentnet(tmp_path / "theirs"), "ours") == 0
    said = capsys.readouterr().out
    assert "left out: frames: the recording has no video" in said and "18 events" in said
    assert convert(tmp_path / "ours", "capture") == 0 and (tmp_path / "capture" / "recording.db").is_file()
    assert convert(tmp_path / "capture", "again") == 0
    assert read_recording(tmp_path / "again").head.task == "Do it."
    assert convert(tmp_path, "nothing") == 2
