"""Runs of `evaluate` on one page: all suites of a checkpoint beside published figures, and checkpoints compared.

Tables 1 to 3 of the UI-TARS-2 report with our rows. Published figures are carried over, never measured here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.evaluation import published
from tars_jax.evaluation.report import ReportTable
from tars_jax.evaluation.statistics import Estimate, bootstrap_difference
from tars_jax.evaluation.tables import estimate_text
from tars_jax.json_fields import read_object

PAPER = "(paper)"
GAMES = ("games15", "lmgame")


@dataclasses.dataclass(frozen=True)
class SuiteRun:
    """Measurements of one run of `evaluate`."""

    path: Path
    suite: str
    checkpoint: str
    result: Mapping[str, Any]

    @property
    def success(self) -> Estimate | None:
        """Success in percent, where the suite counts successes."""
        found = self.result.get("success")
        return None if found is None else Estimate(*(100 * found[name] for name in Estimate._fields))

    @property
    def tasks(self) -> Mapping[str, Mapping[str, Any]]:
        """Scores and successes of the tasks that count, by id."""
        return {id: told for id, told in self.result.get("by_task", {}).items() if told["scores"]}

    @property
    def lost(self) -> str:
        """The number of lost episodes in words; empty: none was lost."""
        lost = self.result.get("lost_to_infrastructure", 0) + self.result.get("judge_cannot_say", 0)
        return f"; {lost} episodes lost" if lost else ""


def read_suite_run(path: Path) -> SuiteRun:
    """Raises InputError for a folder that holds no result of `evaluate`."""
    file = path / "result.json"
    if not file.is_file():
        raise InputError(f"config.runs must be folders of finished runs of evaluate; got {path}, without result.json")
    result = read_object(file)
    for name in ("suite", "checkpoint"):
        if not isinstance(result.get(name), str):
            raise InputError(f"config.runs: {name} of {file} must be a text, as evaluate writes it; got nothing")
    if not isinstance(result.get("by_task"), dict):
        raise InputError(f"config.runs: {file} must have by_task; it is of a version before, or nothing was measured")
    return SuiteRun(path, result["suite"], result["checkpoint"], result)


def benchmarks_table(runs: Sequence[SuiteRun], called: Mapping[str, str]) -> ReportTable | None:
    """Table 1: success in percent, a column for each benchmark that was played; None without any."""
    suites = [suite for suite in dict.fromkeys(run.suite for run in runs) if suite not in GAMES]
    if not suites:
        return None
    of = {suite: published.BENCHMARKS[suite][1] for suite in suites if suite in published.BENCHMARKS}
    rows: list[list[str | int]] = [
        [f"{agent} {PAPER}", *(of[suite][number] if suite in of else "-" for suite in suites)]
        for number, agent in enumerate(published.BENCHMARK_AGENTS)
        if of
    ]
    for checkpoint, name in called.items():
        mine = {run.suite: run for run in runs if run.checkpoint == checkpoint}
        rows.append([name, *(_cell(mine[suite]) if suite in mine else "-" for suite in suites)])
    versions = "; ".join(
        f"{suite}: theirs of {published.BENCHMARKS[suite][0]}, ours of {_version(runs, suite)}" for suite in of
    )
    note = f"Rows marked {PAPER} are carried over from the UI-TARS-2 report, table 1. {versions}." if of else ""
    return ReportTable("Benchmarks, success in percent", ("", *suites), rows, note)


def games_table(runs: Sequence[SuiteRun], called: Mapping[str, str]) -> ReportTable | None:
    """Table 2: scores of the fifteen games with the best scripted player as 100; the paper's with a human."""
    mine = {run.checkpoint: run for run in runs if run.suite == "games15"}
    if not mine:
        return None
    paper = published.GAMES15_AGENTS[1:]
    head = ("Game", *(called[each] for each in mine), *(f"{agent} {PAPER}" for agent in paper))
    names = dict.fromkeys(name for run in mine.values() for name in run.result.get("raw", {}))
    rows: list[list[str | int]] = []
    for name in names:
        theirs = published.normalized_to_human(name)[1:] if name in published.GAMES15 else (None,) * len(paper)
        ours = (_estimate(run.result.get("normalized", {}).get(name)) for run in mine.values())
        rows.append([name, *ours, *("-" if score is None else f"{score:.1f}" for score in theirs)])
    means = (_estimate(run.result.get("mean_normalized_score")) for run in mine.values())
    rows.append(["Mean, not capped", *means, *(f"{score:.1f}" for score in published.GAMES15_MEAN[1:])])
    note = (
        f"Columns marked {PAPER}: table 2, normalized to its human player on its own games; ours to the best scripted "
        "player of each game, on other implementations: to be read, not subtracted."
    )
    return ReportTable("Fifteen games, normalized scores", head, rows, note)


