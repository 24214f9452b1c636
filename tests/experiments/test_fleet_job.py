"""The main job with its episodes on hosts of a Ray cluster and its engine in an actor: killed, resumed, finished."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from experiments.__main__ import main
from tars_jax.rollout.timeline import TrackOwner, read_timeline
from tars_jax.training.metrics import read_metrics
from tests.experiments.test_main_job import TINY

ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_HOSTS = (
    *TINY,
    "--config.fleet.hosts=2",
    "--config.fleet.cpus=0.1",
    "--config.browser.browsers=1",
    "--config.browser.pages=2",
    "--config.ppo.updates=3",
)
pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]


def test_without_ray_the_extra_is_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["quickstart", f"--config.run={tmp_path / 'run'}", *ON_HOSTS]) == 2
    assert "pip install 'tars_jax[ray]'" in capsys.readouterr().err


@pytest.mark.full
def test_a_job_on_a_fleet_goes_on_after_a_kill(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("ray")
    run = tmp_path / "run"

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "experiments", "quickstart", f"--config.run={run}", *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    first = start(*ON_HOSTS)
    assert first.stdout is not None
    for line in first.stdout:
        if line.startswith("ppo") and "1/3 updates" in line:
            first.kill()
            break
    first.wait()
    again = start(f"--config={run / 'config.json'}")
    said, _ = again.communicate(timeout=600)
    assert again.returncode == 0, said
    result = json.loads((run / "result.json").read_text())
    assert result["training_episodes"] == 18 and result["infrastructure"]["hosts"] == 2
    rows = [row for row in read_metrics(run / "metrics.jsonl") if row.stage == "ppo"]
    assert [row.step for row in rows] == [1, 2, 3]
    assert max(row.values["engine_utilization"] for row in rows) > 0  # the last update may need no new episode
    spans = (event for event in read_timeline(run / "timeline.json") if event["ph"] == "X")
    assert {event["tid"] for event in spans if event["pid"] == TrackOwner.WORKERS} >= {0, 1, 2, 3}
