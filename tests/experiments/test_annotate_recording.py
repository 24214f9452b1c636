"""From a recording to a data set by one command."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from experiments.__main__ import main
from tars_jax.annotation.in_situ.annotated import load_annotation, save_annotation
from tars_jax.annotation.in_situ.review.changes import change_step
from tars_jax.data.datasets import read_dataset
from tars_jax.pipelines.checkout import ROOT
from tests.waiting import PATIENCE_S

pytest.importorskip("espeakng_loader")

from tests.annotation.in_situ.scripted import session, write


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(session(5, steps=4), tmp_path_factory.mktemp("recording"), 5)


def test_without_the_page_the_data_is_written_at_once(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    flags = ("--config.review=False", "--config.speech=none", f"--config.run={run}", "--config.task=Tidy up")
    assert main(["annotate_recording", f"--config.recording={recording}", *flags]) == 0
    printed = capsys.readouterr().out
    assert "synthetic-5: 5 steps, 0 with a thought" in printed and "nobody has looked at them" in printed
    (trajectory,) = read_dataset(str(run / "dataset"))
    assert trajectory.metadata["instruction"] == "Tidy up" and not trajectory.metadata["reviewed"]


@pytest.mark.multiprocess
def test_the_page_is_served_and_a_killed_review_goes_on(recording: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = [
        sys.executable, "-m", "experiments", "annotate_recording", f"--config.recording={recording}",
        "--config.speech=none", f"--config.run={run}",
    ]  # fmt: skip
    for end, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)):
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            with contextlib.ExitStack() as ends:
                ends.callback(process.kill)
                address = next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
                with urllib.request.urlopen(f"{address}state", timeout=PATIENCE_S) as answer:
                    state = answer.read().decode()
                assert ('"thought":"mended"' in state) == (end == signal.SIGTERM)
                mended = change_step(load_annotation(run / "annotation.json"), 0, {"thought": "mended"})
                process.send_signal(end)
                assert process.wait(PATIENCE_S) == code
            save_annotation(run / "annotation.json", mended)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "config.recording must be the folder of a recording"),
        (("--config.recording=nowhere",), "a recording must have recording.json"),
        (("--config.recording={}", "--config.host=0.0.0.0"), "config.host must be an address of this machine alone"),
        (("--config.recording={}", "--config.speech=aloud"), "speech must be embedded or the address"),
    ],
)
def test_what_cannot_be_annotated_is_said(
    recording: Path, tmp_path: Path, flags: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [flag.format(recording) for flag in flags]
    assert main(["annotate_recording", f"--config.run={tmp_path / 'run'}", "--config.review=False", *given]) == 2
    assert message in capsys.readouterr().err
