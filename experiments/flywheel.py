"""The data flywheel: generate, judge, route, train, evaluate, keep; then report.html."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tars_jax.data.store.routing import RL, VALUE
from tars_jax.evaluation import Curve, Score, Series, wilson_interval
from tars_jax.evaluation.report import ReportData, ReportTable
from tars_jax.evaluation.result import before_and_after, write_result
from tars_jax.pipelines.config import command_of
from tars_jax.pipelines.flywheel import Cycle, FlywheelResult, cycle_folder, run_flywheel
from tars_jax.pipelines.job_checks import check
from tars_jax.training.metrics import MetricsWriter
from tars_jax.training.run_directory import Extension, RunDirectory

EXTENSIONS = {"cycles": Extension("report")}
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
    found = run_flywheel(config, run_directory)
    with MetricsWriter(run_directory.path, config.loggers) as metrics:
        metrics.truncate_after("flywheel", -1)
        for cycle in found.cycles:
            metrics.write("flywheel", cycle.number, values_of(cycle))
    last = found.cycles[-1]
    result = {
        **before_and_after(found.before, found.after),
        "minutes": sum(cycle.seconds for cycle in found.cycles) / 60,
        "seed": config.seed,
        "control": config.control,
        "leaked": found.leaked,
        "alike": found.alike,
        "changed_verdicts": found.changed,
        "cycles": [dataclasses.asdict(cycle) for cycle in found.cycles],
    }
    write_result(
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
        weights=cycle_folder(run_directory.path, last.number) / "model",
        parts=[cycle_folder(run_directory.path, cycle.number) for cycle in found.cycles],
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


def tables_of(found: FlywheelResult) -> list[ReportTable]:
    generated: list[list[str | int]] = []
    for cycle in found.cycles:
        routed = cycle.routed
        more = [routed[name] for name in ("sft", "ct", "recycled", "moved", "unjudged", "contradictory", "held_out")]
        share = _with_interval(cycle.generated)
        generated.append([cycle.number, cycle.generated[1], share, *more, *cycle.datasets.values()])
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
        ReportTable(
            "What each cycle generated, and where it went",
            ("cycle", "judged", "V = 1 [95%]", "new to SFT", "new to CT", "of RL and value model", "moved", "unjudged",
             "contradictory", "held out", "SFT set", "CT set"),
            generated,
            f"Cycle 0 is the demonstrations. Training episodes of a held-out task: {found.leaked}; that begin exactly "
            f"as a held-out one: {found.alike}. Moved: they left a set, as another verdict counts than before; "
            f"waiting for that: {found.changed}.",
        ),
        ReportTable(
            "What CT and SFT were trained on",
            ("cycle", "stage", "source", "episodes", "tokens learned from", "share of these"),
            mixed_in(found.cycles),
            "Tokens: of CT all text, of SFT the agent's own.",
        ),
        ReportTable(
            "What RL and value pretraining played and the store took in",
            ("cycle", "RL", "value model", "left out"),
            [
                [cycle.number, *(cycle.recycled[stage] for stage in (RL, VALUE)), cycle.recycled["left_out"]]
                for cycle in found.cycles
                if cycle.recycled
            ],
            "The next cycle routes them. Left out: what is beyond recycle.episodes of a stage.",
        ),
        *([ReportTable(
            "V = 1 by place",
            ("cycle", "place", "generated [95%]", "held out [95%]"),
            by_place(found.cycles),
            "Of what was generated for tasks to train on, and of the held-out tasks as the cycle's model plays them.",
        )] if len({place for cycle in found.cycles for part in cycle.places.values() for place in part}) > 1 else []),
        ReportTable(
            "Success on the same held-out tasks",
            ("cycle", "after CT", "after SFT", "after RL", "as kept", "kept", "minutes"),
            stages,
        ),
        ReportTable(
            "Lineage", ("cycle", "model", "trained from, the newest last"), models, "Checksums of the checkpoints."
        ),
    ]  # fmt: skip


def mixed_in(cycles: Sequence[Cycle]) -> list[list[str | int]]:
    """A row for each source of each training."""
    rows: list[list[str | int]] = []
    for cycle in cycles:
        for stage, sources in cycle.mixtures.items():
            total = sum(part["tokens"] for part in sources.values())
            rows += [
                [cycle.number, stage.upper(), source, part["episodes"], part["tokens"],
                 f"{100 * part['tokens'] / total:.1f}%"]
                for source, part in sources.items()
            ]  # fmt: skip
    return rows


def by_place(cycles: Sequence[Cycle]) -> list[list[str | int]]:
    """A row for each website or environment of each cycle."""
    rows: list[list[str | int]] = []
    for cycle in cycles:
        parts = [cycle.places.get(part, {}) for part in ("generated", "held_out")]
        for place in sorted(set().union(*parts)):
            rows.append([cycle.number, place, *(_with_interval(part.get(place, (0, 0))) for part in parts)])
    return rows


def _with_interval(score: tuple[int, int]) -> str:
    solved, judged = score
    if not judged:
        return ""
    low, high = wilson_interval(solved, judged)
    return f"{100 * solved / judged:.1f}% [{100 * low:.0f}, {100 * high:.0f}] of {judged}"


def _percent(score: tuple[int, int] | None) -> str:
    return "" if score is None else f"{100 * score[0] / score[1]:.1f}%"
