"""Score against step budget: what more steps at inference are worth (UI-TARS-2, figure 11)."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from tars_jax.evaluation.statistics import Estimate


def step_budgets(most: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... below `most`, then `most`."""
    steps = (digit * 10**power for power in range(7) for digit in (1, 2, 5))
    return [*(step for step in steps if step < most), most]


def draw_budgets(curve: Mapping[int, Estimate], unit: str, title: str) -> Figure:
    """The curve with its 95% intervals; budgets on a logarithmic axis."""
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    budgets = list(curve)
    axes.fill_between(
        budgets, [each.low for each in curve.values()], [each.high for each in curve.values()], alpha=0.2, linewidth=0
    )
    axes.plot(budgets, [each.value for each in curve.values()], marker="o", markersize=4)
    axes.set_xscale("log")
    axes.set_xticks(budgets)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.minorticks_off()
    axes.set_ylim(bottom=min(0.0, *(each.low for each in curve.values())))
    axes.set_xlabel("step budget")
    axes.set_ylabel(unit)
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
