"""Finished flywheels beside their controls: the share of V = 1 and held-out success by cycle, over seeds.

Axes: S seeds, N cycles.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from scipy import stats

from tars_jax import InputError
from tars_jax.evaluation.statistics import Estimate, wilson_interval
from tars_jax.evaluation.tables import markdown

FLYWHEEL = "none"  # the control of a run that is no control
NAMES = {FLYWHEEL: "the flywheel", "first_cycle": "data of the first cycle alone", "no_routing": "no routing"}
SHARE, SUCCESS = "share of V = 1", "held-out success"
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # Okabe and Ito: for all eyes
Counts = tuple[int, int]  # successes, of so many


@dataclasses.dataclass(frozen=True)
class FlywheelRun:
    control: str
    seed: int
    counts: Mapping[str, Mapping[int, Counts]]  # measure -> cycle -> counts

    @classmethod
    def of(cls, result: Mapping[str, Any], file: Path) -> Self:
        """Reads a run's result.json. Raises InputError where that is no flywheel's."""
        try:
            cycles = {int(cycle["number"]): cycle for cycle in result["cycles"]}
            routed = {number: cycle["routed"] for number, cycle in cycles.items()}
            # What the cold start holds was shown to the model, and is no share of its own.
            shares = {n: (int(r["solved"]), int(r["solved"] + r["failed"])) for n, r in routed.items() if n}
            # The last stage's: of the model that the cycle leaves.
            last = {n: list(cycle["scores"].values())[-1] for n, cycle in cycles.items()}
            counts = {SHARE: shares, SUCCESS: {n: (int(won), int(of)) for n, (won, of) in last.items()}}
            return cls(str(result["control"]), int(result["seed"]), counts)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{file} must be of a finished flywheel; got none of its fields: {error!r}") from error

    def rate(self, measure: str, cycle: int) -> float:
        successes, of = self.counts[measure][cycle]
        return successes / of if of else math.nan


def by_control(runs: Sequence[FlywheelRun]) -> dict[str, list[FlywheelRun]]:
    """The flywheel first. Raises InputError where settings differ in their cycles, or a seed comes twice."""
    groups = {control: [run for run in runs if run.control == control] for control in NAMES}
    groups = {control: group for control, group in groups.items() if group}
    return _comparable(groups)


def by_name(runs: Sequence[FlywheelRun], names: Sequence[str]) -> dict[str, list[FlywheelRun]]:
    """Settings of any kind, one name for each run, in their order. Raises InputError as `by_control` does."""
    groups: dict[str, list[FlywheelRun]] = {}
    for run, name in zip(runs, names, strict=True):
        groups.setdefault(name, []).append(run)
    return _comparable(groups)


def _comparable(groups: dict[str, list[FlywheelRun]]) -> dict[str, list[FlywheelRun]]:
    if len({tuple(run.counts[SUCCESS]) for group in groups.values() for run in group}) != 1:
        raise InputError("runs that are compared must have the same cycles; got others.")
    for name, group in groups.items():
        if len({run.seed for run in group}) != len(group):
            seeds = [run.seed for run in group]
            raise InputError(f"runs of control {name} must have seeds that differ; got {seeds}")
    return groups


def leading(groups: Mapping[str, Sequence[FlywheelRun]]) -> str:
    """The setting that others are compared with: the flywheel; among settings that are no controls the first."""
    return FLYWHEEL if set(groups) <= set(NAMES) else next(iter(groups))


def over_seeds(values: Sequence[float]) -> Estimate:
    """Mean of [S] values with Student's 95% interval; of a single one nothing is known of its spread."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean, math.nan, math.nan)
    half = float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return Estimate(mean, mean - half, mean + half)


def estimate(group: Sequence[FlywheelRun], measure: str, cycle: int) -> Estimate:
    """Over seeds; of one run Wilson's interval of its episodes."""
    if len(group) == 1:
        return Estimate(group[0].rate(measure, cycle), *wilson_interval(*group[0].counts[measure][cycle]))
    return over_seeds([run.rate(measure, cycle) for run in group])


