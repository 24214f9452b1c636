"""Metrics survive kills and rollbacks."""

from __future__ import annotations

import json
import math
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from tensorboardX.proto.event_pb2 import Event

from tars_jax import InputError
from tars_jax.training.metrics import MetricsWriter, read_metrics, tensorboard_command


def tensorboard_scalars(folder: pathlib.Path) -> list[tuple[str, int, float]]:
    """(tag, step, value) of every scalar; a record is length (8 bytes), checksum (4), data, checksum (4)."""
    scalars = []
    for path in (folder / "tensorboard").iterdir():
        data = path.read_bytes()
        position = 0
        while position < len(data):
            length = int.from_bytes(data[position : position + 8], "little")
            event = Event.FromString(data[position + 12 : position + 12 + length])
            scalars += [(value.tag, event.step, value.simple_value) for value in event.summary.value]
            position += 16 + length
    return scalars


def test_rows_come_back(tmp_path: pathlib.Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write("supervised", 1, {"loss": 2.5})
        writer.write("ppo", 1, {"reward": 0.25, "entropy": math.nan})
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [(row.stage, row.step) for row in rows] == [("supervised", 1), ("ppo", 1)]
    assert rows[0].values == {"loss": 2.5}
    assert rows[1].values["reward"] == 0.25
    assert math.isnan(rows[1].values["entropy"])
    assert rows[0].time == pytest.approx(rows[1].time, abs=5)
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)  # NaN is no JSON


def test_tensorboard_holds_the_same(tmp_path: pathlib.Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write("ppo", 3, {"reward": 0.25})
        writer.write("ppo", 4, {"reward": 0.5})
    assert tensorboard_scalars(tmp_path) == [("ppo/reward", 3, 0.25), ("ppo/reward", 4, 0.5)]


def test_a_torn_last_line_is_dropped(tmp_path: pathlib.Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        for step in range(3):
            writer.write("ppo", step, {"reward": step / 4})
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    start = whole.rstrip().rindex(b"\n") + 1
    for size in range(start, len(whole)):
        path.write_bytes(whole[:size])
        assert len(read_metrics(path)) == 2
    with MetricsWriter(tmp_path) as writer:
        writer.write("ppo", 2, {"reward": 0.5})
    assert [row.step for row in read_metrics(path)] == [0, 1, 2]
    assert tensorboard_scalars(tmp_path) == [("ppo/reward", step, step / 4) for step in range(3)]


@pytest.mark.parametrize("bad", [b"\0\0\0\n", b'{"step": 1}\n', b"[]\n", b'{"a"\n'])
def test_a_bad_line_is_an_error_unless_it_is_the_last(tmp_path: pathlib.Path, bad: bytes) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write("ppo", 0, {})
    path = tmp_path / "metrics.jsonl"
    good = path.read_bytes()
    path.write_bytes(good + bad)
    assert len(read_metrics(path)) == 1
    path.write_bytes(good + bad + good)
    with pytest.raises(InputError, match=r"metrics\.jsonl: line 2 must be a row of metrics"):
        read_metrics(path)
    with pytest.raises(InputError, match=r"metrics\.jsonl: line 2 must be a row of metrics"):
        MetricsWriter(tmp_path)
    assert path.read_bytes() == good + bad + good


def test_missing_metrics(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_metrics(tmp_path / "metrics.jsonl")


def test_truncate_after_rolls_the_run_back(tmp_path: pathlib.Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write("supervised", 9, {"loss": 1})
        for step in range(1, 6):
            writer.write("ppo", step, {"reward": step})
        writer.write("evaluation", 1, {"success": 1})
    with MetricsWriter(tmp_path) as writer:
        writer.truncate_after("ppo", 3)
        writer.write("ppo", 4, {"reward": 40})
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [(row.stage, row.step) for row in rows] == [
        ("supervised", 9),
        ("ppo", 1),
        ("ppo", 2),
        ("ppo", 3),
        ("ppo", 4),
    ]
    assert tensorboard_scalars(tmp_path)[-1] == ("ppo/reward", 4, 40)
    assert len(tensorboard_scalars(tmp_path)) == 5


def test_truncate_after_the_newest_step_changes_nothing(tmp_path: pathlib.Path) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write("ppo", 3, {"reward": 1})
        before = (tmp_path / "metrics.jsonl").read_bytes()
        writer.truncate_after("ppo", 3)
        writer.truncate_after("value", 0)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_a_full_disk_leaves_whole_lines(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MetricsWriter(tmp_path) as writer:
        writer.write("ppo", 1, {"reward": 1})
        real = os.write
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda file, data: real(file, data[:10]))
            with pytest.raises(OSError, match="No space left"):
                writer.write("ppo", 2, {"reward": 2})
        writer.write("ppo", 2, {"reward": 3})
    assert [row.values["reward"] for row in read_metrics(tmp_path / "metrics.jsonl")] == [1, 3]


@pytest.mark.multiprocess
def test_kill_9_loses_no_line(tmp_path: pathlib.Path) -> None:
    code = """
import subprocess
import sys
from tars_jax.training.metrics import MetricsWriter
writer = MetricsWriter(sys.argv[1])
for step in range(10**9):
    writer.write("ppo", step, {"reward": 0.5})
    print(step, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    last = [int(child.stdout.readline()) for _ in range(300)][-1]
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    with MetricsWriter(tmp_path) as writer:
        steps = [row.step for row in read_metrics(tmp_path / "metrics.jsonl")]
        assert steps == list(range(len(steps)))
        assert len(steps) > last
        writer.truncate_after("ppo", -1)
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_the_curves_are_shown_by_what_is_there(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tensorboard_command(pathlib.Path("a run")) == ""
    program = tmp_path / "tensorboard"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert tensorboard_command(pathlib.Path("a run")) == "tensorboard --logdir 'a run/tensorboard'"


@pytest.mark.multiprocess
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_is_one_error_and_nothing_is_printed(tmp_path: pathlib.Path) -> None:
    """No thread of a library's says it in a traceback of its own."""
    program = f"""
import errno
from tars_jax.training.metrics import MetricsWriter

try:
    with MetricsWriter({str(tmp_path)!r}) as writer:
        for step in range(10_000):
            writer.write("ppo", step, {{f"number {{each}}": float(each) for each in range(20)}})
except OSError as error:
    print(errno.errorcode[error.errno])
"""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], check=True)
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    finally:
        subprocess.run(["umount", tmp_path], check=True)
    assert (done.stdout, done.stderr) == ("ENOSPC\n", "")
