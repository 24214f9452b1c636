"""Predictions, logs and the report of SWE-bench's own form."""

from __future__ import annotations

import base64
import json
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.swe_bench import write_results
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask
from tars_jax.tasks.benchmarks.swe_bench import SWE_BENCH
from tars_jax.trajectory import Outcome, Trajectory


def played(id: str, patch: str | None, *, resolved: bool = False, attempt: int = 0, **more: Any) -> Attempt:
    """`patch`: None of an episode that was lost."""
    told: dict[str, Any] = {
        "patch": patch, "applied": True, "timed_out": False, "classified": None,
        "report": {"resolved": resolved}, "log": base64.b64encode(zlib.compress(b"a log")).decode(), **more,
    }  # fmt: skip
    about = {"infrastructure_failures": ["gone"]} if patch is None else {"final": {"benchmark": {"details": told}}}
    outcome = Outcome.FAILED if patch is None else Outcome.FINISHED
    trajectory = Trajectory(id, {}, (), (), outcome, float(resolved), about, success=resolved)
    return Attempt(BenchmarkTask(id, ""), attempt, trajectory)


def test_each_end_of_an_episode_has_its_place(tmp_path: Path) -> None:
    episodes = [
        played("solved", "diff 1", resolved=True),
        played("wrong", "diff 2", classified=["no_tests_collected", "ambiguous"]),
        played("empty", "", report=None),
        played("lost", None),
        played("not applied", "diff 3", applied=False, report=None),
        played("slow", "diff 4", timed_out=True, classified=["tests_timed_out", "ambiguous"]),
        played("solved", None, attempt=1),
    ]
    written = write_results(tmp_path, episodes, BenchmarkRun(SWE_BENCH, "org/model", Path("issues"), {}))
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "predictions.jsonl", "org__model.tars_jax.json", "predictions.2.jsonl", "org__model.tars_jax-2.json",
    ]  # fmt: skip
    lines = [json.loads(line) for line in written[0].read_text().splitlines()]
    assert lines[0] == {"instance_id": "solved", "model_name_or_path": "org/model", "model_patch": "diff 1"}
    assert [line["instance_id"] for line in lines] == ["solved", "wrong", "empty", "not applied", "slow"]
    report = json.loads(written[1].read_text())
    assert {name: value for name, value in report.items() if not name.endswith("_ids")} == {
        "total_instances": 6, "submitted_instances": 5, "completed_instances": 2, "resolved_instances": 1,
        "unresolved_instances": 1, "infra_failure_instances": 0, "ambiguous_failure_instances": 2,
        "empty_patch_instances": 1, "error_instances": 2, "schema_version": 2,
        "failure_reasons": {"slow": "tests_timed_out", "wrong": "no_tests_collected"},
    }  # fmt: skip
    assert (report["incomplete_ids"], report["error_ids"]) == (["lost"], ["not applied", "slow"])
    logs = tmp_path / "logs" / "run_evaluation" / "tars_jax" / "org__model"
    assert json.loads((logs / "solved" / "report.json").read_text()) == {"solved": {"resolved": True}}
    assert (logs / "slow" / "test_output.txt").read_text() == "a log" and not (logs / "slow" / "report.json").exists()
    assert (logs / "not applied" / "run_instance.log").exists() and not (logs / "lost").exists()
    assert written[2].read_text() == ""


GRADER = Path(__file__).parents[3] / ".cache" / "swe_bench" / "bin" / "python"
# The package's own report of a folder of logs; Docker's client, which it looks for, has no part in it.
OFFICIAL = """
import json, os, sys, types
sys.modules["docker"] = types.SimpleNamespace(DockerClient=object)
import swebench
for name in ("harness", "image_builder"):
    module = sys.modules[f"swebench.{name}"] = types.ModuleType(f"swebench.{name}")
    module.__path__ = [f"{swebench.__path__[0]}/{name}"]
sys.modules["swebench.image_builder.docker_utils"] = types.SimpleNamespace(list_images=None)
from swebench.harness.reporting import make_run_report
os.chdir(sys.argv[1])
given = [json.loads(line) for line in open("predictions.jsonl")]
data = [{"instance_id": id} for id in sys.argv[2:]]
path = make_run_report({each["instance_id"]: each for each in given}, data, "tars_jax", report_dir="official")
"""


@pytest.mark.skipif(not GRADER.exists(), reason="needs swebench (./launch/swe_bench.sh)")
def test_the_package_reports_the_same_of_our_logs(tmp_path: Path) -> None:
    collected = ["no_tests_collected", "ambiguous"]
    episodes = [
        played("solved", "diff 1", resolved=True),
        played("wrong", "diff 2", classified=collected, log=base64.b64encode(zlib.compress(b"no tests ran")).decode()),
        played("empty", "", report=None),
        played("lost", None),
        played("not-applied", "diff 3", applied=False, report=None),
    ]
    _, ours = write_results(tmp_path, episodes, BenchmarkRun(SWE_BENCH, "model", Path("issues"), {}))
    ids = [each.task.id for each in episodes]
    subprocess.run([GRADER, "-I", "-c", OFFICIAL, tmp_path, *ids], check=True, capture_output=True)
    assert json.loads((tmp_path / "official" / ours.name).read_text()) == json.loads(ours.read_text())


def test_of_a_lost_episode_the_output_of_its_tests_is_kept(tmp_path: Path) -> None:
    lost = played("lost", None)
    details = {"patch": "diff 1", "applied": True, "log": base64.b64encode(zlib.compress(b"why")).decode()}
    lost.trajectory.metadata["lost"] = {"details": details}
    write_results(tmp_path, [lost], BenchmarkRun(SWE_BENCH, "model", Path("issues"), {}))
    logs = tmp_path / "logs/run_evaluation/tars_jax/model/lost"
    assert {path.name: path.read_text() for path in logs.iterdir()} == {
        "patch.diff": "diff 1",
        "test_output.txt": "why",
    }
    assert (tmp_path / "predictions.jsonl").read_text() == ""
    assert json.loads((tmp_path / "model.tars_jax.json").read_text())["incomplete_ids"] == ["lost"]
