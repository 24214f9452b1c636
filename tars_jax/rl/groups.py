"""Advantages by comparison within a group: GRPO, which needs no critic.

Axes: G trajectories of one task.
"""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


def group_advantages(
    rewards: ArrayLike,
    ddof: int = 1,
    eps: float = 1e-6,
    *,
    mask: ArrayLike | None = None,
    normalize: bool = True,
) -> jax.Array:
    """Outcome rewards of one task's trajectories, relative to each other: GRPO's replacement for a critic.

        A_i = (r_i - mean(r)) / (std(r) + eps)      or, not normalized,      A_i = r_i - mean(r)

    Division by the standard deviation makes rare successes and rare failures count more; Dr. GRPO leaves it out.
    A group of one has nothing to compare with: mean 0 and std 1 stand in, so its advantage is its reward.

    Source: GRPO (arXiv 2402.03300), outcome supervision; ddof = 1 and eps as in common code; Dr. GRPO (arXiv
    2503.20783).

    Args:
      rewards: [G] one outcome reward per trajectory.
      ddof: 1 for the sample standard deviation, 0 for the population's.
      eps: keeps a group of equal rewards at exactly 0.
      mask: [G] true at members; None for all. What stands elsewhere is never read and may be NaN.
      normalize: whether to divide by the standard deviation.

    Returns:
      [G] float32 advantages, one per trajectory; 0 outside the mask.
    """
    r, member = _members(rewards, mask)
    num = member.sum()
    # Measured from the largest reward, equal rewards are exact zeros; their float mean may miss them by a last bit,
    # which the division by eps would blow up.
    d = jnp.where(member, r - jnp.where(member, r, -jnp.inf).max(initial=-jnp.inf), 0)
    d = jnp.where(member, d - d.sum() / jnp.maximum(num, 1), 0)
    std = jnp.sqrt(jnp.square(d).sum() / jnp.maximum(num - ddof, 1))
    alone = num == 1
    return jnp.where(alone, r, d) / (jnp.where(alone, 1.0, std) + eps if normalize else 1.0)


def informative_group(rewards: ArrayLike, mask: ArrayLike | None = None) -> jax.Array:
    """Whether a group teaches a comparison anything: some member did better than another.

        max(r) > min(r), which is 0 < #correct < G for rewards of 0 and 1

    Equal rewards have advantages of 0 and no gradient; dynamic sampling draws other groups in their place.

    Source: DAPO (arXiv 2503.14476), "Dynamic sampling".

    Args:
      rewards: [G] one outcome reward per trajectory.
      mask: [G] true at members; None for all. What stands elsewhere is never read and may be NaN.

    Returns:
      A bool scalar; False for a group of one, or of none.
    """
    r, member = _members(rewards, mask)
    best = jnp.where(member, r, -jnp.inf).max(initial=-jnp.inf)
    return best > jnp.where(member, r, jnp.inf).min(initial=jnp.inf)


def _members(rewards: ArrayLike, mask: ArrayLike | None) -> tuple[jax.Array, jax.Array]:
    """[G] float32 rewards, 0 outside the mask, and the mask."""
    chex.assert_rank(rewards, 1)
    member = jnp.ones(jnp.shape(rewards), bool) if mask is None else jnp.asarray(mask, bool)
    chex.assert_equal_shape([rewards, member])
    return jnp.where(member, jnp.asarray(rewards, jnp.float32), 0), member
