"""A judge's scores as probabilities: Platt's map, fitted on trajectories whose truth is known.

    p = sigmoid(slope * logit(score) + intercept)

Source: J. Platt, "Probabilistic outputs for support vector machines", 1999, with his targets; a slope alone is
temperature scaling (Guo et al., arXiv 1706.04599).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tars_jax import InputError
from tars_jax.json_fields import read_object

FILE = "calibration.json"
SURE = 1e-6  # scores are held away from 0 and 1 by this much, where their logits end
FEWEST = 10  # scores that a map is fitted to; of fewer there is none


class Calibration(NamedTuple):
    """The map; as it is made, scores stay as they are."""

    slope: float = 1.0
    intercept: float = 0.0

    def __call__(self, score: float) -> float:
        """A score, 0 to 1, as a probability."""
        if self == IDENTITY:
            return float(score)
        from scipy.special import expit

        return float(expit(self.slope * _logits(score) + self.intercept))


IDENTITY = Calibration()


def fit_calibration(scores: Sequence[float], solved: Sequence[bool]) -> Calibration:
    """The map of the highest likelihood; IDENTITY for fewer than FEWEST scores, and where all have one truth.

    The targets are Platt's, (n + 1) / (n + 2) and 1 / (m + 2) for n successes and m failures, so that scores which tell
    them apart without an error do not make it infinitely steep.

    Raises InputError for scores that are not as many, or no probabilities.
    """
    values, truth = np.asarray(scores, float), np.asarray(solved, bool)
    if values.shape != truth.shape or values.ndim != 1:
        raise InputError(f"scores must be as many as verdicts; got {values.shape} and {truth.shape}")
    if outside := [value for value in values.tolist() if not 0 <= value <= 1]:
        raise InputError(f"scores must be 0 to 1; got {outside[0]}")
    successes = int(truth.sum())
    failures = len(truth) - successes
    if len(values) < FEWEST or not (successes and failures):
        return IDENTITY
    from scipy.optimize import minimize  # here, as most that import this file fit nothing
    from scipy.special import expit, log_expit

    logits = _logits(values)
    targets = np.where(truth, (successes + 1) / (successes + 2), 1 / (failures + 2))

    def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        """Mean cross-entropy, and its gradient."""
        z = line[0] * logits + line[1]
        error = expit(z) - targets
        entropy = -np.mean(targets * log_expit(z) + (1 - targets) * log_expit(-z))
        return float(entropy), np.array([np.mean(error * logits), np.mean(error)])

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS")
    return Calibration(*map(float, found.x))


def read_calibration(checkpoint: Path) -> Calibration:
    """Reads the calibration beside exported weights, in the folder of their run; IDENTITY where there is none. Raises
    InputError for a file that is none."""
    file = checkpoint.absolute().parent / FILE
    if not file.exists():
        return IDENTITY
    found = read_object(file, *Calibration._fields)
    numbers = [found[name] for name in Calibration._fields]
    if not all(isinstance(number, (int, float)) and np.isfinite(number) for number in numbers):
        raise InputError(f"{file} must hold the numbers slope and intercept; got {found!r:.100}")
    return Calibration(*map(float, numbers))


def _logits(scores: float | np.ndarray) -> np.ndarray:
    from scipy.special import logit

    found: np.ndarray = logit(np.clip(scores, SURE, 1 - SURE))
    return found
