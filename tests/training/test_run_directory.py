import errno
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.json_fields import read_json
from tars_jax.training.run_directory import RunDirectory, write_json

CONFIG = {"seed": 1, "run": "somewhere", "ppo": {"lr": 0.1, "distance": (1, 2)}}


def open_run(path: pathlib.Path, config: dict | None = None, experiment: str = "dummy") -> RunDirectory:
    return RunDirectory.create(path, CONFIG if config is None else config, experiment)


def test_a_fresh_run_records_config_and_environment(tmp_path: pathlib.Path) -> None:
    with open_run(tmp_path / "a" / "run") as run:
        assert not run.resumed
    stored = json.loads((run.path / "config.json").read_text())
    assert stored == {"experiment": "dummy", "config": {"seed": 1, "run": "", "ppo": {"lr": 0.1, "distance": [1, 2]}}}
    (start,) = json.loads((run.path / "environment.json").read_text())["starts"]
    assert start["seed"] == 1
    code = start["code"]
    assert set(code) == {"commit", "dirty", "patch"} and code["dirty"] == bool(code["patch"])
    assert "jax" in start["packages"] and start["cpus"] >= 1 and start["cpu"] and start["python"] and start["platform"]


def test_a_run_resumes_with_its_config_only(tmp_path: pathlib.Path) -> None:
    open_run(tmp_path / "run").close()
    with open_run(tmp_path / "run", {**CONFIG, "run": "elsewhere"}) as run:
        assert run.resumed
    assert len(read_json(tmp_path / "run" / "environment.json")["starts"]) == 2
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.name != ".lock"}
    with pytest.raises(InputError, match=r"config\.ppo\.lr must be 0\.1 as in .*config\.json.*; got 0\.5"):
        open_run(tmp_path / "run", {**CONFIG, "ppo": {"lr": 0.5, "distance": (1, 2)}})
    with pytest.raises(InputError, match="experiment must be .*; got 'other'"):
        open_run(tmp_path / "run", experiment="other")
    with pytest.raises(InputError, match=r"config\.extra must be 'nothing' as in .*; got 1"):
        open_run(tmp_path / "run", {**CONFIG, "extra": 1})
    after = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.name != ".lock"}
    assert after == before


def test_fields_that_are_renewed_are_taken_as_they_are_asked_for_now(tmp_path: pathlib.Path) -> None:
    RunDirectory.create(tmp_path / "run", {"people": [], "seed": 1}, "annotate").close()
    with pytest.raises(InputError, match=r"config\.people must be \[\] as in"):
        RunDirectory.create(tmp_path / "run", {"people": ["ada"], "seed": 1}, "annotate")
    with RunDirectory.create(tmp_path / "run", {"people": ["ada"], "seed": 1}, "annotate", renewed=["people"]) as run:
        assert run.config["people"] == ["ada"]
    with pytest.raises(InputError, match=r"config\.seed must be 1 as in"):
        RunDirectory.create(tmp_path / "run", {"people": [], "seed": 2}, "annotate", renewed=["people"])
    assert read_json(tmp_path / "run" / "config.json")["config"]["people"] == ["ada"]


def test_a_directory_of_something_else_is_left_alone(tmp_path: pathlib.Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match=r"holds 'thesis\.tex' and no config\.json"):
        open_run(tmp_path)
    with pytest.raises(InputError, match="which is a file"):
        open_run(tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("place", ["file/run", "loop", "loop/run", "n" * 300, "/proc/run"])
def test_a_place_where_no_directory_can_be(tmp_path: pathlib.Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"config\.run must be a directory that can be made .*; got .*: [A-Z]"):
        open_run(tmp_path / place)


def test_the_ledger_outlives_the_process(tmp_path: pathlib.Path) -> None:
    with open_run(tmp_path / "run") as run:
        assert run.finished("supervised") is None
        run.finish("supervised", {"loss": 0.25})
        run.finish("value", {"explained": 0.5})
    with open_run(tmp_path / "run") as run:
        assert run.finished("supervised") == {"loss": 0.25}
        assert run.finished("value") == {"explained": 0.5}
        assert run.finished("ppo") is None


@pytest.mark.parametrize("name", ["config.json", "environment.json", "stages.json"])
def test_a_damaged_file_is_named(tmp_path: pathlib.Path, name: str) -> None:
    with open_run(tmp_path / "run") as run:
        run.finish("supervised", {"loss": 0.25})
    path = tmp_path / "run" / name
    for damaged in (path.read_bytes()[:-4], b"[]", b"\xff\xfe"):
        path.write_bytes(damaged)
        with pytest.raises(InputError) as error:
            open_run(tmp_path / "run")
        assert str(path) in str(error.value)


def test_a_process_holds_its_run_directory(tmp_path: pathlib.Path) -> None:
    run = open_run(tmp_path / "run")
    with pytest.raises(InputError, match=f"which process {os.getpid()} uses"):
        open_run(tmp_path / "run")
    run.close()
    run.close()
    open_run(tmp_path / "run").close()


@pytest.mark.multiprocess
def test_a_killed_process_leaves_no_lock(tmp_path: pathlib.Path) -> None:
    program = (
        "import sys, time; from tars_jax.training.run_directory import RunDirectory\n"
        f"run = RunDirectory.create({str(tmp_path / 'run')!r}, {CONFIG!r}, 'dummy')\n"
        "print('held', flush=True); time.sleep(60)"
    )
    repository = pathlib.Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(repository)},
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=f"which process {process.pid} uses"):
            open_run(tmp_path / "run")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    (tmp_path / "run" / f".stages.json.{process.pid}.partial").write_text("{")  # as a killed write leaves it
    with open_run(tmp_path / "run") as run:
        assert run.resumed
    assert not list((tmp_path / "run").glob(".*.partial"))


@pytest.fixture
def small_disk(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A file system of 64 KiB, where this process may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        mounted = os.getuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_earlier_file(small_disk: pathlib.Path) -> None:
    path = small_disk / "value.json"
    write_json(path, {"step": 1})
    with pytest.raises(OSError) as error:
        write_atomic(path, b"x" * 200_000)
    assert error.value.errno == errno.ENOSPC
    assert read_json(path) == {"step": 1}
    assert [entry.name for entry in small_disk.iterdir()] == ["value.json"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_write_leaves_the_earlier_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"step": 1})

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError):
            write_json(path, {"step": 2})
    assert read_json(path) == {"step": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["value.json"]


def test_a_stage_that_could_not_be_recorded_is_not_finished(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with open_run(tmp_path / "run") as run:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(OSError):
                run.finish("value", {})
        assert run.finished("value") is None


def test_read_json_names_a_missing_file(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json does not exist"):
        read_json(tmp_path / "nothing.json")
