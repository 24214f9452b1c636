"""How sure a measured score is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tars_jax import InputError


class Estimate(NamedTuple):
    """A number with its confidence interval."""

    value: float
    low: float
    high: float


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a success probability, honest also near 0 and 1 and for few episodes.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.

    Args:
      successes: 0..n.
      n: episodes; without any, nothing is known: (0, 1).
      confidence: of the two-sided interval.

    Raises InputError for other counts, and for a confidence that is not between 0 and 1.
    """
    _check_confidence(confidence)
    if not 0 <= successes <= n:
        raise InputError(f"successes got {successes}; of {n} episodes it takes 0 to {n}.")
    if n == 0:
        return 0.0, 1.0
    z = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    p = successes / n
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return (0.0 if successes == 0 else centre - half), (1.0 if successes == n else centre + half)


def success_difference(before: tuple[int, int], after: tuple[int, int], confidence: float = 0.95) -> Estimate:
    """After minus before, from (successes, episodes) of two independent evaluations that both hold episodes.

    Source: R. G. Newcombe, "Interval estimation for the difference between independent proportions", 1998, method 10.

    Raises InputError where an evaluation holds none, or more successes than episodes.
    """
    if not (before[1] and after[1]):
        raise InputError(f"a difference takes episodes on both sides, got {before[1]} and {after[1]}.")
    p, q = before[0] / before[1], after[0] / after[1]
    p_low, p_high = wilson_interval(*before, confidence)
    q_low, q_high = wilson_interval(*after, confidence)
    difference = q - p
    return Estimate(
        difference,
        difference - math.hypot(q - q_low, p_high - p),
        difference + math.hypot(q_high - q, p - p_low),
    )


def bootstrap_difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    paired: bool = False,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Mean of `after` minus mean of `before`, with a percentile bootstrap interval, for scores of any distribution.

    Args:
      before: scores of single episodes, at least one.
      after: the same; of equal length if `paired`.
      paired: the i-th entries belong to the same level, so levels are resampled instead of episodes.
      confidence: of the two-sided interval.
      resamples: how many bootstrap samples.
      seed: of the resampling; equal seeds give equal intervals.

    Raises InputError where a side has no scores, where sides that are paired have not equally many, and for a
    confidence that is not between 0 and 1, or no resamples.
    """
    _check_confidence(confidence)
    if resamples < 1:
        raise InputError(f"resamples got {resamples}; it takes at least 1.")
    rng = np.random.default_rng(seed)
    x, y = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if not (x.size and y.size) or (paired and x.size != y.size):
        how = "equally many scores" if paired else "scores"
        raise InputError(f"a difference takes {how} on both sides, got {x.size} and {y.size}.")
    if paired:
        means = _resampled_means(y - x, resamples, rng)
    else:
        means = _resampled_means(y, resamples, rng) - _resampled_means(x, resamples, rng)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(float(y.mean() - x.mean()), float(low), float(high))


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence got {confidence}; it takes a number between 0 and 1, such as 0.95.")


def _resampled_means(x: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(x, x.size).mean() for _ in range(resamples)])


def mean_normalised_score(scores: Mapping[str, float], references: Mapping[str, float]) -> float:
    """The mean over games of 100 * score / reference, not capped (UI-TARS-2, table 2: the reference is a human)."""
    return statistics.fmean(100 * scores[game] / references[game] for game in references)
