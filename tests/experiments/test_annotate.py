"""The command: killed in the middle, gone on with, ended in order; and what its last line says of training."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiments.__main__ import main
from tars_jax.data.datasets import read_dataset
from tars_jax.pipelines.checkout import ROOT
from tests.waiting import PATIENCE_S, wait_until

UP = "Thought: on\nAction: go(way='up')"


class Page:
    """What a tab does."""

    def __init__(self, printed: str) -> None:
        found = re.search(r"open (http\S+)/#key=(\S+)", printed)
        assert found is not None, printed
        self._address, self._key = found[1], found[2]

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._address}/api/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    def settled(self, id: str) -> Any:
        def found() -> Any:
            state = self.ask(f"sessions/{id}")
            return state if state["phase"] not in ("proposing", "acting") else None

        return wait_until(found)


@contextlib.contextmanager
def annotating(run: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], Page]]:
    command = [sys.executable, "-m", "experiments", "annotate", f"--config.run={run}", *flags]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with contextlib.ExitStack() as ends:
            ends.callback(process.kill)
            yield process, Page(next(line for line in process.stdout if "#key=" in line))


@pytest.mark.multiprocess
def test_killed_in_the_middle_it_goes_on_at_its_step(tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = '--config.environment_options={"shortest": 2, "longest": 2}'
    flags = ("--config.environment=corridor", options, "--config.checkpoint=random", "--config.seed=3")
    with annotating(run, *flags) as (process, page):
        id = page.ask("sessions", {})["session"]
        for _ in range(2):
            step = page.settled(id)["step"]
            page.ask(f"sessions/{id}/decide", {"step": step, "text": UP, "seconds": 0.01})
        page.settled(id)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
    journal = run / "annotation" / "episodes" / id / "journal.jsonl"
    with open(journal, "ab") as torn:
        torn.write(b'{"event":"deci')  # as a kill leaves it
    others = "--config.annotators=ada,", "--config.gate.minutes=5.0"  # who comes later, and what is otherwise then
    with annotating(run, f"--config={run}/config.json", *others) as (process, page):
        assert json.loads((run / "config.json").read_text())["config"]["annotators"] == ["ada"]
        state = page.ask("sessions", {})
        assert state["session"] == id and len(state["history"]) == 2
        state = page.settled(id)
        page.ask(f"sessions/{id}/decide", {"step": 2, "text": UP, "seconds": 0.01})
        assert page.settled(id)["phase"] == "ended"
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        printed = process.stdout.read()
        assert process.wait(PATIENCE_S) == 0
    [trajectory] = read_dataset(str(run / "annotation" / "trajectories"))
    assert len(trajectory.steps) == 3 and trajectory.metadata["annotation"]["annotator"] == "owner"
    [command] = [line for line in printed.splitlines() if line.startswith("train on them: ")]
    words = shlex.split(command.removeprefix("train on them: "))
    assert words[1] == "train" and f"--config.demonstrations.datasets={run}/annotation/trajectories," in words
    assert options in words and "--config.demonstrations.episodes=0" in words


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("checkpoint=nowhere", "config.checkpoint must be a folder"),
        ("environment=nothing", "environment"),
        ("annotators=ada:king,", "an annotator must be NAME or NAME:ROLE"),
        ("annotators=ada,ada", "names of their own"),
        ("host=0.0.0.0", "config.host must be an address of this machine alone"),
        ("failures=nowhere,", "trajectories must be folders"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    flag: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["annotate", "--config.environment=corridor", "--config.environment_options={}", f"--config.{flag}"]
    assert main([*given, f"--config.run={tmp_path / 'run'}"]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
