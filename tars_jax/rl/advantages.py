"""Advantages by a critic: GAE, whose unit is a token or a whole turn.

Axes: T tokens of one trajectory.
"""

from __future__ import annotations

from typing import TypeAlias

import chex
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

Pair: TypeAlias = tuple[jax.Array, jax.Array]  # with the policy's lambda and with the critic's


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

    Computed as lambda-returns W, of which A_t = W_t - V_t with the first lambda and target_t = W_t with the second:

        W_t = r_t + gamma C_{t+1},   C_t = (1 - lambda) V_t + lambda W_t

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

    lambda_policy, lambda_critic, gamma = (jnp.asarray(each, dtype) for each in (lambda_policy, lambda_critic, gamma))

    def backward(c_tp1: Pair, token: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[Pair, Pair]:
        r_t, v_t, acted = token

        def step(c_tp1: jax.Array, lambda_: jax.Array) -> Pair:
            w_t = r_t + gamma * c_tp1
            c_t = (1 - lambda_) * v_t + lambda_ * w_t
            return jnp.where(acted, c_t, c_tp1), w_t  # other tokens hand on what they get

        c_policy, w_policy = step(c_tp1[0], lambda_policy)
        c_critic, w_critic = step(c_tp1[1], lambda_critic)
        return (c_policy, c_critic), (jnp.where(acted, w_policy - v_t, 0), jnp.where(acted, w_critic, 0))

    # All that a token takes and gives passes through the loop: for a batch, transposing arrays costs more than it.
    start = jnp.asarray(bootstrap_value, dtype)
    _, (advantages, targets) = jax.lax.scan(backward, (start, start), (r, v, mask), reverse=True)
    return advantages, targets


def turn_level_gae(
    rewards: ArrayLike,
    values: ArrayLike,
    mask: ArrayLike,
    turns: ArrayLike,
    *,
    lambda_policy: ArrayLike,
    lambda_critic: ArrayLike = 1.0,
    gamma: ArrayLike = 1.0,
    bootstrap_value: ArrayLike = 0.0,
) -> tuple[jax.Array, jax.Array]:
    """`decoupled_gae` over turns: a turn, thought and action together, is one action of the agent.

        r_k      = sum of r_t over the action tokens t of turn k
        V_k      = V_t at the first of them: what the critic says before the turn begins
        delta_k  = r_k + gamma V_{k+1} - V_k
        A_t      = A_k      = sum_l (gamma lambda_policy)^l delta_{k+l}        for every action token t of turn k
        target_t = target_k = V_k + sum_l (gamma lambda_critic)^l delta_{k+l}  for every action token t of turn k

    Values inside a turn are not read, so a critic that is unsure half-way through a thought does not divide its credit.
    With one token a turn it is `decoupled_gae`. Where a turn's reward comes with its last token, lambda_critic = 1 and
    gamma = 1 make the target the Monte-Carlo return of each of its tokens.

    Source: Turn-PPO (arXiv 2512.17008), and the upper level of VAGEN's "Bi-Level GAE" (arXiv 2510.16907), whose lower
    level over the tokens of a turn is left out; two lambdas as in VC-PPO.

    Args:
      rewards, values, mask: [T] as for `decoupled_gae`.
      turns: [T] integers, read at action tokens only; a turn is a run of equal ones, whatever stands between them.
      lambda_policy, lambda_critic: scalars in [0, 1], per turn.
      gamma: scalar in [0, 1], the discount per turn.
      bootstrap_value: scalar, the value after the last turn: 0 for an episode that ended.

    Returns:
      (advantages [T], value targets [T]), both 0 outside the mask. They are not whitened.
    """
    chex.assert_rank([rewards, values, mask, turns], 1)
    chex.assert_equal_shape([rewards, values, mask, turns])
    chex.assert_type(turns, int)
    mask, turns = jnp.asarray(mask, bool), jnp.asarray(turns)
    size = mask.shape[0]
    if not size:
        return decoupled_gae(rewards, values, mask, lambda_policy=lambda_policy)

    place = jnp.arange(size)
    latest = jax.lax.cummax(jnp.where(mask, place, -1))  # action token, up to and with t
    previous = jnp.concatenate([jnp.full(1, -1), latest[:-1]])
    first = mask & ((previous < 0) | (turns != turns[previous]))
    turn = jnp.cumsum(first) - 1  # of each action token
    r_k = jax.ops.segment_sum(jnp.where(mask, rewards, 0), jnp.maximum(turn, 0), num_segments=size)[turn]
    found = decoupled_gae(
        r_k,
        values,
        first,
        lambda_policy=lambda_policy,
        lambda_critic=lambda_critic,
        gamma=gamma,
        bootstrap_value=bootstrap_value,
    )
    beginning = jnp.maximum(jax.lax.cummax(jnp.where(first, place, -1)), 0)
    advantages, targets = (jnp.where(mask, each[beginning], 0) for each in found)
    return advantages, targets


def length_adaptive_lambda(length: ArrayLike, alpha: ArrayLike) -> jax.Array:
    """The policy's lambda for a trajectory of `length` action tokens, or of turns where these are the unit.

        lambda = 1 - 1 / (alpha l), clamped to [0, 1)

    The formula is not positive for l <= 1 / alpha (20 tokens at the report's alpha): there lambda is 0, and a run
    should log how often that happens, since credit then reaches a token through the critic only.

    Source: VAPO (arXiv 2504.05118) and UI-TARS-2, "Length-adaptive GAE".

    Args:
      length: any shape, number of action tokens, or of turns.
      alpha: positive scalar.

    Returns:
      The same shape as `length`, float32.
    """
    chex.assert_rank(alpha, 0)
    one = jnp.float32(1)
    formula = one - one / (alpha * jnp.asarray(length, jnp.float32))
    return jnp.clip(formula, 0.0, jnp.nextafter(one, jnp.float32(0)))
