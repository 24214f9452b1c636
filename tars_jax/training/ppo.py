"""Token-level PPO over whole trajectories.

Axes: B rows, T tokens, R all rows of a batch, N trajectories, A action tokens of a trajectory.

One update:
1. pack the trajectories' windows into rows;
2. score the rows: values, and the proximal policy's log-probabilities of the sampled tokens;
3. advantages and value targets over each trajectory's action tokens, in one pass with two lambdas;
4. a few epochs of minibatches: clip-higher PPO loss, decoupled from the behaviour policy; value loss beside it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.rl import (
    PolicyLoss,
    decoupled_gae,
    explained_variance,
    length_adaptive_lambda,
    positive_language_model_loss,
    ppo_policy_loss,
    token_mean,
    value_loss,
)
from tars_jax.training.log_probs import headless, token_statistics
from tars_jax.training.packing import Array, PackedBatch, Rows, free_routes, select_rows
from tars_jax.training.rewards import RewardConfig, token_rewards
from tars_jax.training.state import Metrics, TrainState, Update, apply_gradients
from tars_jax.training.value import ValueBatch, gather_actions, scatter_actions, shift_values
from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """Every switch of the update. Sources in `tars_jax.rl`."""

    gamma: float = 1.0
    lambda_policy: float | None = None  # None: length-adaptive with `alpha`
    alpha: float = 1.5
    lambda_critic: float = 1.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float | None = None
    value_clip: float | None = None
    decoupled: bool = True  # clip around the proximal policy, weigh by proximal / behaviour
    max_importance: float = 2.0
    normalise_advantages: bool = True
    positive_weight: float = 0.0  # VAPO's imitation of successful episodes
    entropy_bonus: float = 0.0
    balance: float = 0.01  # the routers' load-balancing loss
    value_weight: float = 0.5  # of the value loss when policy and value share their trunk
    replay_routes: bool = False  # the policy's tokens go to the experts that sampled them (R3, arXiv 2510.11370)
    epochs: int = 1
    minibatch_rows: int = 16


@flax.struct.dataclass
class PPOBatch:
    """Rows, ready for the update; all [R, T]."""

    rows: Rows
    proximal_log_probs: Array
    advantages: Array
    positive: Array  # bool: the token's episode succeeded
    value_targets: Array
    old_values: Array


def score_of(model: ModelConfig) -> Callable[[Parameters, Rows], jax.Array]:
    """Log-probabilities [B, T] of the sampled tokens under given parameters; 0 elsewhere. Pure, to be traced."""

    def score(parameters: Parameters, rows: Rows) -> jax.Array:
        hidden = forward(headless(model), parameters, rows.inputs).hidden
        return token_statistics(model, parameters, hidden, rows.inputs.tokens, rows.action_mask).log_probs

    return score


def make_score_fn(model: ModelConfig) -> Callable[[Parameters, Rows], jax.Array]:
    """`score_of`, jitted."""
    return jax.jit(score_of(model))


def advantages_of(config: PPOConfig) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """(rewards, values, valid), each [N, A], to advantages and value targets [N, A]. Pure, to be traced."""

    def one(rewards: jax.Array, values: jax.Array, valid: jax.Array) -> tuple[jax.Array, jax.Array]:
        lambda_policy = (
            length_adaptive_lambda(jnp.maximum(valid.sum(), 1), config.alpha)
            if config.lambda_policy is None
            else config.lambda_policy
        )
        return decoupled_gae(
            rewards,
            values,
            valid,
            gamma=config.gamma,
            lambda_policy=lambda_policy,
            lambda_critic=config.lambda_critic,
        )

    return jax.vmap(one)


def make_advantage_fn(config: PPOConfig) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """`advantages_of`, jitted."""
    return jax.jit(advantages_of(config))


def prepare(
    packed: PackedBatch,
    trajectories: Sequence[Trajectory],
    proximal_log_probs: np.ndarray,
    values: np.ndarray,
    config: PPOConfig,
    rewards: RewardConfig,
    advantage_fn: Callable[..., tuple[jax.Array, jax.Array]],
) -> tuple[PPOBatch, dict[str, float]]:
    """Steps 2 and 3: scored rows [R, T] to a batch for `make_policy_update`, and what the batch looks like."""
    token_reward = token_rewards(packed, trajectories, rewards)
    action_values = gather_actions(packed, values)
    advantages, targets = (np.asarray(x) for x in advantage_fn(token_reward, action_values, packed.action_valid))
    valid = packed.action_valid
    metrics = {
        "explained_variance": float(explained_variance(targets, action_values, valid)),
        "value_mean": float(action_values[valid].mean()),
        "advantage_std": float(advantages[valid].std()),
    }
    if config.normalise_advantages:
        advantages = (advantages - advantages[valid].mean()) / (advantages[valid].std() + 1e-6)
    succeeded = np.array([trajectory.reward > 0 for trajectory in trajectories])
    batch = PPOBatch(
        rows=packed.rows,
        proximal_log_probs=proximal_log_probs,
        advantages=scatter_actions(packed, advantages),
        positive=scatter_actions(packed, np.broadcast_to(succeeded[:, None], valid.shape)) > 0,
        value_targets=scatter_actions(packed, targets),
        old_values=values,
    )
    return batch, metrics


def policy_update(
    model: ModelConfig, optimiser: optax.GradientTransformation, config: PPOConfig
) -> Callable[[TrainState, PPOBatch], tuple[TrainState, Metrics]]:
    """Step 4 for the policy: (state, minibatch) to (state, metrics). Pure, to be traced."""

    def loss_fn(parameters: Parameters, batch: PPOBatch) -> tuple[jax.Array, Metrics]:
        rows, mask = batch.rows, batch.rows.action_mask
        output = forward(headless(model), parameters, rows.inputs)
        read = token_statistics(model, parameters, output.hidden, rows.inputs.tokens, mask)
        old = batch.proximal_log_probs if config.decoupled else rows.log_probs

        def surrogate(*row: jax.Array) -> PolicyLoss:
            return ppo_policy_loss(
                *row[:4],
                clip_low=config.clip_low,
                clip_high=config.clip_high,
                dual_clip=config.dual_clip,
                behaviour_log_probs=row[4] if config.decoupled else None,
                max_importance=config.max_importance if config.decoupled else None,
            )

        parts = jax.vmap(surrogate)(read.log_probs, old, batch.advantages, mask, rows.log_probs)
        mean_entropy = token_mean(read.entropies, mask)
        loss = token_mean(parts.loss, mask)
        positive = positive_language_model_loss(read.log_probs, mask, batch.positive)
        total = (
            loss
            + config.positive_weight * positive
            - config.entropy_bonus * mean_entropy
            + config.balance * output.routers.balance_loss.mean()
        )
        if output.values is not None:
            values = shift_values(output.values)
            losses = jax.vmap(functools.partial(value_loss, clip=config.value_clip))(
                values, batch.value_targets, mask, batch.old_values
            )
            total = total + config.value_weight * token_mean(losses, mask)
        return total, {
            "policy_loss": loss,
            "entropy": mean_entropy,
            "clip_fraction": token_mean(parts.clipped_low | parts.clipped_high, mask),
            "clip_low_fraction": token_mean(parts.clipped_low, mask),
            "clip_high_fraction": token_mean(parts.clipped_high, mask),
            "importance": token_mean(parts.importance, mask),
            "approximate_kl": token_mean(old - read.log_probs, mask),
            "largest_expert_load": output.routers.load.max(),
            "dropped_assignments": output.routers.dropped.mean(),
        }

    def update(state: TrainState, batch: PPOBatch) -> tuple[TrainState, Metrics]:
        (_, metrics), gradients = jax.value_and_grad(loss_fn, has_aux=True)(state.parameters, batch)
        state, norm = apply_gradients(state, gradients, optimiser)
        return state, {**metrics, "gradient_norm": norm}

    return update


def make_policy_update(
    model: ModelConfig, optimiser: optax.GradientTransformation, config: PPOConfig
) -> Update[PPOBatch]:
    """`policy_update`, jitted; the state is donated."""
    return Update(policy_update(model, optimiser, config))


def minibatches(batch: PPOBatch, rows: int, key: np.random.Generator) -> Iterator[PPOBatch]:
    """The batch in random order, `rows` at a time; packing made the number of rows a multiple of it."""
    order = key.permutation(batch.advantages.shape[0])
    for first in range(0, order.size, rows):
        chosen = order[first : first + rows]
        yield PPOBatch(
            rows=select_rows(batch.rows, chosen),
            proximal_log_probs=batch.proximal_log_probs[chosen],
            advantages=batch.advantages[chosen],
            positive=batch.positive[chosen],
            value_targets=batch.value_targets[chosen],
            old_values=batch.old_values[chosen],
        )


def value_batch(batch: PPOBatch) -> ValueBatch:
    """What the value update reads of a PPO minibatch."""
    return ValueBatch(free_routes(batch.rows), batch.value_targets, batch.old_values)
