"""The report of a benchmark's episodes: result.json and report.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.evaluation.benchmarks.attempts import (
    Attempt,
    BenchmarkRun,
    BenchmarkScore,
    costs_of,
    groups_of,
    notes_of,
    score_of,
    with_lost_as_0,
)
from tars_jax.evaluation.published import benchmark_rows
from tars_jax.evaluation.scoring import SUCCESS_UNIT, step_budgets
from tars_jax.evaluation.statistics import Estimate
from tars_jax.evaluation.tables import budget_table, estimate_text, markdown

ALL = "All"


def result_of(played: Sequence[Attempt], left_out: Mapping[str, str], about: BenchmarkRun) -> dict[str, Any]:
    """Contents of result.json; without figures where no episode counts."""
    counted = [each for each in played if each.counts]
    lost = [each for each in played if not each.counts]
    unsaid = [each for each in lost if each.trajectory.cannot_say]
    by_task: dict[str, dict[str, Any]] = {}
    for each in played:
        told = by_task.setdefault(each.task.id, {"group": each.task.group, "scores": [], "successes": [], "lost": []})
        if each.counts:
            told["scores"].append(each.trajectory.reward)
            told["successes"].append(each.trajectory.succeeded)
        else:
            told["lost"].append(each.loss[:500])
    result: dict[str, Any] = {
        "suite": about.benchmark.name,
        "benchmark": {"title": about.benchmark.title, "version": about.benchmark.version},
        "checkpoint": about.agent,
        "seed": about.seed,
        "path": str(about.tasks),
        "options": dict(about.options),
        "episodes": len(played),
        "lost_to_infrastructure": len(lost) - len(unsaid),
        "judge_cannot_say": len(unsaid),
        "left_out": dict(left_out),
        "notes": notes_of(played),
        "costs": costs_of(played),
        "by_task": by_task,
    }
    if not counted:
        return result
    groups = {name: score_of(some).to_json() for name, some in groups_of(counted).items()}
    curve = {str(budget): each._asdict() for budget, each in curve_of(counted).items()}
    errors = {"with_lost_as_0": with_lost_as_0(played)} if lost else {}  # beside the score, which is of the others
    return {**result, **score_of(counted).to_json(), **errors, "groups": groups, "step_budgets": curve}


def curve_of(counted: Sequence[Attempt]) -> dict[int, Estimate]:
    """Success in percent within so many steps: an episode that took more has not ended."""
    most = max(each.trajectory.task["max_steps"] for each in counted)
    return {
        budget: Estimate(*(100 * number for number in score_of(counted, budget).success))
        for budget in step_budgets(most)
    }


def report_of(played: Sequence[Attempt], left_out: Mapping[str, str], about: BenchmarkRun) -> str:
    """The page in Markdown; at least one episode counts."""
    counted = [each for each in played if each.counts]
    attempts = 1 + max(each.attempt for each in played)
    lost, costs = len(played) - len(counted), costs_of(played)
    rows = {**{name or "-": score_of(some) for name, some in groups_of(counted).items()}, ALL: score_of(counted)}
    table = markdown(_head(attempts), [_row(name, each, attempts) for name, each in rows.items()])
    note = (
        f"{len({each.task.id for each in played})} tasks, {attempts} attempt{'s' * (attempts > 1)} at each, seed "
        f"{about.seed}; 95% intervals in brackets. {about.benchmark.title}, {about.benchmark.version}."
    )
    parts = [f"# {about.benchmark.title}, played by {about.agent}", note, table]
    if lost:
        all_of = with_lost_as_0(played)
        parts.append(
            f"{lost} of {len(played)} episodes were lost and count nowhere: neither as failures nor as successes."
            f" With 0 for each of them, as leaderboards have it that count errors, the mean of all episodes is"
            f" {all_of['score']:.3f}, and {100 * all_of['success']:.1f}% succeed."
            f" The last one: {next(each.loss for each in reversed(played) if not each.counts):.300}"
        )
    if left_out:
        reasons = "\n".join(f"- {id}: {why}" for id, why in list(left_out.items())[:400])
        parts.append(f"{len(left_out)} tasks cannot be played here and count nowhere:\n\n{reasons}")
    if notes := notes_of(played):
        parts.append("\n".join(["Of single episodes:\n", *(f"- {id}: {note}" for id, note in notes.items())]))
    if published := benchmark_rows(about.benchmark.name):
        parts.append(markdown(("Published by the report, not measured here", "success, %", "of"), published))
    spent = (
        f"{costs['steps']:,} steps, {costs['tokens_read']:,} tokens read and {costs['tokens_written']:,} written, "
        f"{costs['seconds']:,.0f} seconds of episodes, {costs['judge_calls']:,} calls of judging models."
    )
    parts += [
        f"## Costs\n\n{spent}",
        f"## Success against step budget\n\n{budget_table({SUCCESS_UNIT: curve_of(counted)})}",
    ]
    return "\n\n".join([*parts, "![success against step budget](budget.svg)"]) + "\n"


def _head(attempts: int) -> tuple[str, ...]:
    several = (f"pass@{attempts}", f"pass^{attempts}") if attempts > 1 else ()
    return ("Tasks", "tasks", "episodes", "score", "success, %", *several)


def _row(name: str, score: BenchmarkScore, attempts: int) -> list[str]:
    several = [_percent(score.any_attempt), _percent(score.every_attempt)] if attempts > 1 else []
    return [
        name, str(score.tasks), str(score.episodes), estimate_text(score.score, 3), _percent(score.success), *several,
    ]  # fmt: skip


def _percent(estimate: Estimate) -> str:
    return estimate_text(Estimate(*(100 * number for number in estimate)))
