"""Shaping of rewards by how long an episode was, against values derived by hand. DAPO's penalty: test_statistics.py."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tars_jax import rl

budgets = st.integers(1, 1000)


def test_an_end_that_comes_too_early() -> None:
    """Of 10 steps half: 5, 2, 1 short of them by 0, 3/5, 4/5; of a quarter of 8 steps: 2, 1."""
    np.testing.assert_allclose(rl.early_ending_penalty(np.array([10, 5, 2, 1]), 10, 0.5), [0, 0, -0.6, -0.8], atol=1e-6)
    of_eight = rl.early_ending_penalty(np.array([2, 1, 0]), np.array([8, 8, 8]), 0.25)
    np.testing.assert_allclose(of_eight, [0, -0.5, -1], atol=1e-6)


def test_steps_that_were_not_needed() -> None:
    np.testing.assert_allclose(rl.saved_steps(np.array([1, 5, 10]), 10), [0.9, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(rl.saved_steps(np.array([2, 1]), np.array([8, 1])), [0.75, 0], atol=1e-6)


@given(budgets, st.floats(0.01, 1))
def test_both_lie_within_their_bounds_and_go_one_way(budget: int, share: float) -> None:
    steps = np.unique(np.linspace(0, budget, 20).astype(int))
    early, saved = np.asarray(rl.early_ending_penalty(steps, budget, share)), np.asarray(rl.saved_steps(steps, budget))
    np.testing.assert_allclose([early[0], saved[0]], [-1, 1], atol=1e-6)
    assert early[-1] == saved[-1] == 0 and (np.diff(early) >= 0).all() and (np.diff(saved) < 0).all()


@given(budgets, st.floats(0.01, 1), st.integers(2, 50))
def test_both_are_of_the_share_that_was_used(budget: int, share: float, times: int) -> None:
    """An episode that is so many times as long, of a budget that is, has earned the same."""
    used = max(1, budget // 3)
    early = [float(rl.early_ending_penalty(used * by, budget * by, share)) for by in (1, times)]
    saved = [float(rl.saved_steps(used * by, budget * by)) for by in (1, times)]
    np.testing.assert_allclose(early[0], early[1], atol=1e-5)
    np.testing.assert_allclose(saved[0], saved[1], atol=1e-5)
