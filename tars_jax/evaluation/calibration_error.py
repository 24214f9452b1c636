"""How far probabilities of success are from what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

BINS = 10


class CalibrationError(NamedTuple):
    """Of so many scored trajectories; 0 is the best of both."""

    expected: float  # mean distance of probability and share of successes, over bins weighted by what they hold
    brier: float  # mean squared distance of probability and outcome
    scored: int


def calibration_error(probabilities: Sequence[float], solved: Sequence[bool], bins: int = BINS) -> CalibrationError:
    """With bins of equal width: ECE = sum_b n_b / n |mean p in b - share solved in b|. All 0 without any.

    Source: Guo et al., "On calibration of modern neural networks" (arXiv 1706.04599); G. Brier, 1950.
    """
    p, y = np.asarray(probabilities, float), np.asarray(solved, float)
    if not p.size:
        return CalibrationError(0.0, 0.0, 0)
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    gaps = np.bincount(bin_of, p - y, minlength=bins)  # n_b (mean p - share solved)
    return CalibrationError(float(np.abs(gaps).sum() / p.size), float(np.mean((p - y) ** 2)), int(p.size))
