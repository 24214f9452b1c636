"""From evaluation episodes to scores: what an episode reached within a step budget, means, and how sure they are.

Axes: N episodes of one game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tars_jax import InputError
from tars_jax.evaluation.statistics import Estimate, bootstrap
from tars_jax.trajectory import Trajectory


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
        raise InputError("the scores of a mean must be at least one; got none")
    return bootstrap(np.mean, x, seed=seed).estimate


def normalize(
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
            raise InputError(f"{game}: scores and those of the reference must be as many; got {x.size} and {y.size}")
        if not y.mean() > 0:
            raise InputError(f"{game}: the reference player must score more than 0, which more steps may give; got 0")

        def ratio(x: np.ndarray, y: np.ndarray, axis: int, mean: float = y.mean()) -> np.ndarray:
            below = y.mean(axis)  # where a resample holds no score at all, the mean of all levels stands in
            return 100 * x.mean(axis) / np.where(below, below, mean)

        games[game], ratios = bootstrap(ratio, x, y, paired=True, seed=rng)
        resampled.append(ratios)
    low, high = np.quantile(np.mean(resampled, 0), [0.025, 0.975])
    return games, Estimate(float(np.mean([each.value for each in games.values()])), float(low), float(high))


def _verdict(trajectory: Trajectory, budget: int) -> Mapping[str, float]:
    """The verifier's verdict after at most `budget` steps."""
    if budget < len(trajectory.steps):
        verdict: Mapping[str, float] = trajectory.steps[budget].info["verdict"]
        return verdict
    final: Mapping[str, float] = trajectory.metadata["final"]["verdict"]
    return final
