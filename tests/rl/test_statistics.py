"""Aggregation, shaping and run statistics against values derived by hand."""

import hypothesis
import hypothesis.extra.numpy
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import rl


def test_soft_overlong_penalty() -> None:
    # (16384 - y) / 4096: 17408 is 1024 over, a quarter of the cache, and so on.
    lengths = np.array([1, 16384, 17408, 18432, 19456, 20480, 20481, 10**6])
    got = rl.soft_overlong_penalty(lengths, max_length=20480, cache=4096)
    np.testing.assert_allclose(got, [0, 0, -0.25, -0.5, -0.75, -1, -1, -1], atol=1e-6)


def test_aggregation() -> None:
    # Losses 1 on both tokens of one sequence, 0 on the eight of the other: (1 + 0) / 2 and 2 / 10.
    losses = np.zeros((2, 8))
    losses[0, :2] = 1
    mask = np.zeros((2, 8))
    mask[0, :2] = 1
    mask[1] = 1
    assert float(rl.sequence_mean(losses, mask)) == pytest.approx(0.5)
    assert float(rl.token_mean(losses, mask)) == pytest.approx(0.2)


def test_a_weighted_mean_is_over_trajectories_wherever_their_tokens_lie() -> None:
    # Three tokens of one trajectory, losses 1, 1, 4, lie in two rows beside the two of another, 0 and 3: (2 + 1.5) / 2.
    losses = np.array([[1, 1, 0], [4, np.nan, 3]])
    weights = np.array([[1 / 3, 1 / 3, 1 / 2], [1 / 3, np.nan, 1 / 2]])
    mask = np.array([[1, 1, 1], [1, 0, 1]])
    assert float(rl.token_mean(losses, mask, weights)) == pytest.approx(1.75)
    assert float(rl.token_mean(losses, mask)) == pytest.approx(1.8)
    assert rl.token_mean(losses, np.zeros((2, 3)), weights) == 0


def test_aggregation_skips_masked_tokens_and_empty_sequences() -> None:
    values = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, np.nan]])
    mask = np.array([[1, 0], [1, 1], [0, 0]])
    assert float(rl.token_mean(values, mask)) == pytest.approx(3)  # (1 + 3 + 5) / 3
    assert float(rl.sequence_mean(values, mask)) == pytest.approx(2.5)  # (1 + 4) / 2
    assert rl.token_mean(values, np.zeros((3, 2))) == 0
    assert rl.sequence_mean(values, np.zeros((3, 2))) == 0


def test_whiten() -> None:
    # Mean 3, deviations -2, 0, 2: variance 8/3, and -2 / sqrt(8/3) = -1.224745.
    got = rl.whiten(np.array([1.0, np.nan, 3.0, 5.0]), np.array([1, 0, 1, 1]))
    np.testing.assert_allclose(got, [-1.224745, 0, 0, 1.224745], atol=1e-5)
    np.testing.assert_array_equal(rl.whiten(np.full(3, 7.0), np.ones(3)), np.zeros(3))
    np.testing.assert_allclose(rl.token_std(np.array([1.0, np.nan, 3.0, 5.0]), np.array([1, 0, 1, 1])), (8 / 3) ** 0.5)


@pytest.mark.parametrize(("value", "count"), [(0.1, 1000), (0.7, 777), (100.1, 1000), (-1e6, 3)])
@pytest.mark.first(2)
def test_equal_advantages_teach_nothing(value: float, count: int) -> None:
    """Their mean in float32 is not exactly theirs: what is left of them is not to be scaled up to 1."""
    equal = np.full(count, value, np.float32)
    assert rl.token_std(equal, np.ones(count)) == 0
    np.testing.assert_array_equal(rl.whiten(equal, np.ones(count)), 0)
    gradient = jax.grad(lambda x: (rl.whiten(x, np.ones(count)) ** 2).sum())(jnp.asarray(equal))
    assert np.isfinite(gradient).all()


