"""A claim about training as a test that is fixed before anything is run, and its verdict over seeds.

Axes: N seeds, U updates of a run.

An effect is one number for each seed, for example how far a curve rose, or one setting's score minus another's. A test
says which mean effect the claim takes; the verdict follows from the confidence interval of the mean alone, so "does not
hold" needs evidence as much as "holds" does.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats


class MeanEffect(NamedTuple):
    """The mean over seeds with its confidence interval."""

    value: float
    low: float
    high: float


class TrendVerdict(enum.Enum):
    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    UNDECIDED = "undecided"


@dataclasses.dataclass(frozen=True)
class Test:
    """The claim takes the mean effect over seeds to be above a bound that is named before the runs."""

    statement: str  # what is measured for each seed, in words
    above: float = 0.0


@dataclasses.dataclass(frozen=True)
class TestResult:
    """A test with what was found."""

    test: Test
    effects: tuple[float, ...]  # one for each seed
    estimate: MeanEffect
    verdict: TrendVerdict


def judge(test: Test, effects: Sequence[float], confidence: float = 0.95) -> TestResult:
    """Student's interval of the mean effect against the test's bound.

    Seeds are few and their effects roughly normal; with equal effects the interval is a point. One seed alone has no
    interval: the verdict is undecided.

    Args:
      test: its bound is exclusive on both sides.
      effects: [N], at least one, finite.
      confidence: of the two-sided interval.
    """
    values = np.asarray(effects, np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"effects must be one finite number for each seed; got {effects!r}")
    mean, half = float(values.mean()), math.inf
    if values.size > 1:
        error = float(values.std(ddof=1)) / math.sqrt(values.size)
        half = float(stats.t.ppf((1 + confidence) / 2, values.size - 1)) * error
    estimate = MeanEffect(mean, mean - half, mean + half)
    verdict = TrendVerdict.UNDECIDED
    if estimate.low > test.above:
        verdict = TrendVerdict.HOLDS
    elif estimate.high < test.above:
        verdict = TrendVerdict.DOES_NOT_HOLD
    return TestResult(test, tuple(values.tolist()), estimate, verdict)


def detectable(effects: Sequence[float], confidence: float = 0.95, power: float = 0.8) -> float:
    """Distance from a test's bound at which the mean effect is decided by this many seeds with probability `power`.

    Of a noncentral t: normal effects of the deviation that was seen, [N] of them, at least two. 0 where all are equal.
    """
    count, deviation = len(effects), float(np.std(effects, ddof=1))
    bound = stats.t.ppf((1 + confidence) / 2, count - 1)

    def misses(distance: float) -> float:
        return float(stats.nct.cdf(bound, count - 1, distance * math.sqrt(count))) - (1 - power)

    return deviation * float(optimize.brentq(misses, 0.0, 100.0))


def overall(judgements: Sequence[TestResult]) -> TrendVerdict:
    """Verdict on a claim that is several tests: it holds where all do, and falls with any that does not."""
    verdicts = {each.verdict for each in judgements}
    if TrendVerdict.DOES_NOT_HOLD in verdicts:
        return TrendVerdict.DOES_NOT_HOLD
    return TrendVerdict.HOLDS if verdicts == {TrendVerdict.HOLDS} else TrendVerdict.UNDECIDED


def rise(curves: np.ndarray) -> np.ndarray:
    """Rise of the least-squares line of each curve over the run: [N, U] -> [N], in the curve's unit."""
    x = np.arange(curves.shape[1]) - (curves.shape[1] - 1) / 2
    slope = (curves * x).sum(1) / (x * x).sum()
    return slope * (curves.shape[1] - 1)


def early(curves: np.ndarray, share: float = 0.2) -> np.ndarray:
    """Mean of the first part of each curve: [N, U] -> [N]."""
    return curves[:, : max(1, round(share * curves.shape[1]))].mean(1)


def late(curves: np.ndarray, share: float = 0.2) -> np.ndarray:
    """Mean of the last part of each curve: [N, U] -> [N]."""
    return early(curves[:, ::-1], share)


def late_minus_early(curves: np.ndarray, share: float = 0.2) -> np.ndarray:
    """Mean of the last part of each curve minus that of the first part: [N, U] -> [N]."""
    return late(curves, share) - early(curves, share)


def volatility(curves: np.ndarray) -> np.ndarray:
    """Volatility: deviation of each curve's noise from one update to the next: [N, U] -> [N], in the curve's unit.

        sqrt(mean_u (c_{u+1} - c_u - d)^2 / 2),  d the mean difference

    For independent noise of deviation s around a line it is s, whatever the line's slope.
    """
    differences = np.diff(curves, axis=1)
    return np.sqrt(differences.var(axis=1) / 2)
