"""Platt's map on scores whose law is known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from tars_jax import InputError
from tars_jax.judges.calibration import IDENTITY, Calibration, fit_calibration, read_calibration


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.4, -1.0), (2.5, 0.7), (-0.8, 0.2)])
def test_it_finds_the_law_that_made_the_truth(slope: float, intercept: float) -> None:
    """20,000 draws: standard errors are below .03 for each."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 20_000)
    solved = rng.random(20_000) < expit(slope * logits + intercept)
    found = fit_calibration(expit(logits).tolist(), solved.tolist())
    assert found.slope == pytest.approx(slope, abs=0.1) and found.intercept == pytest.approx(intercept, abs=0.1)


def test_the_map_by_hand() -> None:
    """logit(.8) = ln 4: with slope 2 the odds are 16, with intercept ln 2 they are twice as many."""
    assert Calibration(2.0, 0.0)(0.8) == pytest.approx(16 / 17)
    assert Calibration(1.0, float(np.log(2)))(0.8) == pytest.approx(8 / 9)
    assert [IDENTITY(score) for score in (0.0, 0.3, 1.0)] == [0.0, 0.3, 1.0]
    assert 0 < Calibration(1.0, 0.1)(0.0) < 1e-5 and 1 - 1e-5 < Calibration(1.0, 0.1)(1.0) < 1


def test_scores_that_tell_all_apart_stay_short_of_certainty() -> None:
    """Platt's targets of 10 and 10 are 11/12 and 1/12, which two scores can meet."""
    found = fit_calibration([0.9] * 10 + [0.1] * 10, [True] * 10 + [False] * 10)
    assert found(0.9) == pytest.approx(11 / 12, abs=1e-3) and found(0.1) == pytest.approx(1 / 12, abs=1e-3)
    sure = fit_calibration([1.0] * 10 + [0.0] * 10, [True] * 10 + [False] * 10)
    assert sure(1.0) == pytest.approx(11 / 12, abs=1e-3)


def test_too_little_to_fit_to() -> None:
    assert fit_calibration([0.5] * 9, [True, False] * 4 + [True]) == IDENTITY
    assert fit_calibration([0.5] * 40, [True] * 40) == IDENTITY == fit_calibration([], [])
    for scores, words in (([0.5], "as many as verdicts"), ([0.5, 1.5], "must be 0 to 1; got 1.5")):
        with pytest.raises(InputError, match=words):
            fit_calibration(scores, [True, False])


def test_it_lies_beside_the_weights(tmp_path: Path) -> None:
    assert read_calibration(tmp_path / "policy") == IDENTITY
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps({"slope": 0.5, "intercept": -1}))
    assert read_calibration(tmp_path / "policy") == (0.5, -1.0)
    file.write_text(json.dumps({"slope": "steep", "intercept": 0}))
    with pytest.raises(InputError, match="calibration.json must hold the numbers slope and intercept"):
        read_calibration(tmp_path / "policy")
