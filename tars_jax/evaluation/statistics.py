"""Confidence intervals of measured scores. SciPy is imported where it is used: it is a fifth of a command's start."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tars_jax import InputError

RESAMPLES = 2000


class Estimate(NamedTuple):
    """A number with its confidence interval."""

    value: float
    low: float
    high: float


def deviation(scores: Sequence[float]) -> float:
    """The sample's standard deviation of [N] scores (over N - 1), as benchmarks print it over runs; 0 of a single one.

    Raises InputError without any.
    """
    if not len(scores):
        raise InputError("the scores of a deviation must be at least one; got none")
    return float(np.std(np.asarray(scores, np.float64), ddof=1)) if len(scores) > 1 else 0.0


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
        raise InputError(f"successes must be 0 to {n}, the number of episodes; got {successes}")
    if n == 0:
        return 0.0, 1.0
    from scipy import stats

    interval = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def success_difference(before: tuple[int, int], after: tuple[int, int], confidence: float = 0.95) -> Estimate:
    """The difference of success rates, after minus before, from (successes, episodes) of two independent evaluations
    that both hold episodes.

    Source: R. G. Newcombe, "Interval estimation for the difference between independent proportions", 1998, method 10.

    Raises InputError where an evaluation holds none, or more successes than episodes.
    """
    if not (before[1] and after[1]):
        raise InputError(f"a difference must have episodes on both sides; got {before[1]} and {after[1]}")
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
    resamples: int = RESAMPLES,
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
        raise InputError(f"resamples must be at least 1; got {resamples}")
    x, y = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if not (x.size and y.size) or (paired and x.size != y.size):
        how = "equally many scores" if paired else "scores"
        raise InputError(f"a difference must have {how} on both sides; got {x.size} and {y.size}")

    def difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return y.mean(axis) - x.mean(axis)

    return bootstrap(difference, x, y, paired=paired, confidence=confidence, resamples=resamples, seed=seed).estimate


class Bootstrap(NamedTuple):
    estimate: Estimate
    resampled: np.ndarray  # [K] values of the statistic


def bootstrap(
    statistic: Callable[..., np.ndarray],
    *samples: np.ndarray,
    paired: bool = False,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int | np.random.Generator = 0,
) -> Bootstrap:
    """The percentile bootstrap of `statistic(*samples, axis)` over K resamples of [N] scores each, none empty."""
    from scipy import stats

    # SciPy takes no sample of a single score; twice the same has the same resamples.
    data = [np.repeat(sample, 2) if sample.size == 1 else sample for sample in samples]
    found = stats.bootstrap(
        data,
        statistic,
        n_resamples=resamples,
        paired=paired,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = found.confidence_interval
    return Bootstrap(
        Estimate(float(statistic(*samples, axis=-1)), float(low), float(high)), found.bootstrap_distribution
    )


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be a number between 0 and 1, such as 0.95; got {confidence}")
