"""Losses per token; the caller aggregates them over its batch with `token_mean`.

Axes: T tokens of one trajectory.
"""

from __future__ import annotations

import dataclasses

import chex
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from tars_jax.rl.statistics import token_mean

# exp of a larger difference says only that something is broken, and infinity times a zero advantage would be NaN.
MAX_LOG_RATIO = 20.0


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PolicyLoss:
    """The clipped surrogate of one trajectory, per token, with what its curves need. Outside the mask all is 0."""

    loss: jax.Array  # [T] to be minimized; differentiable
    ratio: jax.Array  # [T] pi / pi_prox
    clipped_low: jax.Array  # [T] bool: advantage < 0 and ratio < 1 - clip_low; no gradient
    clipped_high: jax.Array  # [T] bool: advantage > 0 and ratio > 1 + clip_high; no gradient
    clipped_dual: jax.Array  # [T] bool: advantage < 0 and ratio > dual_clip; no gradient


def importance_weights(
    proximal_log_probs: ArrayLike,
    behavior_log_probs: ArrayLike,
    mask: ArrayLike,
    max_importance: ArrayLike | None = None,
) -> jax.Array:
    """Truncated importance weights, which correct a loss for the policy that sampled its tokens.

        w_t = min(pi_prox(token_t) / pi_behavior(token_t), max_importance)

    They have two readings, which may hold at once:

    - stale data: pi_behavior is an older version of the weights (AReaL);
    - truncated importance sampling: the weights are the same, but the engine that sampled computes them otherwise than
      the learner, by quantization or other kernels. Then w_t = min(pi_learner / pi_engine, C), C = `max_importance`.

    Source: AReaL (arXiv 2505.24298), "Decoupled PPO objective"; truncated importance sampling: Ionides 2008, between
    engine and learner Yao et al. 2025, "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training".

    Args:
      proximal_log_probs: [T] log pi_prox of the sampled tokens.
      behavior_log_probs: [T] log pi_behavior of the same tokens, recorded at sampling.
      mask: [T] true at action tokens. What stands elsewhere is never read and may be NaN.
      max_importance: scalar above 0 that truncates the weights from above, or None.

    Returns:
      [T] w_t, 0 outside the mask. No gradient flows through them.
    """
    chex.assert_rank([proximal_log_probs, behavior_log_probs, mask], 1)
    chex.assert_equal_shape([proximal_log_probs, behavior_log_probs, mask])
    mask = jnp.asarray(mask, bool)
    w_t = _bounded_exp(jnp.where(mask, proximal_log_probs, 0.0) - jnp.where(mask, behavior_log_probs, 0.0))
    if max_importance is not None:
        chex.assert_rank(max_importance, 0)
        w_t = jnp.minimum(w_t, max_importance)
    return jax.lax.stop_gradient(jnp.where(mask, w_t, 0.0))


