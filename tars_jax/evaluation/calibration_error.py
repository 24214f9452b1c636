"""Calibration of probabilities of success, and how well they separate successes from failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from tars_jax.evaluation.statistics import Estimate, bootstrap, wilson_interval

BINS = 10
SHOWN_BINS = 5  # of a table: of a hundred trajectories ten bins would hold ten each
DRAWS = 2000


class CalibrationError(NamedTuple):
    """Calibration error of scored trajectories; 0 is the best of both."""

    expected: float  # mean distance of probability and share of successes, over bins weighted by what they hold
    brier: float  # mean squared distance of probability and outcome
    scored: int


class Bin(NamedTuple):
    """The trajectories whose probability is from `low` to `high`."""

    low: float
    high: float
    scored: int
    mean: float  # probability
    solved: float  # their share
    interval: tuple[float, float]  # of that share, 95%


class Reliability(NamedTuple):
    """All that is said of scores as probabilities."""

    error: CalibrationError
    error_by_chance: float
    ranking: Estimate
    bins: list[Bin]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.error._asdict(),
            "error_by_chance": self.error_by_chance,
            "ranking": self.ranking._asdict(),
            "bins": [each._asdict() for each in self.bins],
        }

    def line(self) -> str:
        expected, brier, scored = self.error
        area, low, high = self.ranking
        return (
            f"{scored} scores: calibration error {expected:.3f} (true probabilities: below {self.error_by_chance:.3f} "
            f"in 95% of draws), Brier score {brier:.3f}, area under the ROC curve {area:.3f} [{low:.3f}, {high:.3f}]."
        )


def reliability_of(probabilities: Sequence[float], solved: Sequence[bool]) -> Reliability:
    return Reliability(
        calibration_error(probabilities, solved),
        error_by_chance(probabilities),
        ranking(probabilities, solved),
        in_bins(probabilities, solved),
    )


def calibration_error(probabilities: Sequence[float], solved: Sequence[bool], bins: int = BINS) -> CalibrationError:
    """The expected calibration error over bins of equal width: ECE = sum_b n_b / n |mean p in b - share solved in b|.
    All 0 without any.

    Source: Guo et al., "On calibration of modern neural networks" (arXiv 1706.04599); G. Brier, 1950.
    """
    p, y = np.asarray(probabilities, float), np.asarray(solved, float)
    if not p.size:
        return CalibrationError(0.0, 0.0, 0)
    return CalibrationError(float(_expected(p, y, bins)), float(np.mean((p - y) ** 2)), int(p.size))


def error_by_chance(probabilities: Sequence[float], bins: int = BINS, seed: int = 0) -> float:
    """The expected calibration error that probabilities which are all true stay below in 95% of draws of so many
    outcomes: few trajectories alone make one. 0 without any."""
    p = np.asarray(probabilities, float)
    if not p.size:
        return 0.0
    drawn = np.random.default_rng(seed).random((DRAWS, p.size)) < p
    return float(np.quantile([_expected(p, y, bins) for y in drawn.astype(float)], 0.95))


def in_bins(probabilities: Sequence[float], solved: Sequence[bool], bins: int = SHOWN_BINS) -> list[Bin]:
    """Predicted beside observed rates, by bins of equal width; empty ones are left out."""
    p, y = np.asarray(probabilities, float), np.asarray(solved, bool)
    found, bin_of = [], _bin_of(p, bins)
    for number in range(bins):
        own = bin_of == number
        if count := int(own.sum()):
            wins = int(y[own].sum())
            edges = number / bins, (number + 1) / bins
            found.append(Bin(*edges, count, float(p[own].mean()), wins / count, wilson_interval(wins, count)))
    return found


def ranking(scores: Sequence[float], solved: Sequence[bool], seed: int = 0) -> Estimate:
    """The area under the ROC curve: how probable it is that a success has a higher score than a failure, ties counting
    half; its 95% interval by a bootstrap over trajectories. .5 from 0 to 1 where all have one truth."""
    values, truth = np.asarray(scores, float), np.asarray(solved, float)
    if not 0 < truth.sum() < truth.size:
        return Estimate(0.5, 0.0, 1.0)

    def area(values: np.ndarray, truth: np.ndarray, axis: int) -> np.ndarray:
        wins = truth.sum(axis)
        pairs = wins * (truth.shape[axis] - wins)
        above = (rankdata(values, axis=axis) * truth).sum(axis) - wins * (wins + 1) / 2
        shares: np.ndarray = np.where(pairs > 0, above / np.maximum(pairs, 1), 0.5)
        return shares

    return bootstrap(area, values, truth, paired=True, seed=seed).estimate


def _expected(p: np.ndarray, y: np.ndarray, bins: int) -> float:
    gaps = np.bincount(_bin_of(p, bins), p - y, minlength=bins)  # n_b (mean p - share solved)
    return float(np.abs(gaps).sum() / p.size)


def _bin_of(p: np.ndarray, bins: int) -> np.ndarray:
    return np.minimum((p * bins).astype(int), bins - 1)
