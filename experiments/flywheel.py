"""The data flywheel: generate, judge, route, train, evaluate, keep; then report.html."""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax.data.rejection_sampling import PREFERENCES
from tars_jax.evaluation import Curve, Score, Series, wilson_interval
from tars_jax.evaluation.ending import compared, end_run
from tars_jax.evaluation.report import ReportData
from tars_jax.evaluation.report_tables import Table
from tars_jax.pipelines.config import command_of
from tars_jax.pipelines.flywheel import CONTROLS, KEEP, Cycle, FlywheelResult, turn
from tars_jax.pipelines.rules import JOB_RULES, check, imitation_rules
from tars_jax.pipelines.training_sets import READERS
from tars_jax.rules import Rule, at_least, between, more_than, one_of
from tars_jax.training.extension import Extension
from tars_jax.training.metrics import MetricsWriter
from tars_jax.training.run_directory import RunDirectory

EXTENSIONS = {"cycles": Extension("report")}
RULES = JOB_RULES | {
    "environment": Rule(bool, "an environment, or several, separated by commas"),
    "cycles": at_least(1),
    "control": one_of(*CONTROLS),
    "demonstrations.episodes": at_least(0),
    "reader": one_of(*READERS),
    "sampling.tasks": at_least(1),
    "sampling.samples": at_least(1),
    "sampling.at_most": at_least(1),
    "sampling.prefer": one_of(*PREFERENCES),
    "text.ct_weight": Rule(lambda share: 0 <= share < 1, "a share from 0 to below 1"),
    "text.sft_weight": Rule(lambda share: 0 <= share < 1, "a share from 0 to below 1"),
    "ct.every": at_least(0),
    "keep.by": one_of(*KEEP),
    "keep.episodes": at_least(1),
    "keep.weight": between(0, 1),
    **{f"{stage}.{name}": rule for stage in ("ct", "sft") for name, rule in {
        "episodes": at_least(0), "updates": at_least(1)}.items()},
    **imitation_rules("ct"),
    **imitation_rules("sft"),
    "value.learning_rate": more_than(0),
}  # fmt: skip
RULES = {field: rule for field, rule in RULES.items() if not field.startswith("supervised.")}
STAGES = ("ct", "sft", "rl", "kept")
SECTION = "The flywheel"
SHARE = {"share": "share", "low": "95% from", "high": "95% to"}
CURVES = (
    Curve(
        SECTION,
        "Share of V = 1",
        tuple(Series("flywheel", name, label) for name, label in SHARE.items()),
        "of what the latest model generated for fresh tasks",
        "cycle",
        percent=True,
    ),
    Curve(
        SECTION,
        "Held-out success",
        tuple(Series("flywheel", f"{stage}_success", f"after {stage.upper()}") for stage in ("sft", "rl", "ct")),
        "the same tasks after each stage",
        "cycle",
        percent=True,
    ),
    Curve(
        SECTION,
        "Data",
        (Series("flywheel", "sft_episodes", "SFT, V = 1"), Series("flywheel", "ct_episodes", "CT, V = 0")),
        "episodes of the sets",
        "cycle",
        whole=True,
    ),
)


def run(config: Any, run_directory: RunDirectory) -> None:
    check(config)
    found = turn(config, run_directory)
    with MetricsWriter(run_directory.path, config.loggers) as metrics:
        metrics.truncate_after("flywheel", -1)
        for cycle in found.cycles:
            metrics.write("flywheel", cycle.number, values_of(cycle))
    last = found.cycles[-1]
    result = {
        **compared(found.before, found.after),
        "minutes": sum(cycle.seconds for cycle in found.cycles) / 60,
        "seed": config.seed,
        "control": config.control,
        "leaked": found.leaked,
        "alike": found.alike,
        "changed_verdicts": found.changed,
        "cycles": [dataclasses.asdict(cycle) for cycle in found.cycles],
    }
    end_run(
        run_directory.path,
        ReportData(
            title="The data flywheel",
            subtitle=f"{config.environment}, {config.cycles} cycles, control: {config.control}",
            result=result,
            before=found.before,
            after=found.after,
            scores=scores_of(found),
            tables=tables_of(found),
            curves=CURVES,
            config=found.config.to_dict(),
            command=command_of("flywheel", config),
        ),
        weights=run_directory.path / "cycles" / f"{last.number:04d}" / "model",
    )


def values_of(cycle: Cycle) -> dict[str, float]:
    """A point of each curve. What demonstrators solved at the cold start is no share of a model's."""
    solved, judged = cycle.generated
    low, high = wilson_interval(solved, judged)
    share = {"share": solved / judged, "low": low, "high": high} if judged and cycle.number else {}
    scores = {f"{stage}_success": won / played for stage, (won, played) in cycle.scores.items()}
    sizes = {f"{name}_episodes": size for name, size in cycle.datasets.items()}
    return {**share, **scores, **sizes}


def scores_of(found: FlywheelResult) -> list[Score]:
    """V = 1 of each cycle beside the one before: the report's P(V=1 | t) > P(V=1 | t-1)."""
    pairs = zip(found.cycles[1:], found.cycles[2:], strict=False)
    return [
        Score.of_successes(f"V = 1, cycle {old.number} to {new.number}", old.generated, new.generated)
        for old, new in pairs
        if old.generated[1] and new.generated[1]
    ]


def tables_of(found: FlywheelResult) -> list[Table]:
    generated: list[list[str | int]] = []
    for cycle in found.cycles:
        solved, judged = cycle.generated
        low, high = wilson_interval(solved, judged)
        share = f"{100 * solved / judged:.1f}% [{100 * low:.0f}, {100 * high:.0f}]" if judged else ""
        routed = cycle.routed
        more = [routed["unjudged"], routed["contradictory"], routed["held_out"]]
        generated.append([cycle.number, judged, share, routed["sft"], routed["ct"], *more, *cycle.datasets.values()])
    stages: list[list[str | int]] = [
        [
            cycle.number,
            *(_percent(cycle.scores.get(stage)) for stage in STAGES),
            cycle.kept,
            f"{cycle.seconds / 60:.1f}",
        ]
        for cycle in found.cycles
    ]
    models: list[list[str | int]] = [
        [cycle.number, cycle.weights[:12], " ".join(each[:12] for each in cycle.ancestors[-4:])]
        for cycle in found.cycles
    ]
    return [
        Table(
            "What each cycle generated, and where it went",
            ("cycle", "judged", "V = 1 [95%]", "new to SFT", "new to CT", "unjudged", "contradictory", "held out",
             "SFT set", "CT set"),
            generated,
            f"Cycle 0 is the demonstrations. Training episodes of a held-out task: {found.leaked}; that begin exactly "
            f"as a held-out one: {found.alike}. Routed episodes whose verdict became another one "
            f"afterwards: {found.changed}.",
        ),
        Table(
            "Success on the same held-out tasks",
            ("cycle", "after CT", "after SFT", "after RL", "as kept", "kept", "minutes"),
            stages,
        ),
        Table("Lineage", ("cycle", "model", "trained from, the newest last"), models, "Checksums of the checkpoints."),
    ]  # fmt: skip


def _percent(score: tuple[int, int] | None) -> str:
    return "" if score is None else f"{100 * score[0] / score[1]:.1f}%"
