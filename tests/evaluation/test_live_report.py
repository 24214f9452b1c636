"""The page of a run in progress: how far it is, when that was written, how it ended, and what it costs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tars_jax.evaluation.live_report import REFRESH, SHARE, LiveReport
from tars_jax.training.metrics import MetricsWriter
from tars_jax.training.progress import Moment
from tars_jax.training.run_directory import write_json
from tars_jax.trajectory import Outcome, Step, Trajectory


class Run:
    """As much of a run directory as the page asks for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stages: dict[str, dict[str, Any]] = {}
        write_json(path / "config.json", {"experiment": "quickstart", "config": {"environment": "mine:Large"}})

    def results(self) -> Mapping[str, Mapping[str, Any]]:
        return self.stages


class Clock:
    """Moves on by `step` seconds whenever it is read."""

    now, step = 100.0, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


PPO = Moment("ppo", 7, 15, "updates", 130.0)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def opened(run: Run, clock: Clock | None = None) -> LiveReport:
    return LiveReport(run, clock=clock or Clock(), now=lambda: "2026-11-27 20:31:05 +0000")  # type: ignore[arg-type]


def text_of(run: Run) -> str:
    return (run.path / "report.html").read_text(encoding="utf-8")


def test_it_says_how_far_the_run_is_and_what_is_done(run: Run) -> None:
    run.stages["before"] = {"success": 0.465, "episodes": 200, "seconds": 61.0}
    with MetricsWriter(run.path) as metrics:
        for step in (1, 2, 3):
            metrics.write("ppo", step, {"success": step / 4})
            metrics.write("continual_pretraining", step, {"loss": 2.0, "accuracy": 0.5})
    opened(run).show(PPO)
    page = text_of(run)
    assert "Running: stage ppo, 7 of 15 updates, about 2:10 left of the stage." in page
    assert "Written 2026-11-27 20:31:05 +0000." in page and "it was killed" in page
    assert f"--config={run.path}/config.json --config.run={run.path}" in page
    assert "<tr><th>before</th><td>1:01</td><td>200</td><td>46.5%</td></tr>" in page
    assert "Improvement by PPO" in page and "Continual pretraining" in page and page.count("<svg") == 3
    assert "<h1>Quickstart: mine:Large</h1>" in page
    assert f'http-equiv="refresh" content="{REFRESH}"' in page and "<script" not in page


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (Moment("before", 0, 200, "episodes", math.nan, compiling=True), "before, 0 of 200 episodes, compiling."),
        (Moment("value", 3, 9, "updates", math.nan), "stage value, 3 of 9 updates."),
        (Moment("<b>", 3, None, "episodes", math.nan), "stage &lt;b&gt;, 3 episodes."),
    ],
)
def test_what_is_not_known_is_not_said(moment: Moment, words: str, run: Run) -> None:
    opened(run).show(moment)
    assert words in text_of(run)


def test_writing_takes_a_hundredth_of_the_time(run: Run) -> None:
    clock = Clock()
    page = opened(run, clock)
    clock.step = 3.0  # between begin and end of a page, and whenever it is asked for
    page.show(PPO)
    clock.step = 0.0
    written = (run.path / "report.html").stat().st_mtime_ns
    clock.now += 3.0 / SHARE - 1
    page.show(PPO)
    assert (run.path / "report.html").stat().st_mtime_ns == written
    clock.now += 1
    page.show(PPO)
    assert (run.path / "report.html").stat().st_mtime_ns > written


def test_an_end_is_said_and_a_report_is_left_alone(run: Run) -> None:
    with pytest.raises(KeyboardInterrupt), opened(run) as page:
        page.show(PPO)
        raise KeyboardInterrupt
    assert "Interrupted. It was in stage ppo, 7 of 15 updates" in text_of(run) and "refresh" not in text_of(run)
    with pytest.raises(ValueError, match="no"), opened(run):
        raise ValueError("no <room>")
    assert "Stopped by an error: ValueError: no &lt;room&gt;" in text_of(run)
    with opened(run) as page:
        page.show(PPO)
    assert "Its stages are done." in text_of(run)
    with opened(run) as page:
        page.show(PPO)
        (run.path / "report.html").write_text("the report")
    assert text_of(run) == "the report"


def test_evaluations_are_replayed(run: Run) -> None:
    def episodes(word: str) -> list[Trajectory]:
        step = Step(b"", "", "", f"say({word})", None, 0.0, 0, True, {}, "a question")
        return [Trajectory(str(n), {"seed": n}, (), (step,), Outcome.FINISHED, 0.0) for n in range(9)]

    clock = Clock()
    page = opened(run, clock)
    page.evaluated(episodes("one"))
    page.look()
    assert len(re.findall(r"say\(<wbr>one\)", text_of(run))) == 4
    page.evaluated(episodes("two"))
    page.evaluated(episodes("three"))
    clock.now += 1000
    page.look()
    found = text_of(run)
    assert [len(re.findall(rf"say\(<wbr>{word}\)", found)) for word in ("one", "two", "three")] == [4, 0, 4]


def test_a_full_disk_at_the_end_hides_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tars_jax.evaluation.live_report.write_atomic", refuse)
    with pytest.raises(ValueError, match="the cause"), opened(run):
        raise ValueError("the cause")
