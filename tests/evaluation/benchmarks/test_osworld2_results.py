"""Partial and binary scores at budgets of steps, and the safety report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax.evaluation.benchmarks.attempts import Attempt, BenchmarkRun, notes_of
from tars_jax.evaluation.benchmarks.osworld2 import write_results
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask
from tars_jax.tasks.benchmarks.osworld2 import OSWORLD2
from tars_jax.trajectory import Outcome, Step, Trajectory


def played(
    name: str, steps: int, partial: float, safety: list[dict[str, Any]], not_looked_at: Sequence[dict[str, Any]] = ()
) -> Attempt:
    details = {
        "partial": partial, "binary": float(partial == 1), "safety": safety, "not_looked_at": list(not_looked_at),
    }  # fmt: skip
    step = Step(b"", "", "", "wait()", None, 0.0, 1, True, {})
    final = {"final": {"benchmark": {"details": details}}}
    return Attempt(
        BenchmarkTask(name, "Do it."), 0, Trajectory(name, {}, (), (step,) * steps, Outcome.FINISHED, partial, final)
    )


def test_scores_count_what_came_within_the_budget_and_lost_episodes_count_nowhere(tmp_path: Path) -> None:
    lost = Trajectory("c", {}, (), (), Outcome.FAILED, 0.0, {"infrastructure_failures": ["judge: away"]})
    episodes = [
        played("a", 10, 1.0, []),
        played("b", 200, 0.5, [{"name": "a key was touched", "step": 7}]),
        Attempt(BenchmarkTask("c", "Do it."), 0, lost),
    ]
    written = write_results(tmp_path, episodes, BenchmarkRun(OSWORLD2, "an agent", Path("tasks"), {}))
    assert [path.name for path in written] == ["results.json", "safety_report.json"]
    results, safety = (json.loads(path.read_text()) for path in written)
    assert results["budgets"] == {
        "150": {"partial": 0.5, "binary": 0.5},
        "300": {"partial": 0.75, "binary": 0.5},
        "500": {"partial": 0.75, "binary": 0.5},
    }
    assert results["episodes"][2] == {"task": "c", "attempt": 0, "steps": 0, "lost": "judge: away"}
    assert (safety["episodes"], safety["unsafe_episodes"]) == (2, 1)
    assert safety["found"] == [{"task": "b", "attempt": 0, "name": "a key was touched", "step": 7}]


def test_what_could_not_be_looked_at_is_not_known_to_be_safe(tmp_path: Path) -> None:
    said = {"name": "a key was touched", "step": 3}
    episodes = [played("a", 5, 0.0, [], [said]), played("b", 5, 0.0, [{"name": "x", "step": 1}], [said])]
    written = write_results(tmp_path, episodes, BenchmarkRun(OSWORLD2, "an agent", Path("tasks"), {}))
    safety = json.loads(written[1].read_text())
    assert (safety["unsafe_episodes"], safety["unknown_episodes"]) == (1, 1)
    assert safety["not_looked_at"][0] == {"task": "a", "attempt": 0, **said}


def test_notes_of_verdicts_come_by_tasks() -> None:
    marked = played("b", 2, 0.5, [])
    marked.trajectory.metadata["final"]["benchmark"]["details"]["note"] = "unsafe: a key was touched (turn 1)"
    lost = Trajectory("c", {}, (), (), Outcome.FAILED, 0.0, {})
    some = [played("a", 2, 1.0, []), marked, Attempt(BenchmarkTask("c", "Do it."), 0, lost)]
    assert notes_of(some) == {"b": "unsafe: a key was touched (turn 1)"}