def rises(groups: Mapping[str, Sequence[FlywheelRun]], measure: str) -> dict[str, Estimate]:
    """Rise of a measure in each setting: the last cycle minus the first one that has it, by seed; none where both are
    one."""
    cycles = list(next(iter(groups.values()))[0].counts[measure])
    first, last = cycles[0], cycles[-1]
    if first == last:
        return {}
    return {
        control: over_seeds([run.rate(measure, last) - run.rate(measure, first) for run in group])
        for control, group in groups.items()
    }


def gains(groups: Mapping[str, Sequence[FlywheelRun]], measure: str) -> dict[str, Estimate]:
    """The leading setting minus each other at the last cycle, by the seeds that both have."""
    lead = leading(groups)
    flywheel = {run.seed: run for run in groups.get(lead, ())}
    last = max(next(iter(groups.values()))[0].counts[measure])
    found = {}
    for control, group in groups.items():
        both = [run for run in group if control != lead and run.seed in flywheel]
        if both:
            pairs = [flywheel[run.seed].rate(measure, last) - run.rate(measure, last) for run in both]
            found[control] = over_seeds(pairs)
    return found


def table(groups: Mapping[str, Sequence[FlywheelRun]]) -> str:
    """The comparison in Markdown: each setting's mean by cycle, its rise, and how far the flywheel is ahead of it at
    the end."""
    parts, lead = [], leading(groups)
    ahead_of = "flywheel ahead by" if lead == FLYWHEEL else f"{lead} ahead by"
    for measure in (SHARE, SUCCESS):
        cycles = list(next(iter(groups.values()))[0].counts[measure])
        risen, ahead = rises(groups, measure), gains(groups, measure)
        head = (measure, "seeds", *(f"cycle {cycle}" for cycle in cycles), "rise", ahead_of)
        rows = [
            (
                NAMES.get(control, control),
                str(len(group)),
                *(_percent(estimate(group, measure, cycle)) for cycle in cycles),
                _percent(risen[control], "+") if control in risen else "",
                _percent(ahead[control], "+") if control in ahead else "",
            )
            for control, group in groups.items()
        ]
        parts.append(markdown(head, rows))
    return "\n\n".join(parts)


def draw_figure(groups: Mapping[str, Sequence[FlywheelRun]], title: str) -> Figure:
    """A panel of each measure: means with 95% intervals, a thin line a seed."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    if title:
        figure.suptitle(title, fontweight="bold")
    panels = figure.subplots(1, 2)
    for axes, measure in zip(panels, (SHARE, SUCCESS), strict=True):
        _panel(axes, groups, measure)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _panel(axes: Axes, groups: Mapping[str, Sequence[FlywheelRun]], measure: str) -> None:
    for number, ((control, group), color) in enumerate(zip(groups.items(), _COLORS, strict=False)):
        cycles = list(group[0].counts[measure])
        for run in group:
            axes.plot(cycles, [run.rate(measure, cycle) for cycle in cycles], color=color, linewidth=0.6, alpha=0.4)
        found = np.array([estimate(group, measure, cycle) for cycle in cycles])
        errors = np.abs(found[:, 1:] - found[:, :1]).T
        at = np.array(cycles) + 0.05 * (number - (len(groups) - 1) / 2)  # beside each other
        axes.errorbar(
            at, found[:, 0], errors, color=color, marker="o", markersize=4, capsize=2, label=NAMES.get(control, control)
        )
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("cycle")
    axes.set_title(f"{measure[0].upper()}{measure[1:]}, 95% intervals over seeds", loc="left", fontsize=10)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def _percent(found: Estimate, sign: str = "") -> str:
    value, low, high = (100 * each for each in found)
    return f"{value:{sign}.1f}" if math.isnan(low) else f"{value:{sign}.1f} [{low:.0f}, {high:.0f}]"
