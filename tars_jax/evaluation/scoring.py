"""From evaluation episodes to scores: what an episode reached within a step budget, means, and how sure they are.

Axes: N episodes of one game, G games, K resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tars_jax import InputError
from tars_jax.evaluation.statistics import Estimate
from tars_jax.trajectory import Trajectory

RESAMPLES = 2000


def score_within(trajectory: Trajectory, budget: int) -> float:
    """The game's own score after the first `budget` steps, or at the end where the episode was shorter.

    The policy played with its full budget, of which its prompts speak: a run with a smaller one may differ.
    """
    return float(_verdict(trajectory, budget)["score"])


def solved_within(trajectory: Trajectory, budget: int) -> bool:
    return bool(_verdict(trajectory, budget)["success"])


def estimate_mean(scores: Sequence[float], seed: int = 0) -> Estimate:
    """The mean of [N] scores, with the 95% interval of a percentile bootstrap. Raises InputError without any."""
    x = np.asarray(scores, np.float64)
    if not x.size:
        raise InputError("a mean takes at least one score, got none.")
    rng = np.random.default_rng(seed)
    return _estimate(float(x.mean()), x[rng.integers(0, x.size, (RESAMPLES, x.size))].mean(1))


def normalise(
    scores: Mapping[str, Sequence[float]], references: Mapping[str, Sequence[float]], seed: int = 0
) -> tuple[dict[str, Estimate], Estimate]:
    """100 * mean score / mean reference score of each game, and the mean of that over the games; not capped.

    (UI-TARS-2, table 2, where the reference is a human.) Intervals are percentile bootstraps, 95%, over the levels:
    the i-th scores of a game and of its reference belong to the same level.

    Raises InputError where a reference scored nothing, as within a budget of very few steps, or where a game and its
    reference have not equally many scores.
    """
    rng = np.random.default_rng(seed)
    games: dict[str, Estimate] = {}
    resampled = []
    for game, given in scores.items():
        x, y = np.asarray(given, np.float64), np.asarray(references[game], np.float64)
        if not x.size or x.size != y.size:
            raise InputError(f"{game}: a score takes one of the reference beside it, got {x.size} and {y.size}.")
        if not y.mean() > 0:
            raise InputError(f"{game}: the reference player scored nothing, so there is no scale; it takes more steps")
        rows = rng.integers(0, x.size, (RESAMPLES, x.size))
        below = y[rows].mean(1)  # where a resample holds no score at all, the mean of all levels stands in
        ratios = 100 * x[rows].mean(1) / np.where(below, below, y.mean())
        games[game] = _estimate(float(100 * x.mean() / y.mean()), ratios)
        resampled.append(ratios)
    return games, _estimate(float(np.mean([each.value for each in games.values()])), np.mean(resampled, 0))


def _estimate(value: float, resampled: np.ndarray) -> Estimate:
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Estimate(float(value), float(low), float(high))


def _verdict(trajectory: Trajectory, budget: int) -> Mapping[str, float]:
    """The verifier's verdict after at most `budget` steps."""
    if budget < len(trajectory.steps):
        verdict: Mapping[str, float] = trajectory.steps[budget].info["verdict"]
        return verdict
    final: Mapping[str, float] = trajectory.metadata["final"]["verdict"]
    return final
