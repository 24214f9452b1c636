"""Copies of metrics elsewhere: the real libraries where they are installed, and stand-ins for what is asked of them."""

import math
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.training.metrics import MetricsWriter


class FakeRun:
    def __init__(self, **asked: Any) -> None:
        self.asked, self.logged, self.axes, self.finished = asked, [], {}, False  # type: ignore[var-annotated]

    def define_metric(self, name: str, step_metric: str) -> None:
        self.axes[name] = step_metric

    def log(self, values: dict[str, float]) -> None:
        assert not self.finished
        self.logged.append(values)

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[FakeRun]:
    """What is asked of a module `wandb`."""
    opened: list[FakeRun] = []

    def init(**asked: Any) -> FakeRun:
        opened.append(FakeRun(**asked))
        return opened[-1]

    module = types.ModuleType("wandb")
    module.init, module.Settings = init, dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    return opened


def test_rows_go_to_an_offline_run_with_the_steps_of_their_stage(tmp_path: Path, runs: list[FakeRun]) -> None:
    with MetricsWriter(tmp_path, ("wandb",)) as metrics:
        metrics.write("supervised", 7, {"loss": 0.5})
        metrics.write("ppo", 1, {"success": 0.25, "entropy": math.nan})
    (run,) = runs
    assert run.asked["mode"] == "offline" and run.asked["dir"] == str(tmp_path) and run.finished
    assert run.logged == [{"supervised/loss": 0.5, "supervised/step": 7}, {"ppo/success": 0.25, "ppo/step": 1}]
    assert run.axes == {"supervised/*": "supervised/step", "ppo/*": "ppo/step"}


def test_a_copy_is_made_again_when_a_run_is_resumed_or_taken_back(tmp_path: Path, runs: list[FakeRun]) -> None:
    for step in (1, 2):
        with MetricsWriter(tmp_path, ("wandb",)) as metrics:
            metrics.write("ppo", step, {"success": step / 4})
    with MetricsWriter(tmp_path, ("wandb",)) as metrics:
        metrics.truncate_after("ppo", 1)
    assert all(run.finished for run in runs)
    assert [[values["ppo/step"] for values in run.logged] for run in runs] == [[1], [1, 2], [1, 2], [1]]


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_the_extra_is_named_where_a_logger_is_not_installed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (name, f"{name}.tracking"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        InputError, match=rf"config.loggers must name what is installed; got '{name}'.*tars_jax\[{name}\]"
    ):
        MetricsWriter(tmp_path, (name,))


def test_the_real_wandb_writes_an_offline_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    with MetricsWriter(tmp_path, ("wandb",)) as metrics:
        metrics.write("ppo", 1, {"success": 0.25})
    (written,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    assert written.stat().st_size > 0


def test_the_real_mlflow_keeps_files_in_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for step in (1, 2):
        with MetricsWriter(tmp_path, ("mlflow",)) as metrics:
            metrics.write("ppo", step, {"success": step / 4, "entropy": math.nan})
    (curve,) = (tmp_path / "mlruns").glob("*/*/metrics/ppo/success")
    assert [line.split()[1:] for line in curve.read_text().splitlines()] == [["0.25", "1"], ["0.5", "2"]]
