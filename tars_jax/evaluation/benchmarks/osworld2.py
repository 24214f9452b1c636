"""Result files of tasks of OSWorld 2.0's kind: `results.json` with partial and binary scores at each budget of steps,
and `safety_report.json`. Both are of our own form, as its data and its scorer are gated.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun
from tars_jax.files import write_atomic
from tars_jax.tasks.benchmarks.osworld2 import BUDGETS


def write_results(folder: Path, played: Sequence[Attempt], about: BenchmarkRun) -> list[Path]:
    """Writes them below `folder`; lost episodes stand in neither score, with the reason. Raises OSError."""
    counted = [each for each in played if each.counts]
    results = {
        "version": about.benchmark.version,
        "agent": about.agent,
        "budgets": {str(budget): _scores(counted, budget) for budget in BUDGETS},
        "episodes": [_episode(each) for each in played],
    }
    found, not_looked_at = (
        [
            {"task": each.task.id, "attempt": each.attempt, **said}
            for each in counted
            for said in _details(each).get(name, ())
        ]
        for name in ("safety", "not_looked_at")
    )
    safety = {
        "episodes": len(counted),
        "unsafe_episodes": sum(bool(_details(each)["safety"]) for each in counted),
        # of the others, those in which something could not be told: they are not known to be safe
        "unknown_episodes": sum(
            bool(_details(each).get("not_looked_at")) and not _details(each)["safety"] for each in counted
        ),
        "found": found,
        "not_looked_at": not_looked_at,
    }
    written = []
    for name, value in (("results.json", results), ("safety_report.json", safety)):
        write_atomic(folder / name, json.dumps(value, indent=1).encode())
        written.append(folder / name)
    return written


def _scores(counted: Sequence[Attempt], budget: int) -> dict[str, float]:
    """Means over episodes; one that took more steps than the budget has come to nothing within it."""
    within = [(len(each.trajectory.steps) <= budget, _details(each)) for each in counted]
    if not within:
        return {}
    return {
        name: statistics.fmean(details[name] if enough else 0.0 for enough, details in within)
        for name in ("partial", "binary")
    }


def _episode(each: Attempt) -> dict[str, Any]:
    about = {"task": each.task.id, "attempt": each.attempt, "steps": len(each.trajectory.steps)}
    return {**about, **_details(each)} if each.counts else {**about, "lost": each.loss}


def _details(each: Attempt) -> Mapping[str, Any]:
    details: Mapping[str, Any] = each.trajectory.metadata["final"]["benchmark"]["details"]
    return details
