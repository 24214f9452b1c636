"""The policy's update: PPO's loss on a minibatch of rows, or GRPO's, which differs in its advantages alone.

Axes: B rows, T tokens, R all rows of a batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import flax.struct
import jax
import jax.numpy as jnp
import optax

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.rl import (
    importance_weights,
    positive_language_model_loss,
    ppo_policy_loss,
    reference_kl,
    token_mean,
    value_loss,
)
from tars_jax.training.config import PPOConfig, unless_off
from tars_jax.training.constrained import Automaton, allowed_in
from tars_jax.training.log_probs import headless, token_statistics
from tars_jax.training.packing import Array, Rows, free_routes, with_features
from tars_jax.training.state import Metrics, TrainState, Update, gradient_step
from tars_jax.training.value import ValueBatch, shift_values


@flax.struct.dataclass
class PPOBatch:
    """Rows, ready for the update; all [R, T]."""

    rows: Rows
    proximal_log_probs: Array
    advantages: Array
    positive: Array  # bool: the token's episode succeeded
    value_targets: Array
    old_values: Array
    weights: Array | None = None  # 1 / action tokens of the trajectory, for the aggregation "sequence"
    reference_log_probs: Array | None = None  # for a KL to the reference policy
    # [1 + F, R, I * Q, D]: the value model's `Inputs.image_features`, where the policy has its own.
    value_features: Array | None = None
    parts: Array | None = None  # int32: the part of a mixture that an action token is of, -1 elsewhere


def score_fn(model: ModelConfig, automaton: Automaton | None = None) -> Callable[[Parameters, Rows], jax.Array]:
    """Log-probabilities [B, T] of the sampled tokens under given parameters; 0 elsewhere. Pure, to be traced.

    `automaton`: of the constraint that the tokens were sampled under, which was followed through the rows.
    """

    def score(parameters: Parameters, rows: Rows) -> jax.Array:
        hidden = forward(headless(model), parameters, rows.inputs).hidden
        allowed = allowed_in(automaton, rows)
        return token_statistics(model, parameters, hidden, rows.inputs.tokens, rows.action_mask, allowed).log_probs

    return score


@functools.lru_cache(maxsize=8)
def make_score_fn(model: ModelConfig, automaton: Automaton | None = None) -> Callable[[Parameters, Rows], jax.Array]:
    """Makes the jitted `score_fn`; equal models share it, and what has been compiled."""
    return jax.jit(score_fn(model, automaton))


def policy_update(
    model: ModelConfig,
    optimizer: optax.GradientTransformation,
    config: PPOConfig,
    automaton: Automaton | None = None,
    num_parts: int = 0,
) -> Callable[[TrainState, PPOBatch], tuple[TrainState, Metrics]]:
    """(state, minibatch) to (state, metrics). Pure, to be traced.

    `num_parts`: of a mixture; its metrics have `entropy_sums` and `entropy_counts` [num_parts], over action tokens.

    `automaton` as for `score_fn`: ratios, entropy and imitation are then among what it allows. So a policy does not
    learn to write what a constraint writes for it.
    Tracing raises ValueError for a minibatch without the weights or the reference that the config needs.
    """

    def loss_fn(parameters: Parameters, batch: PPOBatch) -> tuple[jax.Array, Metrics]:
        rows, mask = batch.rows, batch.rows.action_mask
        weights = None
        if config.aggregation == "sequence":
            weights = _required(batch.weights, "weights, which the aggregation 'sequence' needs")
        output = forward(headless(model), parameters, rows.inputs)
        allowed = allowed_in(automaton, rows)
        read = token_statistics(model, parameters, output.hidden, rows.inputs.tokens, mask, allowed)
        old, importance = rows.log_probs, jnp.ones(mask.shape)
        if config.decoupled:
            old = batch.proximal_log_probs
            truncated = functools.partial(importance_weights, max_importance=config.max_importance)
            importance = jax.vmap(truncated)(old, rows.log_probs, mask)

        surrogate = functools.partial(
            ppo_policy_loss,
            clip_low=config.clip_low,
            clip_high=config.clip_high,
            dual_clip=unless_off(config.dual_clip),
        )
        parts = jax.vmap(surrogate)(read.log_probs, old, batch.advantages, mask, weights=importance)
        mean_entropy = token_mean(read.entropies, mask)
        loss = token_mean(parts.loss, mask, weights)
        positive = positive_language_model_loss(read.log_probs, mask, batch.positive)
        total = (
            loss
            + config.positive_weight * positive
            - config.entropy_bonus * mean_entropy
            + config.router_aux_loss_weight * output.routers.balance_loss.mean()
        )
        metrics = {}
        if config.uses_reference:
            reference = _required(batch.reference_log_probs, "reference_log_probs, which kl_weight needs")
            kl = token_mean(jax.vmap(reference_kl)(read.log_probs, reference, mask), mask, weights)
            total = total + config.kl_weight * kl
            metrics["reference_kl"] = kl
        if output.values is not None and config.uses_values:
            values = shift_values(output.values)
            losses = jax.vmap(functools.partial(value_loss, clip=unless_off(config.value_clip)))(
                values, batch.value_targets, mask, batch.old_values
            )
            total = total + config.value_weight * token_mean(losses, mask)
        if num_parts:
            of_parts = mask & (_required(batch.parts, "parts") == jnp.arange(num_parts)[:, None, None])
            metrics["entropy_sums"] = jnp.where(of_parts, read.entropies, 0).sum((1, 2))
            metrics["entropy_counts"] = of_parts.sum((1, 2))
        return total, metrics | {
            "policy_loss": loss,
            "entropy": mean_entropy,
            "clip_fraction": token_mean(parts.clipped_low | parts.clipped_high, mask),
            "clip_low_fraction": token_mean(parts.clipped_low, mask),
            "clip_high_fraction": token_mean(parts.clipped_high, mask),
            "clip_dual_fraction": token_mean(parts.clipped_dual, mask),
            "importance": token_mean(importance, mask),
            "approximate_kl": token_mean(old - read.log_probs, mask),
            "largest_expert_load": output.routers.load.max(),
            "dropped_assignments": output.routers.dropped.mean(),
        }

    return gradient_step(loss_fn, optimizer)


def _required(array: Array | None, what: str) -> Array:
    if array is None:
        raise ValueError(f"the minibatch lacks {what}")
    return array


@functools.lru_cache(maxsize=8)
def make_policy_update(
    model: ModelConfig,
    optimizer: optax.GradientTransformation,
    config: PPOConfig,
    automaton: Automaton | None = None,
    num_parts: int = 0,
) -> Update[PPOBatch]:
    """`policy_update`, jitted; the state is donated. Learners with the same arguments share it, and what has been
    compiled."""
    return Update(policy_update(model, optimizer, config, automaton, num_parts))


def value_batch(batch: PPOBatch) -> ValueBatch:
    """The part of a PPO minibatch that the value update reads."""
    rows = free_routes(batch.rows)
    if batch.value_features is not None:
        rows = with_features(rows, batch.value_features)
    return ValueBatch(rows, batch.value_targets, batch.old_values)
