"""Score against step budget: what more steps at inference are worth (UI-TARS-2, figure 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tars_jax.evaluation.lmgame import reported_score
from tars_jax.evaluation.scoring import estimate_mean, normalize, score_within, solved_within
from tars_jax.evaluation.statistics import Estimate, wilson_interval
from tars_jax.trajectory import Trajectory

if TYPE_CHECKING:  # an evaluation draws at its end
    from matplotlib.figure import Figure

Curve = Mapping[int, Estimate]  # budget -> score
UNITS = {"games15": "mean normalized score", "lmgame": "mean score"}  # of a suite; of any other `SUCCESS`
SUCCESS = "success, %"
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito: for all eyes
_MARKERS = ("o", "s", "^", "D", "v", "P")


def step_budgets(most: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... below `most`, then `most`."""
    steps = (digit * 10**power for power in range(7) for digit in (1, 2, 5))
    return [*(step for step in steps if step < most), most]


def measured(
    suite: str,
    played: Mapping[str, Sequence[Trajectory]],
    scale: Mapping[str, Sequence[Trajectory]],
    budget: int,
) -> Estimate:
    """What episodes reached within a budget, in the suite's unit (`UNITS`), over all of a suite's names together.

    `scale`: of games15 the episodes whose score is 100, whatever their budget was, on the same levels in one order; a
    game in which it scored nothing is left out. Raises InputError where nothing is left.
    """
    if suite == "games15":
        whole = {name: [score_within(each, each.task["max_steps"]) for each in its] for name, its in scale.items()}
        scaled = {
            name: [score_within(each, budget) for each in its] for name, its in played.items() if sum(whole[name]) > 0
        }
        return normalize(scaled, whole)[1] if scaled else estimate_mean([])
    episodes = [each for its in played.values() for each in its]
    if suite == "lmgame":
        return estimate_mean([reported_score(each, budget) for each in episodes])
    solved = sum(map(bool, (_solved(each, budget) for each in episodes)))
    low, high = wilson_interval(solved, len(episodes))
    return Estimate(100 * solved / len(episodes), 100 * low, 100 * high)


def _solved(episode: Trajectory, budget: int) -> bool:
    """Of a whole episode as its environment says; of its beginning as the page's verdict does."""
    return episode.succeeded if budget >= len(episode.steps) else solved_within(episode, budget)


def draw_budgets(curves: Mapping[str, Curve], unit: str, title: str) -> Figure:
    """The curve of each contestant with its 95% intervals; budgets on a logarithmic axis."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import ScalarFormatter

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for number, (name, curve) in enumerate(curves.items()):
        budgets, color = list(curve), _COLORS[number % len(_COLORS)]
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
