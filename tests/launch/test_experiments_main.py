import errno
import functools
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys

import pytest

from experiments.__main__ import ROOT, main
from tests.waiting import PATIENCE_S

CONFIG = """
import dataclasses
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field

@dataclasses.dataclass(frozen=True)
class Dummy(RunFields):
    steps: int = field(2, "that are counted", at_least(1))
    error: str = field("", "how it ends, if not well")

def get_config():
    return section(Dummy, seed=3)
"""
EXPERIMENT = """
import asyncio, atexit, ctypes, errno, os, time
from tars_jax import GaveUp, InputError
from tars_jax.training.run_directory import Extension

EXTENSIONS = {"steps": Extension("count", again=("after",))}
POSITIONAL = ("error",)

def run(config, run_directory):
    if config.error == "input":
        raise ExceptionGroup("workers", [InputError("maps/a.json must be a map; got a list")])
    if config.error == "gave_up":
        raise ExceptionGroup("workers", [GaveUp("Nobody came.")])
    if config.error == "disk":
        raise RuntimeError("write failed") from OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "x.npz")
    if config.error == "disk of a library":
        raise ValueError("RESOURCE_EXHAUSTED: Error writing \\"/tmp/x\\": No space left on dev")
    if config.error == "place":
        os.mkdir(os.path.join(__file__, "x"))
    if config.error == "bug with a file":
        open("nowhere")
    if config.error == "interrupt":
        raise KeyboardInterrupt
    if config.error == "bug":
        raise ZeroDivisionError
    if config.error == "wait":
        atexit.register(lambda: print("tidied", flush=True))
        libc = ctypes.CDLL(None)
        libc.__cxa_atexit(libc.abort, None, None)  # as XLA's threads do when what they use is destroyed
        print("waiting", flush=True)
        time.sleep(60)
    if config.error == "wait in a finalizer":
        class Waits:
            def __del__(self):
                print("waiting", flush=True)
                time.sleep(60)
        Waits()
        time.sleep(60)
    if config.error == "wait in a library":
        class HalfMade:
            def __del__(self):
                self.socket
        left = HalfMade(), asyncio.sleep(1)
        try:
            print("waiting", flush=True)
            time.sleep(60)
        except BaseException:
            raise ValueError("the save was canceled") from None
    if run_directory.finished("count") is None:
        run_directory.finish("count", {"steps": config.steps})
    if run_directory.finished("after") is None:
        (run_directory.path / "trajectories" / "after").mkdir(parents=True)
        (run_directory.path / "trajectories" / "after" / "0.trajectory").write_text(str(config.steps))
        run_directory.finish("after", {"counted": config.steps})
    return 1 if config.error == "differs" else None
"""


