"""The main job as a user runs it: a real process, real Chromium, killed and resumed."""

from __future__ import annotations

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tars_jax.rollout.timeline import TrackOwner, read_timeline
from tars_jax.training.metrics import read_metrics
from tars_jax.trajectory import Outcome
from tars_jax.trajectory.files import load_trajectory
from tests.waiting import PATIENCE_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = (
    "--config.demonstrations.episodes=12",
    "--config.supervised.updates=20",
    "--config.supervised.batch_rows=8",
    "--config.supervised.save_every=10",
    "--config.value.episodes=12",
    "--config.value.max_episodes=30",
    "--config.value.evaluate_every=4",
    "--config.value.max_updates=12",
    "--config.value.batch_rows=8",
    "--config.ppo.updates=4",
    "--config.ppo.min_batch=6",
    "--config.ppo.minibatch_rows=8",
    "--config.task.evaluation_episodes=6",
    "--config.browser.pages=4",
)

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess, pytest.mark.timeout(900)]


def _start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", "quickstart", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _main(*commands: list[str], folder: pathlib.Path) -> tuple[str, list[int]]:
    """Commands one after another in one process: what they said, and their exit codes."""
    program = """if True:
        import json, sys
        from experiments.__main__ import main
        print([main(each) for each in json.loads(sys.argv[1])])"""
    numbered = [[*command, f"--config.run={folder}/command-{number}"] for number, command in enumerate(commands)]
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(numbered)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr, json.loads(done.stdout.splitlines()[-1])


def _wait_for(path: pathlib.Path, process: subprocess.Popen[str], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)


def _killed_and_resumed(moments: tuple[str, ...], folder: pathlib.Path) -> pathlib.Path:
    """A run that was killed at random moments after these checkpoints, and came to its end."""
    run = folder / "run"
    rng = random.Random(7)
    for moment in moments:
        process = _start(*TINY, f"--config.run={run}")
        _wait_for(run / "checkpoints" / moment, process)
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    output, _ = _start(*TINY, f"--config.run={run}").communicate(timeout=400)
    assert (run / "result.json").exists(), output
    return run


@pytest.mark.parametrize(
    "moments",
    [
        ("ppo/00000002",),
        pytest.param(("supervised/00000010", "value/00000004", "ppo/00000001", "ppo/00000002"), marks=pytest.mark.full),
    ],
)
def test_a_killed_run_resumes_and_uses_every_trajectory_once(moments: tuple[str, ...], tmp_path: pathlib.Path) -> None:
    run = _killed_and_resumed(moments, tmp_path)
    used = _consumed(run)
    stored = {int(path.stem) for path in (run / "trajectories" / "ppo").glob("*.trajectory")}
    assert len(set(used)) == len(used) == 4 * 6
    assert set(used) <= stored
    valued = json.loads((run / "stages.json").read_text())["value"]
    asked = sorted(path.stem for path in (run / "trajectories" / "value_episodes").glob("*.trajectory"))
    assert asked == [f"{number:08d}" for number in range(30)] and valued["fitted_to"] == 30
    rows = [row for row in read_metrics(run / "metrics.jsonl") if row.stage == "ppo"]
    assert [row.step for row in rows] == [1, 2, 3, 4]
    # After a resume an update may find its batch there already, and nothing had to be played.
    for name in ("engine_utilization", "steps_per_second"):
        assert min(row.values[name] for row in rows) >= 0 and max(row.values[name] for row in rows) > 0
    for row in rows:
        assert row.values["engine_utilization"] <= 1
        assert row.values["calls_share"] == 0 <= row.values["gui_share"] <= 1  # of a game, which has no functions
        assert sum(row.values[f"stale_{age}"] for age in range(3)) == pytest.approx(1)
    spans = {(event["pid"], event["name"]) for event in read_timeline(run / "timeline.json") if event["ph"] == "X"}
    assert {(TrackOwner.LEARNER, name) for name in ("update", "log_probs", "values", "minibatches", "weights")} <= spans
    assert {(TrackOwner.ENGINE, "read"), (TrackOwner.ENGINE, "decode")} <= spans
    # Nothing is said of "act": a policy of twenty updates may write nothing that can be read.
    assert {(TrackOwner.WORKERS, name) for name in ("reset", "think", "store")} <= spans
    result = json.loads((run / "result.json").read_text())
    assert {"score_before", "score_after", "episodes", "minutes", "seed"} <= set(result)
    assert "http://" not in (run / "report.html").read_text().replace("http://www.w3.org", "")


