"""WebArena-Verified's results: a folder for each task with the files of its command, which evaluates and packs them.

    TASK_ID/agent_response.json    what the agent answered, as it did
    TASK_ID/network.har            what its page asked of the network
    TASK_ID/eval_result.json       what the evaluators said
    summary.json                   counts, by site, and lost episodes with their reason

Further attempts are below attempt_1, attempt_2 and so on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic

CHECKSUMS = ("webarena_verified_evaluator_checksum", "webarena_verified_data_checksum")


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """Lost episodes have no folder: they are none of the benchmark's errors, either."""
    files = []
    for each in played:
        details = _details(each)
        if not each.counts or "har" not in details:
            continue
        task = (folder / f"attempt_{each.attempt}" if each.attempt else folder) / each.task.id
        response = details.get("response")
        files += [
            _write(task / "agent_response.json", response if response and response.strip() else "null"),
            _write(task / "network.har", json.dumps(details["har"], ensure_ascii=False)),
            _write(task / "eval_result.json", json.dumps(details["result"], ensure_ascii=False, indent=2)),
        ]
    return [*files, _write(folder / "summary.json", json.dumps(_summary(played, about), indent=2))]


def _details(each: Attempt) -> Mapping[str, Any]:
    details: Mapping[str, Any] = each.trajectory.metadata.get("final", {}).get("benchmark", {}).get("details", {})
    return details


def _summary(played: Sequence[Attempt], about: BenchmarkRun) -> dict[str, Any]:
    counted = [each for each in played if each.counts]
    groups = sorted({each.task.group for each in counted})
    by_site = {group: _counts([each for each in counted if each.task.group == group]) for group in groups}
    results = [_details(each).get("result", {}) for each in counted]
    checksums = {name: next((each[name] for each in results if name in each), "") for name in CHECKSUMS}
    return {
        "agent": about.agent, "webarena_verified_version": about.benchmark.version, **checksums,
        "summary": {"overall": _counts(counted), "per_site": by_site},
        "lost": [{"task_id": each.task.id, "attempt": each.attempt, "why": each.loss} for each in played if each.loss],
    }  # fmt: skip


def _counts(played: Sequence[Attempt]) -> dict[str, Any]:
    solved = [each.task.id for each in played if each.trajectory.succeeded]
    failed = [each.task.id for each in played if not each.trajectory.succeeded]
    return {
        "total": len(played), "success_count": len(solved), "failure_count": len(failed), "success_task_ids": solved,
        "failed_task_ids": failed,
    }  # fmt: skip


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, text.encode())
    return file
