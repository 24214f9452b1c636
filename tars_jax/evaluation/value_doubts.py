"""Why a run's PPO should not have trusted its value model, as its stages say it: of result.json, and of its report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tars_jax.training.run_directory import read_object

VALUE_DOUBT = "value_doubt"  # in the record of a stage, and in result.json: a sentence


def value_doubts_of(runs: Iterable[Path]) -> str:
    """Over the stages of run directories, each sentence once; empty where there is none."""
    found: dict[str, None] = {}
    for run in runs:
        stages = read_object(run / "stages.json") if (run / "stages.json").exists() else {}
        found |= {stage[VALUE_DOUBT]: None for stage in stages.values() if VALUE_DOUBT in stage}
    return "; ".join(found)