def test_explained_variance() -> None:
    # Var(R) = .25. R - V = .1, -.2, .2, -.3: mean -.05, variance .045 - .0025 = .0425; 1 - .0425 / .25 = .83.
    returns, values = np.array([1.0, 0, 1, 0]), np.array([0.9, 0.2, 0.8, 0.3])
    assert float(rl.explained_variance(returns, values)) == pytest.approx(0.83, abs=1e-6)
    # R - V = .9, -.8, .8, -.7: mean .05, variance .645 - .0025 = .6425; 1 - 2.57.
    assert float(rl.explained_variance(returns, 1 - values)) == pytest.approx(-1.57, abs=1e-6)


@pytest.mark.parametrize("mask", [None, np.zeros(5)])
def test_explained_variance_of_constant_returns_is_zero(mask: np.ndarray | None) -> None:
    assert rl.explained_variance(np.full(5, 0.1), np.arange(5.0), mask) == 0


def test_correlation() -> None:
    # R - mean = .5, -.5, .5, -.5; V - mean = .35, -.35, .25, -.25: Cov = .15, Var(R) = .25, Var(V) = .0925.
    returns, values = np.array([1.0, 0, 1, 0]), np.array([0.9, 0.2, 0.8, 0.3])
    golden = 0.15 / np.sqrt(0.25 * 0.0925)
    assert float(rl.correlation(returns, values)) == pytest.approx(golden, abs=1e-6)
    assert float(rl.correlation(returns, 7 - 3 * values)) == pytest.approx(-golden, abs=1e-6)  # no scale, no offset
    holes = np.array([[1, np.nan, 0], [np.nan, 1, 0]]), np.array([[0.9, np.nan, 0.2], [np.nan, 0.8, 0.3]])
    assert float(rl.correlation(*holes, np.isfinite(holes[0]))) == pytest.approx(golden, abs=1e-6)


@pytest.mark.parametrize("mask", [None, np.zeros(5)])
def test_correlation_is_zero_where_nothing_varies(mask: np.ndarray | None) -> None:
    assert rl.correlation(np.full(5, 0.1), np.arange(5.0), mask) == 0
    assert rl.correlation(np.arange(5.0), np.full(5, 0.1), mask) == 0


jitted_correlation = jax.jit(rl.correlation)


@hypothesis.settings(deadline=None, max_examples=50)
@hypothesis.given(hypothesis.extra.numpy.arrays(np.float32, (2, 12), elements=st.floats(-100, 100, width=16)))
def test_correlation_is_numpys(drawn: np.ndarray) -> None:
    returns, values = drawn
    found = float(jitted_correlation(returns, values))
    if np.std(returns) > 1e-2 and np.std(values) > 1e-2:
        assert found == pytest.approx(np.corrcoef(returns, values)[0, 1], abs=1e-3)
    assert -1.001 <= found <= 1.001


def test_entropy() -> None:
    # Uniform over four: log 4. Two of four forbidden: log 2. Certain: 0.
    logits = jnp.array([[0.0, 0, 0, 0], [1.0, 1, -jnp.inf, -jnp.inf], [1e4, 0, 0, 0], [jnp.nan] * 4])
    got = rl.entropy(logits, np.array([1, 1, 1, 0]))
    np.testing.assert_allclose(got, [np.log(4), np.log(2), 0, 0], atol=1e-6)


def test_entropy_has_a_finite_gradient() -> None:
    logits = jnp.array([[0.0, 1, 2], [1.0, 2, -jnp.inf], [jnp.nan] * 3])
    gradient = jax.grad(lambda logits: rl.entropy(logits, np.array([1, 1, 0])).sum())(logits)
    assert np.isfinite(gradient).all()
    # dH/dz_v = -p_v (log p_v + H)
    p = np.asarray(jax.nn.softmax(logits[0]))
    np.testing.assert_allclose(gradient[0], -p * (np.log(p) - (p * np.log(p)).sum()), atol=1e-6)
