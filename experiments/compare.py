"""Finished runs in one figure: seeds of a setting, or settings against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.config import Rule, each, flatten, one_of
from tars_jax import InputError
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.evaluation.comparison import Run, draw_comparison, settings_of
from tars_jax.evaluation.figures import save_figure
from tars_jax.training.metrics import read_metrics
from tars_jax.training.run_directory import read_object

RATE = Rule(lambda value: type(value) in (int, float) and 0 <= value <= 1, "a success rate of 0 to 1")
NEEDED = {
    "score_before": RATE,
    "score_after": RATE,
    "episodes": Rule(lambda value: type(value) is int and 0 < value < 2**53, "a whole number of 1 or more"),
    "seed": Rule(lambda value: type(value) is int and value >= 0, "a whole number of 0 or more"),
}
SECTIONS = tuple(dict.fromkeys(curve.section for curve in DEFAULT_CURVES))
RULES = {
    "sections": each(one_of(*SECTIONS)),
    "runs": Rule(
        lambda paths: len(paths) > 0 and all(isinstance(path, str) for path in paths),
        "directories of finished runs, separated by commas; one whose name is a number as ./7",
    ),
}


def read_run(path: Path) -> Run:
    """Raises InputError for a directory that is no run, has not finished or has no scores before and after."""
    file = path / "result.json"
    if not file.exists():
        raise InputError(f"config.runs: {path} holds no result.json; it takes directories of finished runs.")
    result = read_object(file)
    for name, rule in NEEDED.items():
        if not rule.accepts(result.get(name)):
            raise InputError(
                f"config.runs: {file} has {result.get(name, 'nothing')!r:.60} as {name}; it takes runs with scores "
                f"before and after, and {rule.takes} there."
            )
    config = read_object(path / "config.json", "experiment", "config")["config"]
    if not isinstance(config, dict):
        raise InputError(f"config.runs: {path / 'config.json'} has {config!r} as config; it takes an object.")
    return Run(flatten(config), read_metrics(path / "metrics.jsonl"), result)


def run(config: Any, run_directory: Any) -> None:
    runs = [read_run(Path(path)) for path in config.runs]
    curves = [curve for curve in DEFAULT_CURVES if curve.section in config.sections]
    path = Path(config.output) if config.output else run_directory.path / "comparison.svg"
    save_figure(draw_comparison(runs, curves, config.title), path)
    for name, group in settings_of(runs).items():
        for member in group:
            result = member.result
            before, after = result["score_before"], result["score_after"]
            print(f"{name}, seed {result['seed']}: {before:.1%} -> {after:.1%} of {result['episodes']}")
    print(path)
