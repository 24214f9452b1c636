"""What no judge could say, over all stages of a run: of result.json, and a table of its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tars_jax.evaluation.report_tables import Table
from tars_jax.training.run_directory import read_object

COUNTS = ("episodes", "cannot_say")


def unjudged_of(runs: Iterable[Path]) -> dict[str, Any]:
    """Over the stages of run directories: {"episodes", "count", "share", "judges": {name: the same three}}, of episodes
    that a judge was asked about; nothing where none was."""
    total: dict[str, dict[str, int]] = {}
    for run in runs:
        stages = read_object(run / "stages.json") if (run / "stages.json").exists() else {}
        for stage in stages.values():
            for judge, counts in stage.get("judged", {}).items():
                sums = total.setdefault(judge, dict.fromkeys(COUNTS, 0))
                for name in COUNTS:
                    sums[name] += counts[name]
    if not total:
        return {}
    every = {name: sum(counts[name] for counts in total.values()) for name in COUNTS}
    return {**_with_share(every), "judges": {judge: _with_share(counts) for judge, counts in sorted(total.items())}}


def unjudged_table(found: Mapping[str, Any]) -> Table:
    """Of what `unjudged_of` found."""
    rows = [
        (judge, counts["episodes"], counts["count"], f"{counts['share']:.1%}")
        for judge, counts in {**found["judges"], "all judges": found}.items()
    ]
    return Table(
        "What could not be judged",
        ("judge", "episodes", "cannot say", "share"),
        rows,
        "Episodes of all stages. Those of which their judge cannot say are masked: no success, no failure, no reward.",
    )


def _with_share(counts: Mapping[str, int]) -> dict[str, Any]:
    episodes, count = (counts[name] for name in COUNTS)
    return {"episodes": episodes, "count": count, "share": count / episodes}
