"""Which of the report's trends hold at this size: each is measured over seeds, and judged by tests fixed beforehand.

RUN/trends/T7.json and T7.svg hold a trend's result and figure; a trend that is there is not measured again, so a run
that was killed goes on with the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.evaluation.figures import draw_trend, save_figure
from tars_jax.launcher import LAUNCHER
from tars_jax.pipelines.config import flatten
from tars_jax.pipelines.learning_sections import AnnotationPlan
from tars_jax.pipelines.trends import TRENDS
from tars_jax.pipelines.trends.bench import Bench, Measured, Trend
from tars_jax.pipelines.trends.verdicts import overall
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json

TUNING = 1000  # the first seed of the search


def run(config: Any, run_directory: RunDirectory) -> None:
    chosen = _chosen(config.trends)
    trained = run_directory.path / "trained"
    trained.mkdir(exist_ok=True)
    bench = bench_of(config, trained, say=lambda line: print(f"  {line}", flush=True))
    folder = run_directory.path / "trends"
    folder.mkdir(exist_ok=True)
    left = [trend for trend in chosen if run_directory.finished(trend.name) is None]
    progress = Progress("scoreboard", len(chosen), "trends", done=len(chosen) - len(left), min_seconds=0)
    for trend in progress.each(left):
        print(f"{trend.name}: {trend.claim}", flush=True)
        began = time.monotonic()
        result = as_json(trend, trend.measure(bench), bench, (time.monotonic() - began) / 60)
        write_json(folder / f"{trend.name}.json", result)
        save_figure(draw_trend(result), folder / f"{trend.name}.svg")
        run_directory.finish(trend.name, {"verdict": result["verdict"], "minutes": result["minutes"]})
        print(table_row(result), flush=True)
        if "markdown" in result["notes"]:
            print(result["notes"]["markdown"], flush=True)


def bench_of(config: Any, folder: Path, say: Callable[[str], None]) -> Bench:
    """What a config of configs/scoreboard.py trains; `folder` keeps it."""
    return Bench(
        config.agent,
        {game: flatten(fields) for game, fields in config.games.items()},
        range(config.seed, config.seed + config.seeds),
        range(TUNING, TUNING + config.tuning_seeds),
        {"ppo.learning_rate": config.learning_rates},
        folder,
        say,
        config.starts,
        AnnotationPlan(**config.annotation),
    )


def _chosen(names: tuple[str, ...]) -> list[Trend]:
    if names == ("all",):
        return list(TRENDS.values())
    if unknown := [name for name in names if name not in TRENDS]:
        raise InputError(f"config.trends must be all, or some of {', '.join(TRENDS)}; got {unknown[0]!r}")
    return [TRENDS[name] for name in names]


def as_json(trend: Trend, measured: Measured, bench: Bench, minutes: float) -> dict[str, Any]:
    """All that a reader of the verdict may ask for."""
    return {
        "trend": trend.name,
        "claim": trend.claim,
        "source": trend.source,
        "command": f"{LAUNCHER} scoreboard --config.trends={trend.name}",
        "seeds": list(bench.seeds),
        "tuning_seeds": list(bench.tuning_seeds),
        "verdict": overall(measured.judgements).value,
        "tests": [
            {
                "statement": each.test.statement,
                "above": each.test.above,
                "effects": [round(effect, 5) for effect in each.effects],
                "mean": each.estimate.value,
                "low": each.estimate.low,
                "high": each.estimate.high,
                "verdict": each.verdict.value,
            }
            for each in measured.judgements
        ],
        "chosen": {side: dict(settings) for side, settings in measured.chosen.items()},
        "curves": {side: _shown(curves, trend) for side, curves in measured.curves.items()},
        "notes": dict(measured.notes),
        "minutes": round(minutes, 2),
    }


def _shown(curves: Mapping[str, np.ndarray], trend: Trend) -> dict[str, Any]:
    return {name: np.round(curves[name], 4).tolist() for name in trend.shown}


def table_row(result: Mapping[str, Any]) -> str:
    """One line a test, the verdict first."""
    lines = [
        f"  {test['verdict']:14} {test['mean']:+.3f} [{test['low']:+.3f}, {test['high']:+.3f}] {test['statement']}"
        for test in result["tests"]
    ]
    return "\n".join([f"{result['trend']}: {result['verdict']} ({result['minutes']:.1f} minutes)", *lines])