def ppo_policy_loss(
    log_probs: ArrayLike,
    old_log_probs: ArrayLike,
    advantages: ArrayLike,
    mask: ArrayLike,
    *,
    clip_low: ArrayLike,
    clip_high: ArrayLike,
    dual_clip: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> PolicyLoss:
    """PPO's clipped policy loss, with clip-higher.

        rho_t  = pi(token_t) / pi_prox(token_t)
        loss_t = -w_t min(rho_t A_t, clip(rho_t, 1 - clip_low, 1 + clip_high) A_t)

    Plain PPO has w_t = 1 and pi_prox = pi_old, the policy that sampled. The decoupled objective keeps the two apart:
    the ratio is clipped around a recent, recomputed pi_prox, and `importance_weights` correct for the policy that
    sampled.

    Dual clip bounds the loss of a negative advantage: the objective is at least dual_clip A_t where A_t < 0.

    Source: UI-TARS-2, equation 4; DAPO (arXiv 2503.14476), "Clip-Higher"; dual clip: arXiv 1912.09729.

    Args:
      log_probs: [T] log pi of the sampled tokens; the only argument that gradients flow through.
      old_log_probs: [T] log pi_prox, which is log pi_old for plain PPO.
      advantages: [T] A_t.
      mask: [T] true at action tokens. What stands elsewhere is never read and may be NaN.
      clip_low: scalar, how far the ratio may fall below 1.
      clip_high: scalar, how far the ratio may rise above 1.
      dual_clip: scalar above 1, or None for no bound.
      weights: [T] w_t, or None for 1.

    Returns:
      `PolicyLoss`, every field [T].
    """
    columns = [log_probs, old_log_probs, advantages, mask, *([] if weights is None else [weights])]
    chex.assert_rank(columns, 1)
    chex.assert_equal_shape(columns)
    chex.assert_rank([clip_low, clip_high, *([] if dual_clip is None else [dual_clip])], 0)
    mask = jnp.asarray(mask, bool)
    a_t = jax.lax.stop_gradient(jnp.where(mask, advantages, 0.0))
    w_t = jax.lax.stop_gradient(jnp.where(mask, 1.0 if weights is None else weights, 0.0))
    old_t = jax.lax.stop_gradient(jnp.where(mask, old_log_probs, 0.0))

    rho_t = _bounded_exp(jnp.where(mask, log_probs, 0.0) - old_t)
    objective = jnp.minimum(rho_t * a_t, jnp.clip(rho_t, 1 - clip_low, 1 + clip_high) * a_t)
    clipped_dual = jnp.zeros_like(mask)
    if dual_clip is not None:
        objective = jnp.where(a_t < 0, jnp.maximum(objective, dual_clip * a_t), objective)
        clipped_dual = (a_t < 0) & (rho_t > dual_clip)
    return PolicyLoss(
        loss=-w_t * objective,
        ratio=jax.lax.stop_gradient(jnp.where(mask, rho_t, 0.0)),
        clipped_low=(a_t < 0) & (rho_t < 1 - clip_low),
        clipped_high=(a_t > 0) & (rho_t > 1 + clip_high),
        clipped_dual=clipped_dual,
    )


def reference_kl(log_probs: ArrayLike, reference_log_probs: ArrayLike, mask: ArrayLike) -> jax.Array:
    """KL to a fixed reference policy, per token: the "k3" estimator of KL(pi || pi_ref).

        x_t  = log pi_ref(token_t) - log pi(token_t)
        kl_t = exp(x_t) - x_t - 1

    Never negative, and its mean over tokens that pi sampled is the KL. Of tokens that an older policy sampled it is an
    estimate only, as in GRPO. Where |x_t| is above `MAX_LOG_RATIO` it no longer grows and has no gradient.

    Source: http://joschu.net/blog/kl-approx.html; GRPO (arXiv 2402.03300), equation 4.

    Args:
      log_probs: [T] log pi of the sampled tokens; the only argument that gradients flow through.
      reference_log_probs: [T] log pi_ref of the same tokens.
      mask: [T] true at action tokens. What stands elsewhere is never read and may be NaN.

    Returns:
      [T] in nats, 0 outside the mask.
    """
    chex.assert_rank([log_probs, reference_log_probs, mask], 1)
    chex.assert_equal_shape([log_probs, reference_log_probs, mask])
    mask = jnp.asarray(mask, bool)
    reference = jax.lax.stop_gradient(jnp.where(mask, reference_log_probs, 0.0))
    x_t = jnp.clip(reference - jnp.where(mask, log_probs, 0.0), -MAX_LOG_RATIO, MAX_LOG_RATIO)
    return jnp.expm1(x_t) - x_t


def _bounded_exp(log_ratio: jax.Array) -> jax.Array:
    return jnp.exp(jnp.clip(log_ratio, -MAX_LOG_RATIO, MAX_LOG_RATIO))


def value_loss(
    values: ArrayLike,
    targets: ArrayLike,
    mask: ArrayLike,
    old_values: ArrayLike | None = None,
    clip: ArrayLike | None = None,
) -> jax.Array:
    """Squared error of the critic, optionally kept close to the values that the advantages were computed with.

        loss_t = 1/2 max((V_t - target_t)^2, (V_old + clip(V_t - V_old, -c, c) - target_t)^2)

    Source: PPO's reference code (github openai/baselines, ppo2), as VC-PPO and VAPO use it.

    Args:
      values: [T] V_t; the only argument that gradients flow through.
      targets: [T] from `decoupled_gae`.
      mask: [T] true at action tokens. What stands elsewhere is never read and may be NaN.
      old_values: [T] V_old, with `clip`; None for the plain square.
      clip: c, a scalar distance in units of value.

    Returns:
      [T] loss, 0 outside the mask.
    """
    columns = [values, targets, mask, *([] if old_values is None else [old_values])]
    chex.assert_rank(columns, 1)
    chex.assert_equal_shape(columns)
    mask = jnp.asarray(mask, bool)
    v_t = jnp.where(mask, values, 0.0)
    target_t = jax.lax.stop_gradient(jnp.where(mask, targets, 0.0))
    error = jnp.square(v_t - target_t)
    if old_values is not None and clip is not None:
        chex.assert_rank(clip, 0)
        c = jnp.asarray(clip, v_t.dtype)
        old_t = jax.lax.stop_gradient(jnp.where(mask, old_values, 0.0))
        error = jnp.maximum(error, jnp.square(old_t + jnp.clip(v_t - old_t, -c, c) - target_t))
    return 0.5 * error


def positive_language_model_loss(log_probs: ArrayLike, mask: ArrayLike, positive: ArrayLike) -> jax.Array:
    """Imitation of the trajectories that succeeded, beside the policy loss (weight mu = 0.1 in the source).

        L = - sum_{t in positive} log pi(token_t) / |positive|

    A mean over the positive tokens of the whole batch, so it is not to be vmapped; 0 when nothing succeeded.

    Source: VAPO (arXiv 2504.05118), "Positive example LM loss".

    Args:
      log_probs: any shape, log pi of the sampled tokens.
      mask: the same shape, true at action tokens. What stands elsewhere is never read and may be NaN.
      positive: broadcastable to that shape, true where the token's trajectory succeeded.

    Returns:
      A scalar.
    """
    chex.assert_equal_shape([log_probs, mask])
    chex.assert_is_broadcastable(jnp.shape(positive), jnp.shape(mask))
    return -token_mean(log_probs, jnp.asarray(mask, bool) & jnp.asarray(positive, bool))
