"""Reward shaping: what is added to the verifier's reward."""

from __future__ import annotations

import chex
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike


def soft_overlong_penalty(length: ArrayLike, max_length: int, cache: int) -> jax.Array:
    """A penalty that grows linearly over the last `cache` tokens before the length limit.

        0                               for y <= L_max - L_cache
        ((L_max - L_cache) - y) / L_cache   up to L_max
        -1                              above

    Source: DAPO (arXiv 2503.14476), "Soft overlong punishment".

    Args:
      length: any shape, y, tokens of a response.
      max_length: scalar L_max, tokens.
      cache: scalar L_cache, tokens, at least 1.

    Returns:
      The same shape as `length`, in [-1, 0].
    """
    chex.assert_rank([max_length, cache], 0)
    return jnp.clip(((max_length - cache) - jnp.asarray(length, jnp.float32)) / cache, -1.0, 0.0)


def early_ending_penalty(steps: ArrayLike, budget: ArrayLike, share: ArrayLike) -> jax.Array:
    """A penalty for an episode that ended early, which shrinks linearly until `share` of its budget is used.

        (n - share B) / (share B)   for n <= share B
        0                           beyond

    Which endings it is for, the caller says: a success is never too early.
    Source: UI-TARS-2, "Reward Shaping", has length penalties against "premature termination" and prints no formula:
    this one is ours, the mirror image of `soft_overlong_penalty`.

    Args:
      steps: any shape, n, steps that were taken.
      budget: B, the most that there might have been, at least 1; broadcast to `steps`.
      share: scalar, of the budget, in (0, 1].

    Returns:
      In [-1, 0].
    """
    chex.assert_rank(share, 0)
    chex.assert_is_broadcastable(jnp.shape(budget), jnp.shape(steps))
    least = share * jnp.asarray(budget, jnp.float32)
    return jnp.clip((jnp.asarray(steps, jnp.float32) - least) / least, -1.0, 0.0)


def saved_steps(steps: ArrayLike, budget: ArrayLike) -> jax.Array:
    """The share of a step budget that was not used.

        (B - n) / B

    Source: UI-TARS-2, "Number of Environment Interaction Rounds", proposes "incorporating step budgets into the reward
    design" and prints no formula: this one is ours.

    Args:
      steps: any shape, n, steps that were taken.
      budget: B, the most that there might have been, at least 1; broadcast to `steps`.

    Returns:
      In [0, 1]: 1 for an episode of no step, 0 for one that took all.
    """
    chex.assert_is_broadcastable(jnp.shape(budget), jnp.shape(steps))
    most = jnp.asarray(budget, jnp.float32)
    return jnp.clip((most - jnp.asarray(steps, jnp.float32)) / most, 0.0, 1.0)