@pytest.mark.full
def test_what_kills_and_resumes_have_made_is_made_again(tmp_path: pathlib.Path) -> None:
    """From the record alone, and the same levels are played again; not so from a record in another order."""
    run = _killed_and_resumed(("ppo/00000001",), tmp_path)
    other = tmp_path / "other"
    shutil.copytree(run, other)
    record = json.loads((run / "updates.json").read_text())
    record["episodes"][0].reverse()
    (other / "updates.json").write_text(json.dumps(record))
    (other / "policy" / "checkpoint.json").unlink()
    output, codes = _main(
        ["publish", str(run), "--config.trajectories=updates"],
        ["replay", str(run.with_suffix(".zip")), "--config.updates=2"],
        ["replay", str(run), "--config.mode=rollout", "--config.episodes=4"],
        ["replay", str(other), "--config.updates=1"],
        ["replay", str(other), "--config.mode=rollout"],
        folder=tmp_path,
    )
    assert codes == [0, 0, 0, 1, 2], output
    assert "All 2 updates gave the recorded weights, bit for bit." in output
    assert " of 4 episodes are identical" in output
    assert "The first difference is at update 1: {'update': 1, 'weights': ['policy', 'value']" in output
    assert "policy/checkpoint.json: the weights that played 'after'" in output


@pytest.mark.full
def test_browsers_killed_while_groups_train_cost_time_and_nothing_else(
    tmp_path: pathlib.Path, kill_browsers: Callable[[int], list[int]]
) -> None:
    """GRPO: no value model, and whole groups of one task, although browsers die under them."""
    run = tmp_path / "run"
    groups = ("--config.ppo.advantages=group", "--config.ppo.group_size=3", "--config.ppo.kl_weight=0.01")
    process = _start(*TINY, *groups, f"--config.run={run}")
    _wait_for(run / "checkpoints" / "ppo" / "00000001", process)
    killed = kill_browsers(process.pid)
    output, _ = process.communicate(timeout=400)
    assert process.returncode == 0, output
    result = json.loads((run / "result.json").read_text())
    assert len(killed) >= 2 and sum(result["infrastructure"]["failures"].values()) >= 1

    used = [load_trajectory(run / "trajectories" / "ppo" / f"{index:08d}.trajectory") for index in _consumed(run)]
    assert len(used) == 24
    assert all(used[3 * group].task == each.task for group in range(8) for each in used[3 * group : 3 * group + 3])
    assert "explained_variance" not in result and not (run / "value").exists()
    for trajectory in used:  # every episode came to an end of its own
        steps, success = len(trajectory.steps), trajectory.reward > 0
        assert trajectory.outcome.carries_reward
        assert not success or trajectory.outcome is Outcome.FINISHED  # a policy may also say that it is done
        assert trajectory.outcome is not Outcome.TRUNCATED or steps == trajectory.task["max_steps"]


def _consumed(run: pathlib.Path) -> list[int]:
    newest = max((run / "checkpoints" / "ppo").iterdir())
    ledger = json.loads((newest / "checkpoint.json").read_text())["content"]["extra"]["ledger"]["consumed"]
    return [index for batch in ledger for index in batch]


@pytest.mark.full
def test_a_truncated_trajectory_stops_with_its_name(tmp_path: pathlib.Path) -> None:
    run = tmp_path / "run"
    process = _start(*TINY, f"--config.run={run}")
    _wait_for(run / "stages.json", process)
    process.kill()
    process.wait()
    damaged = run / "trajectories" / "demonstrations" / "00000003.trajectory"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    process = _start(*TINY, f"--config.run={run}")
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "00000003.trajectory" in output.strip().splitlines()[-1]


@pytest.mark.full
def test_a_missing_chromium_stops_with_one_sentence(tmp_path: pathlib.Path) -> None:
    environment = {**os.environ, "TARS_JAX_CHROMIUM": str(tmp_path / "nowhere")}
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "quickstart", f"--config.run={tmp_path / 'run'}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "nowhere" in done.stderr and len(done.stderr.strip().splitlines()) == 1
