"""How much better an action token did than expected: GAE for a critic, group comparison without one.

Axes: T tokens of one trajectory, G trajectories of one task.
"""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


def decoupled_gae(
    rewards: ArrayLike,
    values: ArrayLike,
    mask: ArrayLike,
    *,
    lambda_policy: ArrayLike,
    lambda_critic: ArrayLike = 1.0,
    gamma: ArrayLike = 1.0,
    bootstrap_value: ArrayLike = 0.0,
) -> tuple[jax.Array, jax.Array]:
    """Advantages with one lambda and value targets with another, in one reverse pass.

        delta_t  = r_t + gamma V_{t+1} - V_t
        A_t      = sum_l (gamma lambda_policy)^l delta_{t+l}
        target_t = V_t + sum_l (gamma lambda_critic)^l delta_{t+l}

    where t + 1 is the next *action* token: tokens outside the mask do not exist for the recursion. With
    lambda_critic = 1 and gamma = 1 the target is the Monte-Carlo return.

    Source: VC-PPO (arXiv 2503.01491), "Decoupled-GAE"; GAE itself: arXiv 1506.02438.

    Args:
      rewards: [T] r_t; read at action tokens only, so a terminal reward belongs at the last action token.
      values: [T] V_t; read at action tokens only.
      mask: [T] true at action tokens. What stands elsewhere is never read and may be NaN.
      lambda_policy: scalar in [0, 1], may be traced, see `length_adaptive_lambda`.
      lambda_critic: scalar in [0, 1].
      gamma: scalar in [0, 1], the discount per action token.
      bootstrap_value: scalar, the value after the last action token: 0 for an episode that ended.

    Returns:
      (advantages [T], value targets [T]), both 0 outside the mask. They are not whitened.
    """
    chex.assert_rank([rewards, values, mask], 1)
    chex.assert_equal_shape([rewards, values, mask])
    chex.assert_rank([lambda_policy, lambda_critic, gamma, bootstrap_value], 0)
    mask = jnp.asarray(mask, bool)
    dtype = jnp.promote_types(jnp.result_type(rewards, values), jnp.float32)
    r = jnp.where(mask, rewards, 0).astype(dtype)
    v = jnp.where(mask, values, 0).astype(dtype)
    zero = jnp.zeros((), dtype)

    def backward(
        carry: tuple[jax.Array, jax.Array, jax.Array], token: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
        v_tp1, policy_sum, critic_sum = carry
        r_t, v_t, is_action = token
        delta_t = r_t + gamma * v_tp1 - v_t
        advantage_t = delta_t + gamma * lambda_policy * policy_sum
        error_t = delta_t + gamma * lambda_critic * critic_sum
        seen = (v_t, advantage_t.astype(dtype), error_t.astype(dtype))
        carry = jax.tree.map(lambda new, old: jnp.where(is_action, new, old), seen, carry)
        return carry, (jnp.where(is_action, advantage_t, zero), jnp.where(is_action, v_t + error_t, zero))

    start = (jnp.asarray(bootstrap_value, dtype), zero, zero)
    _, (advantages, targets) = jax.lax.scan(backward, start, (r, v, mask), reverse=True)
    return advantages.astype(dtype), targets.astype(dtype)


def length_adaptive_lambda(length: ArrayLike, alpha: ArrayLike = 0.05) -> jax.Array:
    """The policy's lambda for a trajectory of `length` action tokens.

        lambda = 1 - 1 / (alpha l), clamped to [0, 1)

    The formula is not positive for l <= 1 / alpha (20 tokens at the report's alpha): there lambda is 0, and a run
    should log how often that happens, since credit then reaches a token through the critic only.

    Source: VAPO (arXiv 2504.05118) and UI-TARS-2, "Length-adaptive GAE".

    Args:
      length: any shape, number of action tokens.
      alpha: positive scalar.

    Returns:
      The same shape as `length`, float32.
    """
    one = jnp.float32(1)
    formula = one - one / (alpha * jnp.asarray(length, jnp.float32))
    return jnp.clip(formula, 0.0, jnp.nextafter(one, jnp.float32(0)))


def group_advantages(rewards: ArrayLike, ddof: int = 1, eps: float = 1e-6) -> jax.Array:
    """Outcome rewards of one task's trajectories, relative to each other: GRPO's replacement for a critic.

        A_i = (r_i - mean(r)) / (std(r) + eps)

    A group of one has nothing to compare with: mean 0 and std 1 stand in, so its advantage is its reward.

    Source: GRPO (arXiv 2402.03300), outcome supervision; ddof = 1 and eps as in common code.

    Args:
      rewards: [G] one outcome reward per trajectory.
      ddof: 1 for the sample standard deviation, 0 for the population's.
      eps: keeps a group of equal rewards at exactly 0.

    Returns:
      [G] advantages, one per trajectory.
    """
    chex.assert_rank(rewards, 1)
    r = jnp.asarray(rewards, jnp.float32)
    if r.shape[0] == 1:
        return r / (1 + eps)
    # Measured from the first reward, equal rewards are exact zeros; their float mean may miss them by a last bit, which
    # the division by eps would blow up.
    r = r - r[0]
    return (r - r.mean()) / (r.std(ddof=ddof) + eps)
