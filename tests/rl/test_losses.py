"""Losses and their gradients against values derived by hand."""

import chex
import hypothesis
import hypothesis.extra.numpy
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import rl

CLIP = {"clip_low": 0.2, "clip_high": 0.28}


def objective_and_slope(ratio: float, advantage: float, **settings: float) -> tuple[float, float]:
    """The objective of one token, and its derivative with respect to the ratio: d/d(ratio) = d/d(log pi) / ratio."""

    def objective(log_prob: jax.Array) -> jax.Array:
        loss = rl.ppo_policy_loss(
            log_prob[None], jnp.zeros(1), jnp.array([advantage]), jnp.ones(1), **{**CLIP, **settings}
        )
        return -loss.loss[0]

    value, slope = jax.value_and_grad(objective)(jnp.log(ratio))
    return float(value), float(slope) / ratio


@pytest.mark.parametrize(
    ("ratio", "advantage", "objective", "slope"),
    [
        (0.79, 1.0, 0.79, 1),  # below 1 - .2, but rising helps: not clipped
        (0.79, -1.0, -0.8, 0),  # min(-.79, -.8)
        (1.25, 1.0, 1.25, 1),  # inside 1.28
        (1.25, -1.0, -1.25, -1),
        (1.29, 1.0, 1.28, 0),
        (1.29, -1.0, -1.29, -1),
        (1.5, 1.0, 1.28, 0),
        (1.5, -1.0, -1.5, -1),
    ],
)
def test_clip_higher(ratio: float, advantage: float, objective: float, slope: float) -> None:
    assert objective_and_slope(ratio, advantage) == pytest.approx((objective, slope), abs=1e-6)


def test_symmetric_clip_stops_earlier() -> None:
    assert objective_and_slope(1.25, 1.0, clip_high=0.2) == pytest.approx((1.2, 0), abs=1e-6)


def test_dual_clip_bounds_a_negative_advantage_only() -> None:
    assert objective_and_slope(4.0, -1.0) == pytest.approx((-4, -1), abs=1e-5)
    assert objective_and_slope(4.0, -1.0, dual_clip=3.0) == pytest.approx((-3, 0), abs=1e-5)
    assert objective_and_slope(2.0, -1.0, dual_clip=3.0) == pytest.approx((-2, -1), abs=1e-5)
    assert objective_and_slope(4.0, 1.0, dual_clip=3.0) == pytest.approx((1.28, 0), abs=1e-5)


