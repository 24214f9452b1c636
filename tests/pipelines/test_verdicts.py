import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax.pipelines.trends.verdicts import Test as Claim
from tars_jax.pipelines.trends.verdicts import (
    TrendVerdict,
    detectable,
    judge,
    late_minus_early,
    overall,
    rise,
    volatility,
)

CLAIM = Claim("the score rises", above=0.5)


def test_the_interval_is_students() -> None:
    # Mean 2, deviation 1, four seeds: half a width of t(.975, 3) / sqrt(4) = 3.18245 / 2.
    found = judge(CLAIM, [1.0, 2.0, 3.0, 2.0 + 0.0])
    error = math.sqrt(2 / 3) / 2
    assert found.estimate.value == pytest.approx(2.0)
    assert found.estimate.high - 2.0 == pytest.approx(3.18245 * error, abs=1e-4)
    assert found.estimate.low == pytest.approx(2.0 - 3.18245 * error, abs=1e-4)


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.0], TrendVerdict.HOLDS),
        ([0.1, 0.2, 0.0, 0.1], TrendVerdict.DOES_NOT_HOLD),
        ([0.0, 1.0, -2.0, 3.0], TrendVerdict.UNDECIDED),
        ([9.0], TrendVerdict.UNDECIDED),
        ([0.5, 0.5], TrendVerdict.UNDECIDED),
    ],
)
def test_the_verdict_is_where_the_interval_lies(effects: list[float], verdict: TrendVerdict) -> None:
    assert judge(CLAIM, effects).verdict is verdict


def test_what_so_many_seeds_could_have_seen() -> None:
    """Where the truth lies that far from the bound, four of five such experiments hold."""
    effects = [-1.0, -0.5, 0.0, 0.5, 1.0]
    rng = np.random.default_rng(0)
    drawn = rng.normal(detectable(effects), np.std(effects, ddof=1), (4000, 5))
    held = np.mean([judge(Claim("", above=0.0), row).verdict is TrendVerdict.HOLDS for row in drawn.tolist()])
    assert held == pytest.approx(0.8, abs=0.03)
    assert detectable([1.0, 1.0]) == 0


def test_a_claim_of_several_tests_takes_all_of_them() -> None:
    good, bad, unclear = (judge(CLAIM, each) for each in ([1.0, 1.0], [0.0, 0.0], [0.0, 9.0]))
    assert overall([good, good]) is TrendVerdict.HOLDS
    assert overall([good, unclear]) is TrendVerdict.UNDECIDED
    assert overall([unclear, bad, good]) is TrendVerdict.DOES_NOT_HOLD


@pytest.mark.parametrize("effects", [[], [math.nan], [1.0, math.inf]])
def test_what_is_no_effect_is_refused(effects: list[float]) -> None:
    with pytest.raises(ValueError, match="one finite number for each seed"):
        judge(CLAIM, effects)


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(2, 30))
def test_a_line_rises_by_its_slope_and_does_not_jump(start: float, slope: float, updates: int) -> None:
    line = (start + slope * np.arange(updates))[None]
    assert rise(line)[0] == pytest.approx(slope * (updates - 1), abs=1e-9)
    assert volatility(line)[0] == pytest.approx(0, abs=1e-6)


def test_curves_by_hand() -> None:
    curves = np.array([[0.0, 0.0, 1.0, 1.0, 2.0], [2.0, 0.0, 2.0, 0.0, 2.0]])
    np.testing.assert_allclose(late_minus_early(curves), [2, 0])
    np.testing.assert_allclose(late_minus_early(curves, 0.4), [1.5, 0])
    # x = -2..2: sum of x y = 0 + 0 + 0 + 1 + 4 = 5 over 10, times 4 steps; and -4 + 0 + 0 + 0 + 4 = 0.
    np.testing.assert_allclose(rise(curves), [2, 0])
    # Differences 0, 1, 0, 1: variance 1/4; -2, 2, -2, 2: variance 4.
    np.testing.assert_allclose(volatility(curves), [math.sqrt(1 / 8), math.sqrt(2)])


def test_noise_around_a_line_has_its_own_deviation_as_volatility() -> None:
    rng = np.random.default_rng(0)
    curves = 3.0 * np.arange(4000)[None] + rng.normal(0, 0.7, (1, 4000))
    assert volatility(curves)[0] == pytest.approx(0.7, rel=0.05)
