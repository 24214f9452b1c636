"""Finished runs in one figure: seeds of a setting, or settings against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.config import each, flatten, one_of
from tars_jax import InputError
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.evaluation.comparison import Run, draw_comparison, settings_of
from tars_jax.evaluation.figures import save_figure
from tars_jax.training.metrics import read_metrics
from tars_jax.training.run_directory import read_object

NEEDED = ("score_before", "score_after", "episodes", "seed")
SECTIONS = tuple(dict.fromkeys(curve.section for curve in DEFAULT_CURVES))
RULES = {"sections": each(one_of(*SECTIONS))}


def read_run(path: Path) -> Run:
    """Raises InputError for a directory that is no run, has not finished or has no scores before and after."""
    file = path / "result.json"
    if not file.exists():
        raise InputError(f"config.runs: {path} holds no result.json; it takes directories of finished runs.")
    result = read_object(file)
    for name in NEEDED:
        if not isinstance(result.get(name), int | float) or not result[name] >= 0:
            raise InputError(
                f"config.runs: {file} has {result.get(name, 'nothing')!r} as {name}; it takes runs with scores before "
                "and after."
            )
    config = read_object(path / "config.json", "experiment", "config")["config"]
    if not isinstance(config, dict):
        raise InputError(f"config.runs: {path / 'config.json'} has {config!r} as config; it takes an object.")
    return Run(flatten(config), read_metrics(path / "metrics.jsonl"), result)


def run(config: Any, run_directory: Any) -> None:
    if not config.runs:
        raise InputError("config.runs got nothing; it takes directories of finished runs, separated by commas.")
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
