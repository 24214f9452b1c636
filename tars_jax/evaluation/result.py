"""Results of a run: result.json, report.html, and the verdict on the terminal.

Beside the score of the same levels before and after, result.json says what each reward function gave, what no judge
could say, and why a value model should not have been trusted.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tars_jax.evaluation.curves import REWARD_PARTS
from tars_jax.evaluation.report import VALUE_DOUBT, ReportData, ReportTable, verdict, write_report
from tars_jax.evaluation.scores import Score
from tars_jax.judges.rewards import VALUES
from tars_jax.training.metrics import read_metrics, tensorboard_command
from tars_jax.training.run_directory import read_object, write_json
from tars_jax.trajectory import Trajectory


def before_and_after(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> dict[str, Any]:
    """Fields of result.json about the same levels before and after. Raises InputError where a side holds no
    episodes."""
    score = Score.of_episodes("", before, after).to_json()
    sides = {"before": before, "after": after}
    return {
        **{f"score_{side}": float(np.mean([each.succeeded for each in found])) for side, found in sides.items()},
        **{f"return_{side}": float(np.mean([each.reward for each in found])) for side, found in sides.items()},
        "score": score,
        "difference": score["difference"],
        "episodes": min(len(before), len(after)),
    }


def write_result(run: Path, data: ReportData, weights: Path | None = None, parts: Sequence[Path] = ()) -> None:
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


COUNTS = ("episodes", "cannot_say")


def unjudged_of(runs: Iterable[Path]) -> dict[str, Any]:
    """Over the stages of run directories: {"episodes", "count", "share", "judges": {name: the same three}}, of episodes
    that a judge was asked about; nothing where none was."""
    total: dict[str, dict[str, int]] = {}
    for stage in _stages_of(runs):
        for judge, counts in stage.get("judged", {}).items():
            sums = total.setdefault(judge, dict.fromkeys(COUNTS, 0))
            for name in COUNTS:
                sums[name] += counts[name]
    if not total:
        return {}
    every = {name: sum(counts[name] for counts in total.values()) for name in COUNTS}
    return {**_with_share(every), "judges": {judge: _with_share(counts) for judge, counts in sorted(total.items())}}


def unjudged_table(found: Mapping[str, Any]) -> ReportTable:
    """Table of what `unjudged_of` found."""
    rows = [
        (judge, counts["episodes"], counts["count"], f"{counts['share']:.1%}")
        for judge, counts in {**found["judges"], "all judges": found}.items()
    ]
    return ReportTable(
        "What could not be judged",
        ("judge", "episodes", "cannot say", "share"),
        rows,
        "Episodes of all stages. Those of which their judge cannot say are masked: no success, no failure, no reward.",
    )


def _with_share(counts: Mapping[str, int]) -> dict[str, Any]:
    episodes, count = (counts[name] for name in COUNTS)
    return {"episodes": episodes, "count": count, "share": count / episodes}


def reward_metrics(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """The mean of each function over the episodes that it told, before its weight: `rewards/NAME`."""
    return {f"{REWARD_PARTS}{name}": float(np.mean(values)) for name, values in _values(episodes).items()}


def reward_means(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> dict[str, Any]:
    """Fields of result.json about reward functions; empty where there are none."""
    sides = {"before": before, "after": after}
    means = {
        side: {name: float(np.mean(values)) for name, values in _values(found).items()} for side, found in sides.items()
    }
    return {"rewards": means} if any(means.values()) else {}


def reward_scores(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> list[Score]:
    """A row each, where there are several functions, or one that success does not tell."""
    sides = _values(before), _values(after)
    return [Score.of_returns(name, sides[0][name], sides[1][name]) for name in sides[0] if name in sides[1]]


def _values(episodes: Sequence[Trajectory]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for episode in episodes:
        for name, value in episode.metadata.get(VALUES, {}).items():
            found.setdefault(name, []).append(value)
    return found


def value_doubts_of(runs: Iterable[Path]) -> str:
    """Over the stages of run directories, each sentence once; empty where there is none."""
    return "; ".join(dict.fromkeys(stage[VALUE_DOUBT] for stage in _stages_of(runs) if VALUE_DOUBT in stage))


def _stages_of(runs: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    for run in runs:
        if (run / "stages.json").exists():
            yield from read_object(run / "stages.json").values()
