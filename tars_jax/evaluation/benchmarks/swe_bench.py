"""Episodes as SWE-bench's own files: predictions, logs, and a report of its schema version 2.

FOLDER/predictions.jsonl                                   of the first attempt; predictions.2.jsonl of the second
FOLDER/logs/run_evaluation/RUN/MODEL/INSTANCE/             test_output.txt, patch.diff, report.json
FOLDER/MODEL.RUN.json                                      the report

An episode that was lost has no prediction and stands among the incomplete ones; where its tests ran, there are their
output and its patch. One whose patch did not apply or whose tests took too long has no report of its own and stands
among the errors, as there.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic

RUN = "tars_jax"
AMBIGUOUS, ENVIRONMENT = "ambiguous", "environment"  # tiers of swebench


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """The predictions and the report of each attempt."""
    written: list[Path] = []
    for attempt in sorted({each.attempt for each in played}):
        run = RUN if attempt == 0 else f"{RUN}-{attempt + 1}"
        written += _write_attempt(folder, [each for each in played if each.attempt == attempt], about.agent, run)
    return written


def _write_attempt(folder: Path, played: Sequence[Attempt], agent: str, run: str) -> list[Path]:
    found = {each.task.id: _details(each) for each in played}
    lines = [
        {"instance_id": id, "model_name_or_path": agent, "model_patch": details["patch"]}
        for id, details in found.items() if details is not None
    ]  # fmt: skip
    predictions = folder / f"predictions{run.removeprefix(RUN).replace('-', '.')}.jsonl"
    write_atomic(predictions, "".join(json.dumps(line) + "\n" for line in lines).encode())
    logs = folder / "logs" / "run_evaluation" / run / agent.replace("/", "__")
    for id, details in found.items():
        if details is not None and details["patch"]:
            _write_instance(logs / id, id, details)
    for each in played:
        if (left := each.remains.get("details", {})) and left.get("patch"):
            _write_log(logs / each.task.id, left)
    report = folder / f"{agent.replace('/', '__')}.{run}.json"
    write_atomic(report, json.dumps(_report(found), indent=4).encode())
    return [predictions, report]


def _details(each: Attempt) -> Mapping[str, Any] | None:
    """None of an episode that was lost."""
    final = each.trajectory.metadata.get("final", {}).get("benchmark", {})
    details: Mapping[str, Any] | None = final.get("details") if each.counts else None
    return details


def _is_completed(details: Mapping[str, Any]) -> bool:
    return bool(details["patch"]) and details["applied"] and not details["timed_out"]


def _write_log(folder: Path, details: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "patch.diff", details["patch"].encode())
    log = zlib.decompress(base64.b64decode(details["log"]))
    write_atomic(folder / ("test_output.txt" if details["applied"] else "run_instance.log"), log)


def _write_instance(folder: Path, id: str, details: Mapping[str, Any]) -> None:
    _write_log(folder, details)
    if _is_completed(details):
        write_atomic(folder / "report.json", json.dumps({id: details["report"]}, indent=4).encode())


def _report(found: Mapping[str, Mapping[str, Any] | None]) -> dict[str, Any]:
    given = {id: details for id, details in found.items() if details is not None}
    patched = {id: details for id, details in given.items() if details["patch"]}
    completed = [id for id, details in patched.items() if _is_completed(details)]
    resolved = [id for id in completed if patched[id]["report"]["resolved"]]
    unresolved = [id for id in completed if id not in resolved]
    errors = [id for id in patched if id not in completed]
    told = {id: patched[id]["classified"] for id in (*unresolved, *errors) if patched[id]["classified"]}
    ids = {
        "completed": completed, "incomplete": [id for id in found if id not in given],
        "empty_patch": [id for id in given if id not in patched], "submitted": list(given), "resolved": resolved,
        "unresolved": unresolved, "infra_failure": [id for id, (_, tier) in told.items() if tier == ENVIRONMENT],
        "ambiguous_failure": [id for id, (_, tier) in told.items() if tier == AMBIGUOUS], "error": errors,
    }  # fmt: skip
    counts = {f"{name}_instances": len(each) for name, each in ids.items() if name != "incomplete"}
    return {
        "total_instances": len(found), **counts, **{f"{name}_ids": sorted(each) for name, each in ids.items()},
        "failure_reasons": {id: reason for id, (reason, _) in sorted(told.items())}, "schema_version": 2,
    }  # fmt: skip