def lmgame_table(runs: Sequence[SuiteRun], called: Mapping[str, str]) -> ReportTable | None:
    """Table 3: scores as LMGame-Bench reports them."""
    mine = {run.checkpoint: run for run in runs if run.suite == "lmgame"}
    if not mine:
        return None
    head = ("Game", *(called[each] for each in mine), f"{published.LMGAME_AGENT} {PAPER}")
    rows: list[list[str | int]] = [
        [
            name,
            *(_estimate(run.result.get("reported", {}).get(name)) for run in mine.values()),
            f"{score:g} ± {spread:g}",
        ]
        for name, (score, spread) in published.LMGAME.items()
    ]
    return ReportTable("LMGame-Bench", head, rows, f"The column marked {PAPER}: table 3.")


def comparison_tables(runs: Sequence[SuiteRun], called: Mapping[str, str]) -> list[ReportTable]:
    """Tables for each suite that the first checkpoint and another played: differences over the tasks that both have."""
    tables = []
    for suite in dict.fromkeys(run.suite for run in runs):
        mine = {run.checkpoint: run for run in runs if run.suite == suite}
        first, *others = (mine[each] for each in called if each in mine)
        rows: list[list[str | int]] = []
        for other in others:
            both = [id for id in first.tasks if id in other.tasks]
            if not both:
                rows.append([called[other.checkpoint], 0, "-", "-"])
                continue
            rows.append([called[other.checkpoint], len(both), *_differences(first, other, both)])
        if rows:
            head = ("", "tasks of both", "success, points more", "score more")
            note = f"Against {called[first.checkpoint]}, task by task; 95% intervals by a bootstrap over tasks."
            tables.append(ReportTable(f"{suite}: checkpoints compared", head, rows, note))
    return tables


def _differences(first: SuiteRun, other: SuiteRun, both: Sequence[str]) -> list[str]:
    cells = []
    for what, unit in (("successes", 100), ("scores", 1)):
        before, after = ([_mean(run.tasks[id][what]) * unit for id in both] for run in (first, other))
        cells.append(estimate_text(bootstrap_difference(before, after, paired=True), 1 if unit == 100 else 3))
    return cells


def _mean(values: Sequence[float]) -> float:
    return sum(map(float, values)) / len(values)


def _cell(run: SuiteRun) -> str:
    success = run.success
    if success is None:  # of a suite of ours: successes by name
        solved, played = map(sum, zip(*run.result.get("successes", {"": (0, 0)}).values(), strict=True))
        return f"{100 * solved / played:.1f} of {played}{run.lost}" if played else "-"
    return f"{estimate_text(success)} of {run.result['tasks']}{run.lost}"


def _estimate(found: Any) -> str:
    return "-" if not found else estimate_text(Estimate(*(found[name] for name in Estimate._fields)))


def _version(runs: Sequence[SuiteRun], suite: str) -> str:
    return next(
        (run.result["benchmark"]["version"] for run in runs if run.suite == suite and "benchmark" in run.result), "-"
    )
