"""BrowseComp's result files: accuracy and calibration by hand, and the lines that each benchmark's scorer reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax.agent.actions import Finished
from tars_jax.agent.grammar_text import format_call
from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.evaluation.benchmarks.browsecomp import (
    Graded,
    calibration_error,
    calibration_error_zh,
    write_results,
    write_results_zh,
)
from tars_jax.tasks.benchmarks.browsecomp import BROWSECOMP, BROWSECOMP_ZH
from tars_jax.tasks.benchmarks.browsecomp_response import response_of
from tars_jax.trajectory import Outcome, Step, Trajectory
from tests.tasks.benchmarks.browsecomp_files import CANARY, QUESTIONS_ZH, rows_zh, write_csv, write_xlsx


def episode(response: str, success: bool | None, **details: Any) -> Trajectory:
    action = format_call(Finished(response))
    step = Step(b"", f"Action: {action}", "", action, None, 0.0, 0, True, {}, "")
    metadata = {"judge": "browsecomp", "judge_calls": 1, "judge_details": details} if details else {}
    return Trajectory("e", {}, (), (step,), Outcome.FINISHED, float(bool(success)), metadata, b"", "", success)


def lost(**metadata: Any) -> Trajectory:
    return Trajectory("e", {}, (), (), Outcome.FAILED, 0.0, metadata)


def grade(correct: bool, confidence: float | None, answer: str = "Nera") -> dict[str, Any]:
    said = "yes" if correct else "no"
    return {"extracted_final_answer": answer, "reasoning": "compared", "correct": said, "confidence": confidence}


def test_calibration_by_hand() -> None:
    assert calibration_error([]) == 0.0
    assert calibration_error([Graded(True, 100.0), Graded(False, 0.0)]) == 0.0
    # (90, 100]: one of two is right at 97.5 on average; (50, 60]: none of one at 60.
    three = [Graded(True, 95.0), Graded(False, None), Graded(False, 60.0)]
    assert calibration_error(three) == pytest.approx(2 / 3 * abs(0.5 - 0.975) + 1 / 3 * 0.6)
    # 80 to 100: one of two is right at 90; below 20: none of two, one of which says nothing.
    four = [Graded(True, 80.0), Graded(False, 100.0), Graded(False, None), Graded(False, 19.0)]
    assert calibration_error_zh(four) == pytest.approx(2 / 4 * abs(0.5 - 0.9) + 2 / 4 * 0.095)


def test_results_of_browsecomp(tmp_path: Path) -> None:
    tasks = BROWSECOMP.read(write_csv(tmp_path / "set.csv"))
    played = [
        Attempt(tasks[0], 0, episode(response_of("Nera", 90), True, **grade(True, 90.0))),
        Attempt(tasks[0], 1, lost(infrastructure_failures=["judge: judge browsecomp raised, the last of 3 times"])),
        Attempt(tasks[1], 0, episode("eight 😀", False, **grade(False, None, "eight 😀"))),
        Attempt(tasks[1], 1, lost(infrastructure_failures=["browser: gone"])),
        Attempt(tasks[2], 0, episode(response_of("1898", 20), False)),  # graded by another judge
    ]
    files = write_results(tmp_path / "results", played, BenchmarkRun(BROWSECOMP, "a model", tmp_path, {}))
    assert [file.name for file in files] == ["results.jsonl", "summary.json"]
    lines = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert [(line["id"], line["attempt"], line.get("correct"), line.get("confidence")) for line in lines] == [
        ("browsecomp-0000", 0, "yes", 90.0), ("browsecomp-0000", 1, None, None), ("browsecomp-0001", 0, "no", None),
        ("browsecomp-0001", 1, None, None), ("browsecomp-0002", 0, "no", 20.0),
    ]  # fmt: skip
    assert lines[2]["extracted_final_answer"] == "eight 😀" == lines[2]["response"]
    assert lines[3]["lost"] == "browser: gone" and all(line["canary"] == CANARY for line in lines)
    summary = json.loads(files[1].read_text())
    assert (summary["played"], summary["graded"], summary["correct"], summary["incorrect"]) == (5, 3, 1, 2)
    assert (summary["lost"], summary["judge_away"], summary["cannot_say"], summary["judge_calls"]) == (1, 1, 0, 2)
    assert summary["accuracy"] == pytest.approx(1 / 3)
    assert summary["calibration_error"] == pytest.approx((abs(1 - 0.9) + 1.0 + 0.2) / 3)  # three bins of one


def test_results_of_browsecomp_zh_are_what_its_script_reads(tmp_path: Path) -> None:
    tasks = BROWSECOMP_ZH.read(write_xlsx(tmp_path / "zh.xlsx", rows_zh()))
    played = [
        Attempt(tasks[0], 0, episode(response_of("内拉河", 85), True, **grade(True, 85.0, "内拉河"))),
        Attempt(tasks[1], 0, episode("1898", False, **grade(False, None, "1898"))),
        Attempt(tasks[1], 1, lost(cannot_say="an alias?")),
    ]
    files = write_results_zh(tmp_path / "results", played, BenchmarkRun(BROWSECOMP_ZH, "../a/b", tmp_path, {}))
    assert files[0] == tmp_path / "results" / "a_b" / "infer.jsonl"
    lines = [json.loads(line) for line in files[0].read_text(encoding="utf-8").splitlines()]
    assert [(line["Question"], line["Answer"], line["Topic"]) for line in lines] == QUESTIONS_ZH
    said = [line["eval_result"][0] for line in lines]
    assert [each["is_correct"] for each in said] == ["yes", "no"]
    assert [each["model_extracted_confidence"] for each in said] == ["85%", ""]
    assert said[1]["model_extracted_answer"] == said[1]["model_prediction"] == "1898"
    summary = json.loads(files[-1].read_text())
    assert (summary["graded"], summary["cannot_say"], summary["lost"]) == (2, 1, 0)
    assert summary["calibration_error"] == pytest.approx(0.5 * abs(1 - 0.85))


def test_nothing_was_graded(tmp_path: Path) -> None:
    tasks = BROWSECOMP.read(write_csv(tmp_path / "set.csv"))
    files = write_results(tmp_path, [Attempt(tasks[0], 0, lost())], BenchmarkRun(BROWSECOMP, "a", tmp_path, {}))
    summary = json.loads(files[1].read_text())
    assert summary["accuracy"] is None and summary["calibration_error"] is None and summary["lost"] == 1
