"""Advantages against values derived by hand, a quadratic reference in numpy, and the laws they must keep."""

import chex
import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import rl

# Three action tokens that earn 1 at their end. delta = [0 + .5 - .2, 0 + .6 - .5, 1 - .6] = [.3, .1, .4].
REWARDS = np.array([0.0, 0.0, 1.0])
VALUES = np.array([0.2, 0.5, 0.6])

Columns = tuple[np.ndarray, ...]  # rewards, values, mask, each [T]


def reference_gae(
    rewards: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray,
    gamma: float,
    lambda_policy: float,
    lambda_critic: float,
    bootstrap_value: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The definition, as a double sum over action tokens in float64."""
    indices = np.flatnonzero(mask)
    r, v = rewards[indices].astype(np.float64), values[indices].astype(np.float64)
    v_tp1 = np.append(v[1:], bootstrap_value)
    delta = r + gamma * v_tp1 - v
    n = len(indices)
    advantages, targets = np.zeros(len(mask)), np.zeros(len(mask))
    for t in range(n):
        advantages[indices[t]] = sum((gamma * lambda_policy) ** (k - t) * delta[k] for k in range(t, n))
        targets[indices[t]] = v[t] + sum((gamma * lambda_critic) ** (k - t) * delta[k] for k in range(t, n))
    return advantages, targets


@pytest.mark.parametrize(
    ("lambda_", "advantages", "targets"),
    [
        (0.0, [0.3, 0.1, 0.4], [0.5, 0.6, 1.0]),
        (0.5, [0.45, 0.3, 0.4], [0.65, 0.8, 1.0]),  # A_1 = .1 + .5 * .4; A_0 = .3 + .5 * .3
        (0.95, [0.756, 0.48, 0.4], [0.956, 0.98, 1.0]),  # A_1 = .1 + .95 * .4; A_0 = .3 + .95 * .48
        (1.0, [0.8, 0.5, 0.4], [1.0, 1.0, 1.0]),  # return minus value
    ],
)
def test_one_lambda(lambda_: float, advantages: list[float], targets: list[float]) -> None:
    got = rl.decoupled_gae(REWARDS, VALUES, np.ones(3), lambda_policy=lambda_, lambda_critic=lambda_)
    np.testing.assert_allclose(got[0], advantages, atol=1e-6)
    np.testing.assert_allclose(got[1], targets, atol=1e-6)


def test_two_lambdas_are_independent() -> None:
    advantages, targets = rl.decoupled_gae(REWARDS, VALUES, np.ones(3), lambda_policy=0.5, lambda_critic=1.0)
    np.testing.assert_allclose(advantages, [0.45, 0.3, 0.4], atol=1e-6)
    np.testing.assert_allclose(targets, [1, 1, 1], atol=1e-6)


def test_discount() -> None:
    # delta = [.45 - .2, .54 - .5, .4]; A_1 = .04 + .45 * .4 = .22; A_0 = .25 + .45 * .22 = .349
    advantages, _ = rl.decoupled_gae(REWARDS, VALUES, np.ones(3), gamma=0.9, lambda_policy=0.5)
    np.testing.assert_allclose(advantages, [0.349, 0.22, 0.4], atol=1e-6)


@pytest.mark.parametrize("nonsense", [999.0, np.nan, np.inf])
def test_observation_tokens_do_not_exist(nonsense: float) -> None:
    # Action tokens: V = .1, .2, .4, .5; gamma lambda = .9405.
    # A_3 = .5; A_2 = .99 * .5 - .4 + .9405 * .5 = .56525; A_1 = .99 * .4 - .2 + .9405 * .56525 = .727618;
    # A_0 = .99 * .2 - .1 + .9405 * .727618 = .782324
    mask = np.array([1, 1, 0, 1, 1])
    values = np.array([0.1, 0.2, nonsense, 0.4, 0.5])
    rewards = np.array([0, 0, nonsense, 0, 1.0])
    advantages, targets = rl.decoupled_gae(rewards, values, mask, gamma=0.99, lambda_policy=0.95, lambda_critic=1.0)
    np.testing.assert_allclose(advantages, [0.782324, 0.727618, 0, 0.56525, 0.5], atol=1e-6)
    np.testing.assert_allclose(targets, [0.99**3, 0.99**2, 0, 0.99, 1], atol=1e-6)


def test_bootstrap_value_follows_the_last_action_token() -> None:
    # delta_1 = 0 + .8 - .5 = .3 although an observation token stands behind it; delta_0 = .5 - .2 = .3
    advantages, targets = rl.decoupled_gae(
        np.zeros(3), np.array([0.2, 0.5, 7.0]), np.array([1, 1, 0]), lambda_policy=0.0, bootstrap_value=0.8
    )
    np.testing.assert_allclose(advantages, [0.3, 0.3, 0], atol=1e-6)
    np.testing.assert_allclose(targets, [0.8, 0.8, 0], atol=1e-6)


def trajectories() -> st.SearchStrategy[Columns]:
    # One length, so that jit compiles once; the mask makes shorter ones.
    unit = st.floats(-2, 2, width=32)
    token = st.tuples(unit, unit, st.booleans())
    return st.lists(token, min_size=12, max_size=12).map(
        lambda tokens: tuple(np.array(column) for column in zip(*tokens, strict=True))
    )


scalars = st.floats(0, 1, width=32)
gae, turn_gae = jax.jit(rl.decoupled_gae), jax.jit(rl.turn_level_gae)


@hypothesis.settings(deadline=None, max_examples=100)
@hypothesis.given(trajectories(), scalars, scalars, scalars, st.floats(-2, 2, width=32))
def test_equals_the_double_sum(
    trajectory: Columns, gamma: float, lambda_policy: float, lambda_critic: float, bootstrap_value: float
) -> None:
    rewards, values, mask = trajectory
    expected = reference_gae(rewards, values, mask, gamma, lambda_policy, lambda_critic, bootstrap_value)
    got = gae(
        rewards,
        values,
        mask,
        gamma=gamma,
        lambda_policy=lambda_policy,
        lambda_critic=lambda_critic,
        bootstrap_value=bootstrap_value,
    )
    np.testing.assert_allclose(got[0], expected[0], atol=1e-4)
    np.testing.assert_allclose(got[1], expected[1], atol=1e-4)


@hypothesis.settings(deadline=None, max_examples=50)
@hypothesis.given(trajectories(), scalars)
def test_undiscounted_targets_are_monte_carlo_returns(trajectory: Columns, lambda_policy: float) -> None:
    rewards, values, mask = trajectory
    _, targets = gae(rewards, values, mask, lambda_policy=lambda_policy)
    returns = np.where(mask, np.cumsum(np.where(mask, rewards, 0)[::-1])[::-1], 0)
    np.testing.assert_allclose(targets, returns, atol=1e-4)


@hypothesis.settings(deadline=None, max_examples=50)
@hypothesis.given(trajectories(), st.data())
def test_inserted_observation_tokens_change_nothing(trajectory: Columns, data: st.DataObject) -> None:
    rewards, values, mask = trajectory
    places = sorted(data.draw(st.lists(st.integers(0, len(mask)), min_size=5, max_size=5)))
    wide_rewards = np.insert(rewards, places, np.nan)
    wide_values = np.insert(values, places, 1e30)
    wide_mask = np.insert(mask, places, False)
    lambdas = {"lambda_policy": 0.7, "lambda_critic": 0.9, "gamma": 0.95}
    narrow = gae(rewards, values, mask, **lambdas)
    wide = gae(wide_rewards, wide_values, wide_mask, **lambdas)
    for got, expected in zip(wide, narrow, strict=True):
        np.testing.assert_array_equal(np.asarray(got)[wide_mask], np.asarray(expected)[mask])
        assert not np.asarray(got)[~wide_mask].any()


def test_another_lambda_does_not_recompile() -> None:
    traced = jax.jit(chex.assert_max_traces(rl.decoupled_gae, n=1))
    for lambda_policy in (0.0, 0.5, 1.0):
        traced(REWARDS, VALUES, np.ones(3), lambda_policy=jnp.float32(lambda_policy))


def test_length_adaptive_lambda() -> None:
    # 1 - 1 / (.05 l), clamped: not positive up to l = 20, then 1 - 1/1.05, 1 - 1/2, 1 - 1/5, 1 - 1/50
    got = rl.length_adaptive_lambda(np.array([1, 10, 20, 21, 40, 100, 1000]), alpha=0.05)
    np.testing.assert_allclose(got, [0, 0, 0, 0.047619, 0.5, 0.8, 0.98], atol=1e-6)
    # 1 - 1/1.5, 1 - 1/15, 1 - 1/150
    got = rl.length_adaptive_lambda(np.array([1, 10, 100]), alpha=1.5)
    np.testing.assert_allclose(got, [0.333333, 0.933333, 0.993333], atol=1e-6)


def test_length_adaptive_lambda_stays_in_its_range() -> None:
    got = np.asarray(rl.length_adaptive_lambda(np.array([0, 1, 10**9]), alpha=1.5))
    assert got[0] == 0
    assert (got < 1).all()


def test_turns() -> None:
    # Two turns of two tokens, a screenshot between them. V_k = .2, .6; delta = [0 + .6 - .2, 1 - .6] = [.4, .4];
    # A_1 = .4, A_0 = .4 + .5 * .4 = .6. The values 9 inside the turns are not read.
    rewards, values = np.array([0, 0, np.nan, 0, 1]), np.array([0.2, 9, np.nan, 0.6, 9])
    mask, turns = np.array([1, 1, 0, 1, 1]), np.array([0, 0, 7, 1, 1])
    advantages, targets = rl.turn_level_gae(rewards, values, mask, turns, lambda_policy=0.5)
    np.testing.assert_allclose(advantages, [0.6, 0.6, 0, 0.4, 0.4], atol=1e-6)
    np.testing.assert_allclose(targets, [1, 1, 0, 1, 1], atol=1e-6)
    # gamma .9 a turn: delta = [.54 - .2, .4]; A_0 = .34 + .45 * .4 = .52; target_0 = .2 + .34 + .9 * .4 = .9
    advantages, targets = rl.turn_level_gae(rewards, values, mask, turns, gamma=0.9, lambda_policy=0.5)
    np.testing.assert_allclose(advantages, [0.52, 0.52, 0, 0.4, 0.4], atol=1e-6)
    np.testing.assert_allclose(targets, [0.9, 0.9, 0, 1, 1], atol=1e-6)


@hypothesis.settings(deadline=None, max_examples=30)
@hypothesis.given(trajectories(), scalars, scalars)
def test_turns_of_one_token_are_tokens(trajectory: Columns, gamma: float, lambda_policy: float) -> None:
    rewards, values, mask = trajectory
    tokens = gae(rewards, values, mask, gamma=gamma, lambda_policy=lambda_policy)
    turns = turn_gae(rewards, values, mask, np.arange(len(mask)), gamma=gamma, lambda_policy=lambda_policy)
    chex.assert_trees_all_close(tokens, turns, atol=1e-5)


@hypothesis.settings(deadline=None, max_examples=30)
@hypothesis.given(trajectories(), scalars, st.lists(st.integers(0, 3), min_size=12, max_size=12).map(sorted))
def test_a_turn_has_one_advantage_that_its_inner_values_do_not_change(
    trajectory: Columns, lambda_policy: float, turns: list[int]
) -> None:
    rewards, values, mask = trajectory
    number = np.array(turns)
    first = np.array([m and not any(mask[i] and turns[i] == turns[t] for i in range(t)) for t, m in enumerate(mask)])
    one = turn_gae(rewards, values, mask, number, lambda_policy=lambda_policy)
    other = turn_gae(rewards, np.where(first, values, np.nan), mask, number, lambda_policy=lambda_policy)
    chex.assert_trees_all_equal(one, other)
    for found in one:
        for turn in set(turns):
            assert len(set(np.asarray(found)[mask & (number == turn)])) <= 1
