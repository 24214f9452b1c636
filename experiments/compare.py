"""Finished runs in one figure: seeds of a setting, or settings against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.config import each, flatten, one_of
from tars_jax import InputError
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.evaluation.comparison import Run, draw_comparison, settings_of
from tars_jax.training.metrics import read_metrics
from tars_jax.training.run_directory import read_json

NEEDED = {"score_before", "score_after", "episodes", "seed"}
SECTIONS = tuple(dict.fromkeys(curve.section for curve in DEFAULT_CURVES))
RULES = {"sections": each(one_of(*SECTIONS))}


def read_run(path: Path) -> Run:
    """Raises InputError for a directory that is no run, has not finished or has no scores before and after."""
    file = path / "result.json"
    if not file.exists():
        raise InputError(f"config.runs: {path} holds no result.json; it takes directories of finished runs.")
    result = read_json(file)
    if missing := sorted(NEEDED - set(result)):
        raise InputError(f"config.runs: {file} has no {missing[0]}; it takes runs with scores before and after.")
    return Run(flatten(read_json(path / "config.json")["config"]), read_metrics(path / "metrics.jsonl"), result)


def run(config: Any, run_directory: Any) -> None:
    if not config.runs:
        raise InputError("config.runs got nothing; it takes directories of finished runs, separated by commas.")
    runs = [read_run(Path(path)) for path in config.runs]
    curves = [curve for curve in DEFAULT_CURVES if curve.section in config.sections]
    path = Path(config.output) if config.output else run_directory.path / "comparison.svg"
    draw_comparison(runs, curves, config.title).savefig(path, dpi=110)
    for name, group in settings_of(runs).items():
        for member in group:
            result = member.result
            before, after = result["score_before"], result["score_after"]
            print(f"{name}, seed {result['seed']}: {before:.1%} -> {after:.1%} of {result['episodes']}")
    print(path)
