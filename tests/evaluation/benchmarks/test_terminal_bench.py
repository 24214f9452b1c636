"""A job folder of Harbor's, of what was played here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun, costs_of
from tars_jax.evaluation.benchmarks.terminal_bench import write_results
from tars_jax.tasks.benchmarks.terminal_bench import TERMINAL_BENCH, read_tasks
from tars_jax.trajectory import Outcome, Trajectory
from tests.envs.benchmarks.harbor_folders import SHIPPED

HARBOR = Path(__file__).parents[3] / ".cache" / "harbor" / "bin" / "python"
READ = """
import sys
from pathlib import Path
from harbor.viewer.scanner import JobScanner
scanner = JobScanner(Path(sys.argv[1]))
result = scanner.get_job_result("terminal_bench")
print(scanner.get_job_config("terminal_bench").n_attempts, result.n_total_trials, result.stats.n_errored_trials)
for name in scanner.list_trials("terminal_bench"):
    trial = scanner.get_trial_result("terminal_bench", name)
    rewards = trial.verifier_result and trial.verifier_result.rewards
    print(name, trial.reward_valid, rewards, [error.exception_type for error in trial.recorded_exceptions()])
"""


def stage(reward: float | None, name: str = "", **more: Any) -> dict[str, Any]:
    rewards = None if reward is None else {"reward": reward}
    return {"step": name, "rewards": rewards, "timed_out": False, "said": "tests said", "artifacts": {}, **more}


def played(name: str, attempt: int, reward: float, *stages: dict[str, Any], loss: str = "") -> Attempt:
    task = next(task for task in read_tasks(SHIPPED) if task.id == name)
    final = {"seconds": 2.0, "ended_by": "agent", "details": {"rewards": {"reward": reward}, "steps": list(stages)}}
    about: dict[str, Any] = {"infrastructure_failures": [loss]} if loss else {"final": {"benchmark": final}}
    outcome = Outcome.FAILED if loss else Outcome.FINISHED
    return Attempt(
        task, attempt, Trajectory(f"{name} {attempt}", {}, (), (), outcome, reward, about, success=reward == 1)
    )


def episodes() -> list[Attempt]:
    missing = "verifier: the tests must write /logs/verifier/reward.txt or reward.json; got neither"
    return [
        played("plum_file", 0, 1.0, stage(1.0, artifacts={"logs/artifacts/p": "cA==", "../../out": "cA=="})),
        played("plum_file", 1, 0.0, stage(0.0, timed_out=True)),
        played("two_steps", 0, 0.5, stage(1.0, "first"), stage(0.0, "second")),
        played("two_steps", 1, 0.0, loss=missing),
    ]


def test_lost_episodes_are_errors_that_the_mean_counts_as_0(tmp_path: Path) -> None:
    about = BenchmarkRun(TERMINAL_BENCH, "a model", SHIPPED, {})
    [path] = write_results(tmp_path, episodes(), about)
    result = json.loads(path.read_text())
    [stats] = result["stats"]["evals"].values()
    assert (result["n_total_trials"], stats["n_trials"], stats["n_errors"]) == (4, 3, 2)
    assert stats["metrics"] == [{"mean": 0.375}, {"mean_without_errors": 0.5}]
    assert stats["exception_stats"] == {
        "AgentTimeoutError": ["plum_file__2"], "RewardFileNotFoundError": ["two_steps__2"],
    }  # fmt: skip
    assert stats["pass_at_k"] == {"2": 0.5}
    job = path.parent
    assert (job / "plum_file__1" / "artifacts" / "logs" / "artifacts" / "p").read_bytes() == b"p"
    assert not (tmp_path / "out").exists() and not (job / "out").exists()
    assert (job / "two_steps__1" / "steps" / "second" / "verifier" / "test-stdout.txt").read_text() == "tests said"
    assert "got neither" in (job / "two_steps__2" / "exception.txt").read_text()
    assert json.loads((job / "two_steps__2" / "result.json").read_text())["verifier_result"] is None


def test_of_a_lost_trial_its_last_try_is_kept(tmp_path: Path) -> None:
    lost = episodes()[3]
    turns = [{"action": "execute_bash(command='ls')", "observation": "box"}]
    details = {"step": "second", "done": [stage(1.0, "first")], "said": "no reward of these tests"}
    counts = {"steps": 1, "tokens_read": 20, "tokens_written": 5, "seconds": 2.5}
    lost.trajectory.metadata["lost"] = {"first": "Commands run in /app.", "turns": turns, "details": details, **counts}
    assert {name: costs_of([lost])[name] for name in counts} == counts
    write_results(tmp_path, [lost], BenchmarkRun(TERMINAL_BENCH, "a model", SHIPPED, {}))
    trial = tmp_path / "terminal_bench" / "two_steps__2"
    assert json.loads((trial / "agent" / "turns.json").read_text())["turns"] == turns
    said = {step: (trial / "steps" / step / "verifier" / "test-stdout.txt").read_text() for step in ("first", "second")}
    assert said == {"first": "tests said", "second": "no reward of these tests"}
    assert not (trial / "steps" / "second" / "verifier" / "reward.json").exists()
    result = json.loads((trial / "result.json").read_text())["agent_result"]
    assert (result["n_input_tokens"], result["n_output_tokens"], result["metadata"]["steps"]) == (20, 5, 1)


@pytest.mark.skipif(not HARBOR.exists(), reason="needs Harbor (./launch/harbor.sh)")
def test_harbor_reads_them(tmp_path: Path) -> None:
    write_results(tmp_path, episodes(), BenchmarkRun(TERMINAL_BENCH, "a model", SHIPPED, {}))
    told = subprocess.run([HARBOR, "-c", READ, str(tmp_path)], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == [
        "2 4 2",
        "plum_file__1 True {'reward': 1.0} []",
        "plum_file__2 True {'reward': 0.0} ['AgentTimeoutError']",
        "two_steps__1 True {'reward': 0.5} []",
        "two_steps__2 False None ['RewardFileNotFoundError']",
    ]
