"""Finished runs in one figure, and what PPO did in them in one table: seeds of a setting, or settings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.evaluation.comparison import FinishedRun, draw_comparison, settings_of
from tars_jax.evaluation.curves import Curve, Series, game_curves, points_of
from tars_jax.evaluation.figures import save_figure
from tars_jax.evaluation.scores import RETURN, Score
from tars_jax.files import write_atomic
from tars_jax.json_fields import read_object
from tars_jax.pipelines.config import flatten
from tars_jax.pipelines.trends.of_runs import MEASURES, judge_runs, table
from tars_jax.rules import Rule
from tars_jax.tasks.games.catalog import game_names, load_game
from tars_jax.training.metrics import read_metrics
from tars_jax.training.progress import QUIET, Progress, working

RATE = Rule(lambda value: type(value) in (int, float) and 0 <= value <= 1, "a success rate of 0 to 1")
NEEDED = {
    "score_before": RATE,
    "score_after": RATE,
    "episodes": Rule(lambda value: type(value) is int and 0 < value < 2**53, "a whole number of 1 or more"),
    "seed": Rule(lambda value: type(value) is int and value >= 0, "a whole number of 0 or more"),
}


def read_run(path: Path) -> FinishedRun:
    """Raises InputError for a directory that is no run, has not finished or has no scores before and after."""
    file = path / "result.json"
    if not file.exists():
        raise InputError(f"config.runs must be directories of finished runs; got {path}, which holds no result.json")
    result = read_object(file)
    for name, rule in NEEDED.items():
        if not rule.accepts(result.get(name)):
            raise InputError(
                f"config.runs: {name} of {file} must be {rule.allowed}, as runs with scores before and after have; "
                f"got {result.get(name, 'nothing')!r:.60}"
            )
    config = read_object(path / "config.json", "experiment", "config")["config"]
    if not isinstance(config, dict):
        raise InputError(f"config.runs: config of {path / 'config.json'} must be an object; got {config!r}")
    return FinishedRun(flatten(config), read_metrics(path / "metrics.jsonl"), result)


def run(config: Any, run_directory: Any) -> None:
    read = Progress("read", len(config.runs), "runs", quiet=QUIET).each(config.runs)
    runs = [read_run(Path(path)) for path in read]
    curves = [curve for curve in (*games_of(runs), *DEFAULT_CURVES) if curve.section in config.sections]
    path = Path(config.output) if config.output else run_directory.path / "comparison.svg"
    settings = settings_of(runs, config.names)
    with working("draw"):
        save_figure(draw_comparison(runs, curves, config.title, config.names), path)
    for name, group in settings.items():
        for member in group:
            result, score = member.result, Score.of_result(member.result)
            before, after = score.value(score.before.value), score.value(score.after.value)
            kind = "mean return " if score.measure == RETURN else ""
            print(f"{name}, seed {result['seed']}: {kind}{before} -> {after} of {result['episodes']}")
    judged = {name: judge_runs([learned(member) for member in group]) for name, group in settings.items()}
    if any(judged.values()):
        said = table(judged)
        write_atomic(path.with_suffix(".md"), f"{said}\n".encode())
        print(said)
    print(path)


def games_of(runs: Sequence[FinishedRun]) -> list[Curve]:
    """A curve for each game that one of the runs was trained on, together with others."""
    found = {name for run in runs for row in run.metrics if row.stage == "ppo" for name in row.values}
    names = sorted(name.removesuffix("_success") for name in found if name.endswith("_success"))
    titles = {name: load_game(name).title for name in game_names()}
    return game_curves([(name, titles.get(name, name)) for name in names if name != "true"])


def learned(run: FinishedRun) -> dict[str, Any]:
    """The curves of PPO that are judged."""
    return {measure.curve: points_of(run.metrics, Series("ppo", measure.curve))[1] for measure in MEASURES}