@pytest.fixture
def root(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for folder, text in (("configs", CONFIG), ("experiments", EXPERIMENT)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dummy.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TARS_JAX_PYTHONPATH", "")
    return tmp_path


def test_a_run_gets_a_directory_and_its_config_repeats_it(root: pathlib.Path) -> None:
    assert main(["dummy", "--config.steps=5"], root) == 0
    (run,) = (root / "runs").iterdir()
    assert run.name.startswith("dummy-") and run.name.endswith("-seed3")
    assert json.loads((run / "config.json").read_text()) == {
        "experiment": "dummy",
        "config": {"seed": 3, "run": "", "steps": 5, "error": ""},
    }
    assert json.loads((run / "stages.json").read_text()) == {"count": {"steps": 5}, "after": {"counted": 5}}
    assert main(["dummy", f"--config={run}/config.json"], root) == 0
    (again,) = (path for path in (root / "runs").iterdir() if path != run)
    assert (again / "config.json").read_text() == (run / "config.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["dumy"], "the first argument must be an experiment, one of dummy; got 'dumy' (did you mean 'dummy'?)"),
        (
            ["dummy", "--config.step=1"],
            "a field must be one of this config; got config.step (did you mean config.steps?)",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    root: pathlib.Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments, root) == 2
    assert capsys.readouterr().err == sentence + "\n"
    assert not (root / "runs").exists()


def test_a_finished_run_goes_on_with_more(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is done again stands beside what it was; with less, or with another field, the run is another."""
    assert main(["dummy", "--config.run=here"], root) == 0
    again = ["dummy", "--config=here/config.json", "--config.run=here"]
    assert main([*again, "--config.steps=5"], root) == 0
    run = root / "here"
    assert json.loads((run / "stages.json").read_text()) == {"count": {"steps": 5}, "after": {"counted": 5}}
    assert json.loads((run / "config.json").read_text())["config"]["steps"] == 5
    told = {folder.name: (folder / "0.trajectory").read_text() for folder in (run / "trajectories").iterdir()}
    assert told == {"after": "5", "after-2": "2"}
    before = (run / "stages.json").read_bytes()
    for flags, field in ((["--config.steps=4"], "config.steps"), (["--config.steps=9", "--config.seed=1"], "config.s")):
        assert main([*again, *flags], root) == 2
        assert f"{field}" in capsys.readouterr().err and (run / "stages.json").read_bytes() == before
    assert main(again, root) == 0  # nothing is left to do


def test_a_run_that_is_refused_leaves_no_directory(root: pathlib.Path) -> None:
    for flags, kept in ((["--config.run=new/run"], "new"), ([], "runs")):
        assert main(["dummy", "--config.error=input", *flags], root) == 2
        assert not (root / kept).exists()
    (root / "mine").mkdir()
    assert main(["dummy", "--config.error=input", "--config.run=mine"], root) == 2
    assert list((root / "mine").iterdir()) == []
    assert main(["dummy", "--config.error=gave_up", "--config.run=waits"], root) == 2  # that can be resumed
    assert (root / "waits" / "config.json").exists()
    assert main(["dummy", "--config.run=done"], root) == 0
    record = (root / "done" / "stages.json").read_bytes()
    assert main(["dummy", "--config.run=done", "--config.error=input"], root) == 2
    assert (root / "done" / "stages.json").read_bytes() == record


def test_a_value_without_a_flag_is_the_experiments_own(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dummy", "--config.steps=5", "differs", "--config.run=here"], root) == 1  # what run returned
    assert json.loads((root / "here" / "config.json").read_text())["config"]["error"] == "differs"
    assert main(["dummy", "one", "two"], root) == 2
    assert capsys.readouterr().err == "config.error must be one value; got one two\n"
    other = root / "experiments" / "dummy.py"
    other.write_text(other.read_text().replace("POSITIONAL", "NOTHING"))
    assert main(["dummy", "one"], root) == 2
    assert capsys.readouterr().err.startswith("an argument must be --config=FILE")


def test_errors_of_a_run(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    resume = "./launch/local.sh dummy --config=here/config.json --config.run=here\n"
    assert main(["dummy", "--config.run=here", "--config.error=disk"], root) == 2
    assert capsys.readouterr().err == f"The disk is full (write failed); free some space, then resume with: {resume}"
    assert main(["dummy", "--config.run=full", "--config.error=disk of a library"], root) == 2
    assert capsys.readouterr().err.endswith(
        f"No space left on dev); free some space, then resume with: {resume.replace('here', 'full')}"
    )

    resume = resume.replace("here", "there")
    assert main(["dummy", "--config.run=there", "--config.error=interrupt"], root) == 130
    assert capsys.readouterr().err.endswith(f"Resume with: {resume}")

    resume = resume.replace("there", "elsewhere")
    assert main(["dummy", "--config.run=elsewhere", "--config.error=gave_up"], root) == 2
    assert capsys.readouterr().err == f"Nobody came. Resume with: {resume}"

    assert main(["dummy", "--config.error=input"], root) == 2
    assert capsys.readouterr().err == "maps/a.json must be a map; got a list\n"

    assert main(["dummy", "--config.error=place"], root) == 2
    assert capsys.readouterr().err == "experiments/dummy.py/x cannot be used: Not a directory.\n"

    with pytest.raises(ZeroDivisionError):
        main(["dummy", "--config.error=bug"], root)
    with pytest.raises(FileNotFoundError):
        main(["dummy", "--config.error=bug with a file"], root)


def test_full_disk_while_the_run_directory_is_made(
    root: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert main(["dummy"], root) == 2
    error = capsys.readouterr().err
    assert error.startswith("The disk is full") and error.count("\n") == 1


def test_help_names_the_fields(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dummy", "--help"], root) == 0
    assert "--config.steps=2" in capsys.readouterr().out
    assert main(["dummy", "--config.steps=7", "-h"], root) == 0
    said = capsys.readouterr().out
    assert "--config.steps=7\n      that are counted; must be a value of at least 1\n" in said
    assert "--config.error=\n      how it ends, if not well\n" in said
    assert main([], root) == 2
    assert "experiments: dummy" in capsys.readouterr().out
    assert main(["-h"], root) == main(["--help"], root) == 0
    assert not (root / "runs").exists()


@pytest.mark.multiprocess
@pytest.mark.parametrize(
    ("number", "error"),
    [
        (signal.SIGINT, "wait"),
        (signal.SIGTERM, "wait in a finalizer"),
        (signal.SIGTERM, "wait in a library"),
    ],
)
def test_signals_say_how_to_resume(root: pathlib.Path, number: signal.Signals, error: str) -> None:
    program = (
        f"import sys, pathlib, experiments.__main__ as m; m.leave(m.main(sys.argv[1:], pathlib.Path({str(root)!r})))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, "dummy", "--config.run=here", f"--config.error={error}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        while "waiting" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(number)
        said, last = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130 and (said.endswith("tidied\n") or error != "wait")
    assert last.endswith("./launch/local.sh dummy --config=here/config.json --config.run=here\n")
    assert main(["dummy", "--config=here/config.json", "--config.run=here", "--config.error=x"], root) == 2


SCRIPT = """
import pathlib, sys, time
from tars_jax.environment import ActionSpace, Function, Observation, Transition
from tars_jax.pipelines.command import main

MARKS = pathlib.Path("once"), pathlib.Path("twice")


class Slow:
    instruction = "Say it."
    action_space = ActionSpace("tools", functions=(Function("say", "Says it.", {"type": "object", "properties": {}}),))
    max_steps = 1

    def reset(self, task):
        for mark in MARKS:
            if not mark.exists():
                mark.touch()
                print("waiting", flush=True)
                time.sleep(3)
                break
        return Observation(text="now")

    def step(self, actions):
        return Transition(Observation(text="over"), 1.0, terminated=True, success=True)

    def close(self):
        pass


if __name__ == "__main__":
    sys.exit(main(["train", "--config.environment=mine:Slow", "--config.run=a run"]))
"""


@pytest.mark.multiprocess
@pytest.mark.slow
def test_what_an_interrupted_script_elsewhere_says_can_be_pasted(tmp_path: pathlib.Path) -> None:
    """`python 'my own/mine.py'` finds mine:Slow beside itself, and so does the command that it prints, twice."""
    script = tmp_path / "my own" / "mine.py"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    others = {name: value for name, value in os.environ.items() if name != "TARS_JAX_PYTHONPATH"}
    start = functools.partial(
        subprocess.Popen, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**others, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    launcher, command = f"{ROOT}/launch/local.sh", shlex.join([sys.executable, "my own/mine.py"])
    started = shlex.join([sys.executable, "-P", "-m", "experiments"])  # by the launcher, behind its set-up
    for _ in range(2):
        begun = start(["sh", "-c", f"{command.replace(launcher, started)} & wait $!"], start_new_session=True)
        assert begun.stdout is not None
        try:
            while "waiting" not in begun.stdout.readline():
                assert begun.poll() is None
            os.killpg(begun.pid, signal.SIGINT)
            _, said = begun.communicate(timeout=PATIENCE_S)
        finally:
            os.killpg(begun.pid, signal.SIGKILL)
            begun.wait()
        command = said.strip().splitlines()[-1].removeprefix("Interrupted. Resume with: ")
        assert command.startswith(f"PYTHONPATH='my own:{ROOT}' {launcher} train "), said
    again = start(["sh", "-c", f"exec {command.replace(launcher, started).replace('PYTHONPATH=', 'env PYTHONPATH=')}"])
    assert again.stdout is not None
    try:
        assert any("train: resuming a run" in line for line in iter(again.stdout.readline, ""))
    finally:
        again.kill()
        again.communicate()
