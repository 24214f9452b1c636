"""Finished runs in one figure: seeds of a setting, or settings against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.config import each, one_of
from tars_jax import InputError
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.evaluation.comparison import draw_comparison, read_run, settings_of

SECTIONS = tuple(dict.fromkeys(curve.section for curve in DEFAULT_CURVES))
RULES = {"sections": each(one_of(*SECTIONS))}


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
