"""Means over action tokens, and the statistics that say whether training is healthy."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


def token_mean(values: ArrayLike, mask: ArrayLike, weights: ArrayLike | None = None) -> jax.Array:
    """Mean over all action tokens of a batch: every token weighs the same, so long trajectories weigh more.

        sum_t w_t x_t / sum_t w_t

    With w_t = 1 / |o_i| for the |o_i| action tokens of trajectory i it is the mean over trajectories of their means,
    wherever their tokens lie: in several windows, in rows that they share.

    Source: DAPO (arXiv 2503.14476), "Token-level policy gradient loss".

    Args:
      values: any shape.
      mask: the same shape, true at action tokens. What stands elsewhere is never read and may be NaN.
      weights: the same shape, w_t, not negative; None for 1.

    Returns:
      A scalar; 0 for an empty mask.
    """
    chex.assert_equal_shape([values, mask])
    mask = jnp.asarray(mask, bool)
    if weights is None:
        return jnp.where(mask, values, 0).sum() / jnp.maximum(mask.sum(), 1)
    chex.assert_equal_shape([weights, mask])
    w = jnp.where(mask, weights, 0)
    total = w.sum()
    return (w * jnp.where(mask, values, 0)).sum() / jnp.where(total > 0, total, 1)


def token_std(values: ArrayLike, mask: ArrayLike) -> jax.Array:
    """Standard deviation over all action tokens of a batch, with divisor n.

    Args:
      values: any shape.
      mask: the same shape, true at action tokens. What stands elsewhere is never read and may be NaN.

    Returns:
      A scalar; 0 for an empty mask, and exactly 0 where all values are equal.
    """
    chex.assert_equal_shape([values, mask])
    variance = token_mean(jnp.square(_centered(values, jnp.asarray(mask, bool))), mask)
    # The root has no finite gradient at 0.
    return jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)


def whiten(values: ArrayLike, mask: ArrayLike, eps: float = 1e-6) -> jax.Array:
    """Mean 0 and standard deviation 1 over all action tokens of a batch.

        (x_t - mean(x)) / (std(x) + eps),   std with divisor n

    Args:
      values: any shape.
      mask: the same shape, true at action tokens. What stands elsewhere is never read and may be NaN.
      eps: bounds what a batch whose values hardly differ is scaled up by.

    Returns:
      The same shape; 0 outside the mask, and everywhere if all values are equal.
    """
    chex.assert_equal_shape([values, mask])
    return _centered(values, jnp.asarray(mask, bool)) / (token_std(values, mask) + eps)


def sequence_mean(values: ArrayLike, mask: ArrayLike) -> jax.Array:
    """Mean over sequences of each sequence's mean: every sequence weighs the same (GRPO's aggregation).

    Args:
      values: [..., T].
      mask: [..., T] true at action tokens. What stands elsewhere is never read and may be NaN.

    Returns:
      A scalar. Sequences without action tokens do not count; 0 if there are no others.
    """
    chex.assert_equal_shape([values, mask])
    mask = jnp.asarray(mask, bool)
    num_tokens = mask.sum(-1)
    means = jnp.where(mask, values, 0).sum(-1) / jnp.maximum(num_tokens, 1)
    return means.sum() / jnp.maximum((num_tokens > 0).sum(), 1)


def explained_variance(returns: ArrayLike, values: ArrayLike, mask: ArrayLike | None = None) -> jax.Array:
    """Share of the returns' variance that the critic explains.

        1 - Var(R - V) / Var(R)

    1 is perfect, 0 is no better than a constant, below 0 is worse than one.

    Args:
      returns: R, any shape.
      values: V, the same shape.
      mask: the same shape or None for everything. What stands outside is never read and may be NaN.

    Returns:
      A scalar; 0 where the returns do not vary, since there is nothing to explain.
    """
    chex.assert_equal_shape([returns, values])
    mask = jnp.ones(jnp.shape(returns), bool) if mask is None else jnp.asarray(mask, bool)
    chex.assert_equal_shape([returns, mask])
    variance = token_mean(jnp.square(_centered(returns, mask)), mask)
    error = token_mean(jnp.square(_centered(jnp.where(mask, returns, 0) - jnp.where(mask, values, 0), mask)), mask)
    return jnp.where(variance > 0, 1 - error / jnp.where(variance > 0, variance, 1), 0.0)


def correlation(returns: ArrayLike, values: ArrayLike, mask: ArrayLike | None = None) -> jax.Array:
    """Pearson's correlation: whether the critic orders the returns, whatever its scale and offset.

        Cov(R, V) / sqrt(Var(R) Var(V))

    The report saw values negatively correlated with rewards where the value model was not pretrained (UI-TARS-2,
    "Impact of Value Model Pretraining").

    Args:
      returns: R, any shape.
      values: V, the same shape.
      mask: the same shape or None for everything. What stands outside is never read and may be NaN.

    Returns:
      A scalar from -1 to 1; 0 where returns or values do not vary.
    """
    chex.assert_equal_shape([returns, values])
    mask = jnp.ones(jnp.shape(returns), bool) if mask is None else jnp.asarray(mask, bool)
    chex.assert_equal_shape([returns, mask])
    r, v = _centered(returns, mask), _centered(values, mask)
    product = jnp.sqrt(token_mean(r * r, mask)) * jnp.sqrt(token_mean(v * v, mask))
    return jnp.where(product > 0, token_mean(r * v, mask) / jnp.where(product > 0, product, 1), 0.0)


def _centered(x: ArrayLike, mask: jax.Array) -> jax.Array:
    """Minus its mean, 0 outside the mask. Measured from the maximum first, so that equal numbers are exact zeros."""
    x = jnp.where(mask, x, 0.0)
    highest = jax.lax.stop_gradient(jnp.where(mask, x, -jnp.inf).max(initial=-jnp.inf))
    x = jnp.where(mask, x - highest, 0.0)
    return jnp.where(mask, x - token_mean(x, mask), 0.0)


def entropy(logits: ArrayLike, mask: ArrayLike) -> jax.Array:
    """Entropy of the policy's next-token distribution, in nats.

        H_t = - sum_v p_tv log p_tv

    Args:
      logits: [T, V]; minus infinity forbids a token.
      mask: [T] true where an action token is predicted. What stands elsewhere is never read and may be NaN.

    Returns:
      [T] entropy, 0 outside the mask.
    """
    chex.assert_rank([logits, mask], [2, 1])
    chex.assert_equal_shape_prefix([logits, mask], 1)
    mask = jnp.asarray(mask, bool)
    log_p = jax.nn.log_softmax(jnp.where(mask[:, None], logits, 0.0), axis=-1)
    # Twice masked, so that neither the value nor the gradient of 0 log 0 is NaN.
    possible = jnp.isfinite(log_p)
    log_p = jnp.where(possible, log_p, 0.0)
    return jnp.where(mask, -jnp.where(possible, jnp.exp(log_p) * log_p, 0.0).sum(-1), 0.0)