def test_what_was_clipped_is_told_by_sign() -> None:
    ratios = np.array([0.7, 0.7, 1.0, 1.4, 1.4, 5.0, 5.0])
    advantages = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    mask = np.array([1, 1, 1, 1, 1, 1, 0])
    loss = rl.ppo_policy_loss(np.log(ratios), np.zeros(7), advantages, mask, dual_clip=3.0, **CLIP)
    np.testing.assert_array_equal(loss.clipped_low, [0, 1, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(loss.clipped_high, [0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(loss.clipped_dual, [0, 0, 0, 0, 0, 1, 0])
    np.testing.assert_allclose(loss.ratio, [0.7, 0.7, 1, 1.4, 1.4, 5, 0], atol=1e-5)


def test_importance_weights() -> None:
    # pi_behavior .2, .5, .1; pi_prox .4, .25, .5: w = 2, .5, 5.
    behavior, prox = np.log([0.2, 0.5, 0.1, 0.3]), np.log([0.4, 0.25, 0.5, 0.9])
    mask = np.array([1, 1, 1, 0])
    np.testing.assert_allclose(rl.importance_weights(prox, behavior, mask), [2, 0.5, 5, 0], atol=1e-5)
    np.testing.assert_allclose(rl.importance_weights(prox, behavior, mask, 3.0), [2, 0.5, 3, 0], atol=1e-5)


@hypothesis.given(hypothesis.extra.numpy.arrays(np.float32, (2, 6), elements=st.floats(-15, 0, width=32)))
def test_importance_weights_bring_the_mean_of_the_behavior_policy_to_the_proximal_ones(logits: np.ndarray) -> None:
    """sum_v pi_behavior(v) w(v) = 1, untruncated; truncated, what is above is cut and nothing else."""
    prox, behavior = np.asarray(jax.nn.log_softmax(logits, axis=-1), np.float32)
    whole, cut = (np.asarray(rl.importance_weights(prox, behavior, np.ones(6), most)) for most in (None, 1.5))
    np.testing.assert_allclose((np.exp(behavior) * whole).sum(), 1, rtol=1e-3)
    np.testing.assert_array_equal(cut, np.minimum(whole, np.float32(1.5)))


def test_decoupled_objective() -> None:
    # w = 2, .5, 5; pi = 1.1 pi_prox everywhere, A = 1, -1, 1.
    prox, advantages = np.log([0.4, 0.25, 0.5]), np.array([1.0, -1.0, 1.0])
    loss = rl.ppo_policy_loss(prox + np.log(1.1), prox, advantages, np.ones(3), weights=np.array([2, 0.5, 5]), **CLIP)
    np.testing.assert_allclose(loss.ratio, [1.1, 1.1, 1.1], atol=1e-5)
    np.testing.assert_allclose(loss.loss, [-2.2, 0.55, -5.5], atol=1e-5)


def test_decoupled_objective_of_fresh_data_is_plain_ppo() -> None:
    rng = np.random.default_rng(0)
    now, old, advantages = rng.normal(size=(3, 20)) * 0.3
    plain = rl.ppo_policy_loss(now, old, advantages, np.ones(20), **CLIP)
    weights = rl.importance_weights(old, old, np.ones(20), 2.0)
    chex.assert_trees_all_close(plain, rl.ppo_policy_loss(now, old, advantages, np.ones(20), weights=weights, **CLIP))


def test_truncated_importance_between_engine_and_learner() -> None:
    """One version of the weights, in two programs: no ratio to clip, and a gradient that w_t alone scales."""
    learner, engine = np.log([0.5, 0.5, 0.3]), np.log([0.1, 0.25, 0.6])  # learner / engine: 5, 2, .5
    advantages = np.array([1.0, 1.0, -2.0])

    def total(now: jax.Array) -> jax.Array:
        weights = rl.importance_weights(learner, engine, np.ones(3), 3.0)
        return rl.ppo_policy_loss(now, learner, advantages, np.ones(3), weights=weights, **CLIP).loss.sum()

    # d/d(log pi) of -w rho A at rho = 1 is -w A, w = min(5, 3), 2, .5.
    np.testing.assert_allclose(jax.grad(total)(jnp.asarray(learner)), [-3, -2, 1], atol=1e-5)


def test_reference_kl() -> None:
    # pi .5, reference .25: x = -log 2, 1/2 + log 2 - 1; the same: 0; pi .25, reference .5: 2 - log 2 - 1.
    now, reference = np.log([0.5, 0.5, 0.25, 0.1]), np.log([0.25, 0.5, 0.5, 0.9])
    mask = np.array([1, 1, 1, 0])
    np.testing.assert_allclose(rl.reference_kl(now, reference, mask), [np.log(2) - 0.5, 0, 1 - np.log(2), 0], atol=1e-6)
    # d/d(log pi) = 1 - pi_ref / pi
    gradient = jax.grad(lambda now: rl.reference_kl(now, reference, mask).sum())(jnp.asarray(now))
    np.testing.assert_allclose(gradient, [0.5, 0, -1, 0], atol=1e-6)


def test_reference_kl_is_the_divergence_on_average_and_bounded() -> None:
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.3, 0.3, 0.4])
    kl = (p * np.asarray(rl.reference_kl(np.log(p), np.log(q), np.ones(3)))).sum()
    np.testing.assert_allclose(kl, (p * np.log(p / q)).sum(), atol=1e-6)
    far, slope = jax.value_and_grad(lambda now: rl.reference_kl(now, np.zeros(1), np.ones(1)).sum())(-jnp.full(1, 1e3))
    assert np.isfinite(far) and slope == 0


def test_gradients_flow_through_the_current_policy_only() -> None:
    def total(now: jax.Array, old: jax.Array, advantages: jax.Array, behavior: jax.Array) -> jax.Array:
        weights = rl.importance_weights(old, behavior, jnp.ones(4))
        return rl.ppo_policy_loss(now, old, advantages, jnp.ones(4), weights=weights, **CLIP).loss.sum()

    now, old, advantages, behavior = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32) * 0.1
    gradients = jax.grad(total, argnums=(0, 1, 2, 3))(now, old, advantages, behavior)
    assert np.abs(gradients[0]).min() > 0
    for gradient in gradients[1:]:
        np.testing.assert_array_equal(gradient, np.zeros(4))


def test_policy_gradient_equals_a_finite_difference() -> None:
    rng = np.random.default_rng(2)
    old, advantages = rng.normal(size=(2, 6)) * 0.4
    # Well inside the clip range, where the objective is smooth.
    now, weights = old + rng.uniform(-0.15, 0.15, 6), rng.uniform(0, 2, 6)

    def total(now: jax.Array) -> jax.Array:
        return rl.ppo_policy_loss(now, old, advantages, jnp.ones(6), weights=weights, **CLIP).loss.sum()

    gradient = jax.grad(total)(jnp.asarray(now))
    for t in range(6):
        h = np.zeros(6)
        h[t] = 1e-2
        assert gradient[t] == pytest.approx(float(total(now + h) - total(now - h)) / 2e-2, rel=1e-2, abs=1e-3)


def test_an_exploded_ratio_stays_finite() -> None:
    loss = rl.ppo_policy_loss(np.array([0.0]), np.array([-500.0]), np.array([0.0]), np.ones(1), **CLIP)
    assert loss.loss[0] == 0
    loss = rl.ppo_policy_loss(np.array([0.0]), np.array([-500.0]), np.array([-1.0]), np.ones(1), **CLIP)
    assert np.isfinite(loss.loss[0])


def test_value_loss() -> None:
    # 1/2 (.2 - 1)^2 = .32; 1/2 (.9 - .5)^2 = .08
    loss = rl.value_loss(np.array([0.2, 0.9, 5.0]), np.array([1.0, 0.5, 0.0]), np.array([1, 1, 0]))
    np.testing.assert_allclose(loss, [0.32, 0.08, 0], atol=1e-6)


def test_value_loss_clipped() -> None:
    # V .9, V_old .2, c .1: the clipped value is .3. Target 1: max(.01, .49) / 2; target 0: max(.81, .09) / 2.
    values, old = jnp.array([0.9, 0.9]), jnp.array([0.2, 0.2])
    targets = jnp.array([1.0, 0.0])
    loss = rl.value_loss(values, targets, jnp.ones(2), old_values=old, clip=0.1)
    np.testing.assert_allclose(loss, [0.245, 0.405], atol=1e-6)
    # The first is already further than the clip lets it go: no gradient. The second: V - target.
    slope = jax.grad(lambda v: rl.value_loss(v, targets, jnp.ones(2), old_values=old, clip=0.1).sum())(values)
    np.testing.assert_allclose(slope, [0, 0.9], atol=1e-6)


def test_positive_language_model_loss_counts_positive_tokens_only() -> None:
    # Two trajectories; the first succeeded: -(log .5 + log .25) / 2 = 1.5 log 2. The second's tokens do not count.
    log_probs = np.log([[0.5, 0.25, 0.1], [0.9, 0.9, 0.9]])
    mask = np.array([[1, 1, 0], [1, 1, 1]])
    loss = rl.positive_language_model_loss(log_probs, mask, np.array([[1], [0]]))
    assert float(loss) == pytest.approx(1.5 * np.log(2), abs=1e-6)
    assert rl.positive_language_model_loss(log_probs, mask, np.zeros((2, 1))) == 0
