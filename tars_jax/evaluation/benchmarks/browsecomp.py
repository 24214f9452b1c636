"""Results of BrowseComp and BrowseComp-ZH: a grade for each question, accuracy, and how true stated confidences are.

    browsecomp/results.jsonl, summary.json
    browsecomp_zh/AGENT/infer.jsonl, summary.json       as run_acc_calibration_error.py reads it, by its --input_path

They hold questions and answers in plain words, which their authors ask nobody to publish; each line has the canary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic
from tars_jax.judges.browsecomp import NOT_UNDERSTOOD
from tars_jax.judges.reference import answer_of
from tars_jax.tasks.benchmarks.browsecomp_response import question_in, read_response

_BINS, _BINS_ZH = 10, 5


class Graded(NamedTuple):
    """A response with its grade."""

    correct: bool
    confidence: float | None  # 0 to 100, as the response says it


def calibration_error(graded: Sequence[Graded]) -> float:
    """Sum over ten bins of confidence of n / N |share correct - mean confidence|, 0 to 1. 0 for none.

    A bin is open below and closed above, the first closed on both sides; no confidence counts as 100. That is how
    inspect-evals bins them; the benchmark's public script has no calibration.
    """
    said = [(each.correct, 100.0 if each.confidence is None else each.confidence) for each in graded]
    return _binned([(right, sure, max(0, -(-int(sure * 1000) // (100_000 // _BINS)) - 1)) for right, sure in said])


def calibration_error_zh(graded: Sequence[Graded]) -> float:
    """The calibration error of BrowseComp-ZH, over the five bins min(confidence // 20, 4), 0 to 1, in whole percents;
    no confidence counts as 0."""
    said = [(each.correct, float(int(each.confidence or 0))) for each in graded]
    return _binned([(right, sure, min(int(sure) // 20, _BINS_ZH - 1)) for right, sure in said])


def _binned(placed: Sequence[tuple[bool, float, int]]) -> float:
    """Calibration error of (correct, confidence of 0 to 100, bin)."""
    error = 0.0
    for number in {bin for *_, bin in placed}:
        own = [(right, sure) for right, sure, bin in placed if bin == number]
        share, mean = (sum(each) / len(own) for each in zip(*own, strict=True))
        error += len(own) / len(placed) * abs(share - mean / 100)
    return error


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """Lost episodes have no grade: they are in the file with their reason, and not in accuracy or calibration."""
    records = [_record(each) for each in played]
    summary = _summary(played, calibration_error, about)
    return [_write_lines(folder / "results.jsonl", records), _write_json(folder / "summary.json", summary)]


def write_results_zh(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """Like `write_results`. Lost episodes are left out of infer.jsonl, whose reader would take them for wrong."""
    name = re.sub(r"[^\w.-]+", "_", about.agent).strip("._") or "agent"
    lines = [_record_zh(each) for each in played if _grade(each) is not None]
    lost = [_record(each) for each in played if _grade(each) is None]
    files = [_write_lines(folder / name / "infer.jsonl", lines)]
    if lost:
        files.append(_write_lines(folder / "lost.jsonl", lost))
    return [*files, _write_json(folder / "summary.json", _summary(played, calibration_error_zh, about))]


def _grade(each: Attempt) -> Mapping[str, Any] | None:
    """None for an episode that was lost, or that nobody could judge."""
    if not each.counts or each.trajectory.success is None:
        return None
    said: Mapping[str, Any] = each.trajectory.metadata.get("judge_details", {})
    if "correct" in said:
        return said
    parts = read_response(_response(each))  # graded by another judge than the benchmark's
    return {
        "extracted_final_answer": parts.exact_answer or "None", "reasoning": "",
        "correct": "yes" if each.trajectory.success else "no", "confidence": parts.confidence,
    }  # fmt: skip


def _response(each: Attempt) -> str:
    return (answer_of(each.trajectory) or "") if each.trajectory.steps else ""


def _record(each: Attempt) -> dict[str, Any]:
    metadata = each.trajectory.metadata
    grade = _grade(each)
    names: tuple[str, ...] = ("judge", "judge_version", "judge_calls")
    kept = {name: metadata[name] for name in names if name in metadata}
    return {
        "id": each.task.id, "attempt": each.attempt, "problem_topic": each.task.group,
        "problem": question_in(each.task.instruction), "answer": each.task.reference, "response": _response(each),
        **(dict(grade) if grade is not None else {"lost": each.loss or "nobody judged it"}),
        "steps": len(each.trajectory.steps), **kept, "canary": each.task.record.get("canary", ""),
    }  # fmt: skip


def _record_zh(each: Attempt) -> dict[str, Any]:
    """As BrowseComp-ZH's runner writes it."""
    grade = _grade(each)
    assert grade is not None, "asked of what has a grade"
    confidence = "" if grade["confidence"] is None else f"{grade['confidence']:.0f}%"
    result = {
        "model_extracted_answer": grade["extracted_final_answer"], "model_prediction": _response(each),
        "is_correct": grade["correct"], "model_extracted_confidence": confidence,
    }  # fmt: skip
    return {
        "Topic": each.task.record.get("topic", ""), "Question": question_in(each.task.instruction),
        "Answer": each.task.reference, "canary": each.task.record.get("canary", ""), "eval_result": [result],
        "id": each.task.id, "attempt": each.attempt, "reasoning": grade["reasoning"],
    }  # fmt: skip


def _summary(played: Sequence[Attempt], error: Any, about: BenchmarkRun) -> dict[str, Any]:
    grades = [grade for each in played if (grade := _grade(each)) is not None]
    graded = [Graded(grade["correct"] == "yes", grade["confidence"]) for grade in grades]
    right = sum(each.correct for each in graded)
    unjudged = sum(bool(each.trajectory.cannot_say) for each in played)
    away = sum(each.loss.startswith("judge:") for each in played)
    return {
        "benchmark": about.benchmark.name, "version": about.benchmark.version, "agent": about.agent,
        "played": len(played), "graded": len(graded), "cannot_say": unjudged, "judge_away": away,
        "lost": len(played) - len(graded) - unjudged - away, "correct": right, "incorrect": len(graded) - right,
        "not_understood": sum(grade["reasoning"].startswith(NOT_UNDERSTOOD) for grade in grades),  # among the incorrect
        "accuracy": right / len(graded) if graded else None,
        "calibration_error": error(graded) if graded else None,
        "without_confidence": sum(each.confidence is None for each in graded),
        "judge_calls": sum(each.trajectory.metadata.get("judge_calls", 0) for each in played),
    }  # fmt: skip


def _write_lines(file: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode())
    return file


def _write_json(file: Path, value: Mapping[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode())
    return file
