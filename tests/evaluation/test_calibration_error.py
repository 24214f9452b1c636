"""Probabilities beside what happened, by hand."""

from __future__ import annotations

import pytest

from tars_jax.evaluation.calibration_error import calibration_error, error_by_chance, in_bins, ranking, reliability_of
from tars_jax.evaluation.statistics import wilson_interval


def test_the_error_of_probabilities_by_hand() -> None:
    """Two in the bin of .2 to .3, of which one is solved: |.25 - .5|; two in the last, both solved: |.95 - 1|."""
    found = calibration_error([0.2, 0.3 - 1e-9, 0.9, 1.0], [False, True, True, True])
    assert found.expected == pytest.approx((2 * 0.25 + 2 * 0.05) / 4)
    assert found.brier == pytest.approx((0.2**2 + 0.7**2 + 0.1**2 + 0) / 4) and found.scored == 4
    assert calibration_error([0.5, 0.5], [True, False]) == (0.0, 0.25, 2)
    assert calibration_error([], []) == (0.0, 0.0, 0)


def test_bins_of_what_was_said_and_what_came() -> None:
    """Fifths: .1 and .15 are in the first, 1 is in the last, and three hold nothing."""
    first, last = in_bins([0.1, 0.15, 1.0, 0.9, 0.8], [False, True, True, True, False])
    assert (first.low, first.high, first.scored, first.solved) == (0.0, 0.2, 2, 0.5)
    assert first.mean == pytest.approx(0.125) and first.interval == wilson_interval(1, 2)
    assert (last.low, last.high, last.scored) == (0.8, 1.0, 3) and last.mean == pytest.approx(0.9)
    assert last.solved == pytest.approx(2 / 3) and in_bins([], []) == []


def test_what_chance_alone_makes_of_true_probabilities() -> None:
    """Of n outcomes at p = .5 in one bin it is |successes / n - .5|, which is below 1.96 / (2 sqrt n) in 95% of draws;
    sure ones are never off."""
    assert error_by_chance([0.5] * 400) == pytest.approx(1.96 / 40, abs=0.006)
    assert error_by_chance([0.0, 1.0] * 20) == 0.0 == error_by_chance([])


def test_how_well_scores_rank() -> None:
    """Of 2 x 3 pairs .9 is above all three, and .4 above one and beside another: (3 + 1.5) / 6."""
    scores, solved = [0.9, 0.4, 0.7, 0.4, 0.1], [True, True, False, False, False]
    found = ranking(scores, solved)
    assert found.value == 0.75 and 0 <= found.low < 0.75 < found.high <= 1
    assert ranking([0.1, 0.9] * 50, [True, False] * 50) == (0.0, 0.0, 0.0)
    assert ranking([0.2, 0.3], [True, True]) == (0.5, 0.0, 1.0) == ranking([], [])


def test_all_of_it_in_one_line() -> None:
    found = reliability_of([0.5] * 4, [True, True, False, False])
    assert found.to_json()["expected"] == 0 == found.error.expected and found.to_json()["bins"][0]["scored"] == 4
    assert found.line().startswith("4 scores: calibration error 0.000 (true probabilities: below 0.500 in 95% of")
    assert found.line().endswith("Brier score 0.250, area under the ROC curve 0.500 [0.500, 0.500].")
