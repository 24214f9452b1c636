"""The timeline: a trace that opens whatever happened to the run, and the numbers that come from the same spans."""

from __future__ import annotations

import itertools
import json
import pathlib
import threading

import pytest

from tars_jax.rollout.activity import Activity
from tars_jax.rollout.timeline import PREVIOUS_FILE, TIMELINE_FILE, Timeline, TrackOwner, read_timeline


def spans(path: pathlib.Path) -> list[str]:
    return [event["name"] for event in read_timeline(path) if event["ph"] == "X"]


def test_a_closed_timeline_is_a_trace(tmp_path: pathlib.Path) -> None:
    with Timeline(tmp_path) as timeline:
        timeline.span(TrackOwner.WORKERS, 2, "think", 1000.0, 1000.25, version=3)
        timeline.counter(TrackOwner.WORKERS, "pool", 1001.0, ready=4)
        timeline.span(TrackOwner.LEARNER, 0, "update", 1001.0, 1003.5)
    events = json.loads((tmp_path / TIMELINE_FILE).read_text())
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {(3, 2): "worker 2", (3, 0): "worker 0", (1, 0): "learner 0"}
    assert {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"} == {3: "workers", 1: "learner"}
    assert [event for event in events if event["ph"] != "M"] == [
        {"name": "think", "ph": "X", "ts": 1000000000, "dur": 250000, "pid": 3, "tid": 2, "args": {"version": 3}},
        {"name": "pool", "ph": "C", "ts": 1001000000, "pid": 3, "args": {"ready": 4}},
        {"name": "update", "ph": "X", "ts": 1001000000, "dur": 2500000, "pid": 1, "tid": 0},
    ]


def killed(folder: pathlib.Path, *names: str) -> None:
    """What a run leaves that wrote these and was killed."""
    timeline = Timeline(folder)
    for second, name in enumerate(names):
        timeline.span(TrackOwner.LEARNER, 0, name, second, second + 0.5)
    timeline.flush()


@pytest.mark.parametrize("torn", [b"", b",\n", b',\n{"name":"thi', b",\n{", b"\n]\n", b"\n]"])
def test_a_killed_run_leaves_a_trace_and_its_next_start_goes_on(tmp_path: pathlib.Path, torn: bytes) -> None:
    path = tmp_path / TIMELINE_FILE
    killed(tmp_path, "a", "b")
    assert json.loads(path.read_text() + "]")  # unclosed is all that it is
    path.write_bytes(path.read_bytes() + torn)
    assert spans(path) == ["a", "b"]
    killed(tmp_path, "c")
    assert json.loads(path.read_text() + "]") == read_timeline(path)
    with Timeline(tmp_path):
        pass
    assert json.loads(path.read_text()) == read_timeline(path)
    assert spans(path) == ["a", "b", "c"]


@pytest.mark.parametrize("left", [bytes(200_000), b"\0" * 65_000 + b"{" * 70_000])
def test_a_power_loss_costs_no_event_before_it(tmp_path: pathlib.Path, left: bytes) -> None:
    for life in range(2):
        with Timeline(tmp_path) as timeline:
            for moment in range(2000):
                timeline.span(TrackOwner.LEARNER, 0, f"{life}-{moment}", moment, moment + 1)
        if not life:
            with (tmp_path / TIMELINE_FILE).open("ab") as file:
                file.write(left)
    names = [f"{life}-{moment}" for life in range(2) for moment in range(2000)]
    assert spans(tmp_path / TIMELINE_FILE) == names
    assert json.loads((tmp_path / TIMELINE_FILE).read_text())


def test_what_waits_is_bounded_in_number_and_time(tmp_path: pathlib.Path) -> None:
    timeline = Timeline(tmp_path)
    for number in range(1000):
        timeline.span(TrackOwner.WORKERS, 0, str(number), 5.0, 5.0)
    assert 1000 - len(spans(tmp_path / TIMELINE_FILE)) <= 256
    timeline.span(TrackOwner.WORKERS, 0, "later", 6.5, 7.0)
    assert spans(tmp_path / TIMELINE_FILE)[-1] == "later"
    timeline.close()


def test_a_full_file_moves_aside(tmp_path: pathlib.Path) -> None:
    with Timeline(tmp_path, limit_bytes=4000) as timeline:
        for number in range(200):
            timeline.span(TrackOwner.WORKERS, 0, str(number), number * 2, number * 2 + 1)
    files = [tmp_path / PREVIOUS_FILE, tmp_path / TIMELINE_FILE]
    for file in files:
        assert json.loads(file.read_text())[0]["ph"] == "M"  # each names its threads
        assert file.stat().st_size < 4200
    kept = [int(name) for file in files for name in spans(file)]
    assert kept == list(range(kept[0], 200)) and kept[0] > 0


def test_threads_write_whole_lines(tmp_path: pathlib.Path) -> None:
    with Timeline(tmp_path) as timeline:
        activity = Activity(timeline)

        def work(lane: int) -> None:
            for _ in range(300):
                with activity.span(TrackOwner.WORKERS, lane, "act"):
                    pass

        threads = [threading.Thread(target=work, args=(lane,)) for lane in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    events = [event for event in json.loads((tmp_path / TIMELINE_FILE).read_text()) if event["ph"] == "X"]
    assert len(events) == activity.times(TrackOwner.WORKERS, "act") == 1200
    for lane in range(4):
        mine = [event for event in events if event["tid"] == lane]
        assert len(mine) == 300
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in itertools.pairwise(mine))


def test_activity_adds_up_by_part_and_name() -> None:
    activity = Activity()
    activity.add(TrackOwner.WORKERS, 0, "act", 10.0, 10.5)
    activity.add(TrackOwner.WORKERS, 1, "act", 10.0, 12.0)
    activity.add(TrackOwner.WORKERS, 1, "reset", 12.0, 13.0)
    activity.add(TrackOwner.ENGINE, 0, "act", 0.0, 100.0)
    assert activity.seconds(TrackOwner.WORKERS, "act") == 2.5
    assert activity.seconds(TrackOwner.WORKERS, "act", "reset") == 3.5
    assert activity.times(TrackOwner.WORKERS, "act") == 2
    with pytest.raises(KeyError), activity.span(TrackOwner.LEARNER, 0, "update"):
        raise KeyError
    assert activity.times(TrackOwner.LEARNER, "update") == 1  # a failed one has lasted, too
