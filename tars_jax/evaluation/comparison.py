"""Several runs in one figure: a color for each setting, a line for each seed, scores before and after.

Runs are of one setting when their configs differ in nothing but the seed. A setting is named by what sets it apart.
"""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tars_jax import InputError
from tars_jax.evaluation.curves import DASHES, Curve, points_of, smooth, spread
from tars_jax.evaluation.figures import COLORS
from tars_jax.evaluation.scores import RETURN, Score
from tars_jax.training.metrics import MetricsRow

_COLUMNS = 3
_LEGEND_WIDTH = 120  # characters of a line: a setting may differ from others in many fields
_LEGEND_LINE = 0.17  # inches


@dataclasses.dataclass(frozen=True)
class FinishedRun:
    """Results of a finished run."""

    config: Mapping[str, Any]  # dotted field -> value
    metrics: Sequence[MetricsRow]
    result: Mapping[str, Any]  # score_before, score_after, episodes, seed; a score, where it has one

    @property
    def setting(self) -> tuple[tuple[str, Any], ...]:
        return tuple((field, repr(value)) for field, value in self.config.items() if field not in ("seed", "run"))


def settings_of(runs: Sequence[FinishedRun], names: Sequence[str] = ()) -> dict[str, list[FinishedRun]]:
    """Runs by the name of their setting: the fields in which the settings differ, or `names` in the order of the runs.

    Raises InputError for names that are not one for each setting.
    """
    groups: dict[Any, list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(run.setting, []).append(run)
    if names:
        if len(names) != len(groups) or len(set(names)) != len(names):
            raise InputError(f"names must be one for each of {len(groups)} settings; got {', '.join(names)}")
        return dict(zip(names, groups.values(), strict=True))
    fields = [field for field in runs[0].config if len({repr(run.config.get(field)) for run in runs}) > 1]
    fields = [field for field in fields if field not in ("seed", "run")]
    return {
        ", ".join(f"{field}={group[0].config.get(field)}" for field in fields) or "all runs": group
        for group in groups.values()
    }


def draw_comparison(
    runs: Sequence[FinishedRun], curves: Sequence[Curve], title: str, names: Sequence[str] = ()
) -> Figure:
    """Scores before and after with 95% intervals, then the curves that the runs have rows for."""
    settings = settings_of(runs, names)
    metrics = [row for run in runs for row in run.metrics]
    curves = [each for curve in curves for each in spread(curve, metrics)]
    shown = [curve for curve in curves if any(points_of(run.metrics, curve.series[0])[0].size for run in runs)]
    rows = -(-(1 + len(shown)) // _COLUMNS)
    figure = Figure(figsize=(4 * _COLUMNS, 2.6 * rows + 0.6), layout="constrained")
    if title:
        figure.suptitle(title, fontweight="bold")
    axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
    _draw_scores(axes[0], settings)
    for panel, curve in zip(axes[1:], shown, strict=False):
        _draw_curve(panel, curve, settings)
    for unused in axes[1 + len(shown) :]:
        unused.set_axis_off()
    if len(settings) > 1:
        handles = [line for line in axes[0].get_lines() if not str(line.get_label()).startswith("_")]
        names = [textwrap.fill(name, _LEGEND_WIDTH) for name in settings]
        figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * sum(name.count("\n") + 1 for name in names))
        figure.legend(handles, names, loc="outside lower center", frameon=False, fontsize=8, alignment="left")
    return figure


def _draw_scores(axes: Axes, settings: Mapping[str, Sequence[FinishedRun]]) -> None:
    runs = [(color, name, run) for color, (name, group) in _colored(settings) for run in group]
    found = [Score.of_result(run.result) for _, _, run in runs]
    by_return = all(score.measure == RETURN for score in found)
    if not by_return:  # success is what all of them have
        found = [Score.of_result({**run.result, "score": None}) for _, _, run in runs]
    for number, ((color, name, _), score) in enumerate(zip(runs, found, strict=True)):
        offset = 0.12 * (number - (len(runs) - 1) / 2) / max(1, len(runs) / 4)
        x = np.array([0, 1]) + offset
        scores = np.array([score.before.value, score.after.value])
        errors = np.abs(np.array([score.before[1:], score.after[1:]]).T - scores)
        first = name not in [each for _, each, _ in runs[:number]]
        axes.errorbar(x, scores, errors, color=color, marker="o", markersize=4, linewidth=1.2, elinewidth=0.8)
        axes.plot([], [], color=color, label=name if first else f"_{number}")
    axes.set_xticks([0, 1], ["before", "after"])
    axes.set_xlim(-0.4, 1.4)
    if not by_return:
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    title = "Held-out mean return" if by_return else "Held-out success"
    _finish(axes, title, "95% intervals, one line a seed")


def _draw_curve(axes: Axes, curve: Curve, settings: Mapping[str, Sequence[FinishedRun]]) -> None:
    dashed = list[str]()
    for color, (_, group) in _colored(settings):
        for run, number in itertools.product(group, range(curve.compared)):
            x, y = points_of(run.metrics, curve.series[number])
            if not x.size:  # of this run alone: others have rows for it
                continue
            style, label = ("--", curve.series[number].label) if number else ("-", "")
            dashed += [label] if number and label not in dashed else []
            axes.plot(x, y, color=color, linewidth=0.6, alpha=0.3, linestyle=style)
            axes.plot(x, smooth(y, 2 * (len(y) // 20) + 1), color=color, linewidth=1.4, linestyle=style)
    for number, (name, label) in enumerate(curve.bounds):
        found = [run.result[name] for _, group in settings.items() for run in group if run.result.get(name) is not None]
        if found:
            axes.axhline(float(np.mean(found)), color="0.3", linewidth=0.9, linestyle=(0, DASHES[number % len(DASHES)]))
            axes.annotate(
                label,
                (1, np.mean(found)),
                xycoords=("axes fraction", "data"),
                fontsize=7,
                color="0.4",
                ha="right",
                va="bottom",
            )
    if dashed:
        handles = [Line2D([], [], color="0.3", linestyle="--", label=label) for label in dashed]
        axes.legend(handles=handles, fontsize=7, frameon=False)
    if curve.percent:
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if curve.whole:
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=1))
    axes.set_xlabel(curve.x_label)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
    _finish(axes, curve.title, curve.note)


def _finish(axes: Axes, title: str, note: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", pad=18)
    axes.text(0, 1.03, note, transform=axes.transAxes, fontsize=8, color="0.4")
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _colored(settings: Mapping[str, Sequence[FinishedRun]]) -> list[tuple[str, tuple[str, Sequence[FinishedRun]]]]:
    return [(COLORS[number % len(COLORS)], item) for number, item in enumerate(settings.items())]
