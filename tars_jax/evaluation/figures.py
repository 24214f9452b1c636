"""Figures as files, whole or not at all, the same bytes for the same figure: score against step budget, and trends.

Axes: N seeds, U points of a curve.
"""

from __future__ import annotations

import io
import os
import pathlib
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tars_jax import InputError
from tars_jax.evaluation.statistics import Estimate
from tars_jax.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BudgetCurve = Mapping[int, Estimate]  # step budget -> score
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito: for all eyes
_MARKERS = ("o", "s", "^", "D", "v", "P")
_TITLE = 34  # letters of the title that fit above one panel
_OF_VERDICT = {"holds": "#009e73", "does not hold": "#d55e00", "undecided": "0.5"}
_UNDATED = {"svg": "Date", "pdf": "CreationDate", "png": "Software"}  # formats, and what would differ between machines


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes `figure` in the format that the file's name ends with.

    Raises InputError for another format than svg, pdf and png, and where the file cannot be written.
    """
    file = pathlib.Path(path)
    kind = file.suffix.removeprefix(".")
    if kind not in _UNDATED:
        raise InputError(f"a figure's name must end in .{', .'.join(_UNDATED)}; got {file}")
    import matplotlib

    picture = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tars_jax"}):  # of the ids in it
        figure.savefig(picture, format=kind, dpi=110, metadata={_UNDATED[kind]: None})
    try:
        write_atomic(file, picture.getvalue())
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}.") from error


def draw_budgets(curves: Mapping[str, BudgetCurve], unit: str, title: str) -> Figure:
    """The curve of each contestant with its 95% intervals; budgets on a logarithmic axis."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import ScalarFormatter

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (name, curve) in enumerate(curves.items()):
        budgets, color = list(curve), COLORS[number % len(COLORS)]
        lows, highs = ([each[side] for each in curve.values()] for side in (1, 2))
        axes.fill_between(budgets, lows, highs, color=color, alpha=0.15, linewidth=0)
        marker = _MARKERS[number % len(_MARKERS)]
        values = [each.value for each in curve.values()]
        axes.plot(budgets, values, color=color, marker=marker, markersize=4, label=name)
    axes.set_xscale("log")
    axes.set_xticks(sorted({budget for curve in curves.values() for budget in curve}))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.minorticks_off()
    axes.set_ylim(bottom=min(0.0, *(each.low for curve in curves.values() for each in curve.values())))
    axes.set_xlabel("step budget")
    axes.set_ylabel(unit)
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    if len(curves) > 1:
        axes.legend(frameon=False, fontsize=8)
    return figure


def draw_trend(result: Mapping[str, Any]) -> Figure:
    """`result` is what `experiments/scoreboard.py` writes for one trend."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for side in result["curves"].values() for name in side))
    panels = len(names) + 1
    figure = Figure(figsize=(4.2 * panels, 3.0), layout="constrained")
    title = f"{result['trend']}: {result['claim']}  ({result['verdict']})"
    figure.suptitle(textwrap.fill(title, _TITLE * panels), fontweight="bold", x=0.01, ha="left")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for panel, name in zip(axes, names, strict=False):
        _draw_curves(panel, name, result)
    _draw_effects(axes[-1], result["tests"])
    return figure


def _draw_curves(axes: Axes, name: str, result: Mapping[str, Any]) -> None:
    x = result["notes"].get("x")
    for color, (side, curves) in zip(COLORS, result["curves"].items(), strict=False):
        if name not in curves:
            continue
        lines = np.asarray(curves[name], float)
        along = np.arange(1, lines.shape[1] + 1) if x is None else np.asarray(x)
        for line in lines:
            axes.plot(along, line, color=color, linewidth=0.6, alpha=0.35)
        axes.plot(along, lines.mean(0), color=color, linewidth=1.8, label=side)
    axes.set_xlabel(result["notes"].get("x_label", "update"))
    axes.legend(frameon=False, fontsize=8)
    _finish(axes, name.replace("_", " "))


def _draw_effects(axes: Axes, tests: list[Mapping[str, Any]]) -> None:
    """Each effect in units of the half width of all that is drawn of its test: tests have units of their own."""
    for row, test in enumerate(reversed(tests)):
        effects, color = np.asarray(test["effects"]), _OF_VERDICT[test["verdict"]]
        ends = [*effects, test["above"], *(each for each in (test["low"], test["high"]) if np.isfinite(each))]
        scale = max(abs(end - test["above"]) for end in ends) or 1.0

        def place(value: Any, bound: float = test["above"], scale: float = scale) -> Any:
            return (np.asarray(value) - bound) / scale

        axes.plot(place(effects), np.full(len(effects), row), "o", color=color, alpha=0.4, markersize=4)
        if np.isfinite(test["low"]):
            axes.plot(place([test["low"], test["high"]]), [row, row], color=color, linewidth=2)
        axes.plot(place(test["mean"]), row, "D", color=color, markersize=6)
        words = f"{test['statement']}: {test['mean']:+.3g} [{test['low']:.3g}, {test['high']:.3g}]"
        axes.text(-1.05, row + 0.18, textwrap.fill(words, 62), fontsize=7, va="bottom")
    axes.axvline(0, color="0.4", linewidth=0.8, linestyle="--")
    axes.set_xlim(-1.1, 1.1)
    axes.set_ylim(-0.5, len(tests) - 0.1)
    axes.set_yticks([])
    axes.set_xticks([0], ["the test's bound"])
    _finish(axes, "effects over seeds, 95% intervals")


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
