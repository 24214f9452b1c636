"""WebArena-Verified's result files, by hand and as its own command reads them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.webarena_verified import write_results
from tars_jax.sandbox.browser.network_trace import har_of
from tars_jax.tasks.benchmarks.webarena_verified import WEBARENA_VERIFIED, package_folder
from tars_jax.trajectory import Outcome, Step, Trajectory
from tests.tasks.benchmarks.webarena_files import answer, write_config

COMMAND = package_folder() / "bin" / "webarena-verified"
ASKED = {"request": {"method": "GET", "url": "http://localhost:8023/", "headers": []},
         "response": {"status": 200, "headers": [], "cookies": [], "redirectURL": "", "content": {}}}  # fmt: skip


def episode(response: str | None, success: bool) -> Trajectory:
    result = {"score": float(success), "webarena_verified_data_checksum": "d7"}
    details = {"response": response, "har": har_of([ASKED]), "result": result}
    step = Step(b"", "wait()", "", "wait()", None, 0.0, 0, True, {}, "")
    metadata = {"final": {"benchmark": {"details": details}}}
    return Trajectory("e", {}, (), (step,), Outcome.FINISHED, float(success), metadata, b"", "", success)


def lost(why: str) -> Trajectory:
    return Trajectory("e", {}, (), (), Outcome.FAILED, 0.0, {"infrastructure_failures": [why]})


def test_a_folder_for_each_task(tmp_path: Path) -> None:
    tasks = WEBARENA_VERIFIED.read(write_config(tmp_path, "http://localhost:8023"))
    right, words = answer("retrieve", [3]), "It has 3 😀"
    played = [
        Attempt(tasks[0], 0, episode(right, True)),
        Attempt(tasks[1], 0, episode(None, False)),
        Attempt(tasks[2], 0, lost("verifier: the evaluators did not answer within 120 s")),
        Attempt(tasks[0], 1, episode(words, False)),
    ]
    files = write_results(tmp_path / "out", played, BenchmarkRun(WEBARENA_VERIFIED, "m", tmp_path, {}))
    assert [file.relative_to(tmp_path / "out").as_posix() for file in files] == [
        *(f"0/{name}" for name in ("agent_response.json", "network.har", "eval_result.json")),
        *(f"1/{name}" for name in ("agent_response.json", "network.har", "eval_result.json")),
        *(f"attempt_1/0/{name}" for name in ("agent_response.json", "network.har", "eval_result.json")),
        "summary.json",
    ]  # fmt: skip
    assert (tmp_path / "out/0/agent_response.json").read_text() == right
    assert (tmp_path / "out/1/agent_response.json").read_text() == "null"
    assert (tmp_path / "out/attempt_1/0/agent_response.json").read_text() == words
    har: dict[str, Any] = json.loads((tmp_path / "out/0/network.har").read_text())
    assert har["log"]["version"] == "1.2" and har["log"]["entries"] == [ASKED]
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["summary"]["overall"]["success_task_ids"] == ["0"] and summary["summary"]["overall"]["total"] == 3
    assert summary["summary"]["per_site"]["gitlab"]["failed_task_ids"] == ["1", "0"]
    assert summary["lost"] == [
        {"task_id": "2", "attempt": 0, "why": "verifier: the evaluators did not answer within 120 s"}
    ]
    assert summary["webarena_verified_data_checksum"] == "d7"


@pytest.mark.skipif(not COMMAND.exists(), reason="needs ./launch/webarena_verified.sh")
@pytest.mark.slow
def test_its_own_command_evaluates_them(tmp_path: Path) -> None:
    (config := tmp_path / "config.json").write_text(
        '{"environments": {"__GITLAB__": {"urls": ["http://localhost:8023"]}}}'
    )
    task = next(each for each in WEBARENA_VERIFIED.read(config) if each.id == "44")
    played = [Attempt(task, 0, episode(answer("navigate"), False))]
    write_results(tmp_path / "out", played, BenchmarkRun(WEBARENA_VERIFIED, "m", config, {}))
    subprocess.run(
        [COMMAND, "eval-tasks", "--config", config, "--output-dir", tmp_path / "out"], check=True, capture_output=True
    )
    result = json.loads((tmp_path / "out/44/eval_result.json").read_text())
    assert result["task_id"] == 44 and result["status"] == "failure"
    assert json.loads((tmp_path / "out/eval_results.json").read_text())["summary"]["overall"]["total"] == 1
