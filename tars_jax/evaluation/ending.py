"""The end of a run: result.json, report.html, and the verdict on the terminal."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax.evaluation.report import ReportData, verdict, write_report
from tars_jax.evaluation.scores import Score
from tars_jax.evaluation.unjudged import unjudged_of, unjudged_table
from tars_jax.evaluation.value_doubts import VALUE_DOUBT, value_doubts_of
from tars_jax.training.metrics import read_metrics, tensorboard_command
from tars_jax.training.run_directory import write_json
from tars_jax.trajectory import Trajectory


def compared(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> dict[str, Any]:
    """What a result.json says of the same levels before and after. Raises InputError where a side holds no episodes."""
    score = Score.of_episodes("", before, after).to_json()
    sides = {"before": before, "after": after}
    return {
        **{f"score_{side}": float(np.mean([each.succeeded for each in found])) for side, found in sides.items()},
        **{f"return_{side}": float(np.mean([each.reward for each in found])) for side, found in sides.items()},
        "score": score,
        "difference": score["difference"],
        "episodes": min(len(before), len(after)),
    }


def end_run(run: Path, data: ReportData, weights: Path | None = None, parts: Sequence[Path] = ()) -> None:
    """Writes both files into the run directory, with the run's metrics, and prints what they come to.

    The scores of parts stand in result.json, too, by their names, and under `cannot_say` what no judge could say, and
    under `value_doubt` what speaks against a value model.
    `weights`: where they lie, if that is to be said. `parts`: run directories whose stages are this run's, too.
    """
    if unjudged := unjudged_of([run, *parts]):
        result = {**data.result, "cannot_say": unjudged}
        data = dataclasses.replace(data, result=result, tables=(*data.tables, unjudged_table(unjudged)))
    if doubts := value_doubts_of([run, *parts]):
        data = dataclasses.replace(data, result={**data.result, VALUE_DOUBT: doubts})
    scores: Mapping[str, Any] = {score.name: score.to_json() for score in data.scores}
    write_json(run / "result.json", {**data.result, **({"parts": scores} if scores else {})})
    report = write_report(run, dataclasses.replace(data, metrics=read_metrics(run / "metrics.jsonl")))
    for score in data.scores:
        print(score.line())
    print(verdict(data.result, data.counted)[1])
    print(json.dumps(data.result))
    places = {"weights": weights, "report": report, "curves": tensorboard_command(run)}
    print("   ".join(f"{name}: {place}" for name, place in places.items() if place))
