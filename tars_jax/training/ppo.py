"""Token-level policy optimization over whole trajectories: PPO, and GRPO where advantages come from groups.

Axes: B rows, T tokens, R all rows of a batch, N trajectories, A action tokens of a trajectory.

One update:
1. pack the trajectories' windows into rows (`packing.py`);
2. score the rows: values, the proximal policy's log-probabilities of the sampled tokens, the reference policy's;
3. advantages and value targets over each trajectory's action tokens (`advantage_fn`);
4. a few epochs of minibatches (`preparation.py`): clip-higher loss, decoupled from the behavior policy; value loss
   beside it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
import optax

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.rl import (
    decoupled_gae,
    group_advantages,
    importance_weights,
    length_adaptive_lambda,
    positive_language_model_loss,
    ppo_policy_loss,
    reference_kl,
    token_mean,
    token_std,
    turn_level_gae,
    value_loss,
    whiten,
)
from tars_jax.training.config import PPOConfig
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


def make_score_fn(model: ModelConfig, automaton: Automaton | None = None) -> Callable[[Parameters, Rows], jax.Array]:
    """`score_fn`, jitted."""
    return jax.jit(score_fn(model, automaton))


class Advantages(NamedTuple):
    """What each action token is worth to the policy, and what the value model is to say there."""

    advantages: jax.Array  # [N, A], whitened where the config says so
    targets: jax.Array  # [N, A]
    deviation: jax.Array  # scalar: the advantages' standard deviation, before they are whitened
    returns: jax.Array  # [N, A], Monte-Carlo: what values are judged by, whatever lambda_critic makes of the targets;
    # without values the targets, which are 0


def advantage_fn(config: PPOConfig, num_parts: int = 1) -> Callable[..., Advantages]:
    """(rewards, values, valid[, steps[, groups[, parts]]]) to advantages and value targets. Pure, to be traced.

    Rewards, values and valid are [N, A]. "turn" reads `steps` [N, A], the step of each action token, from 0 on.
    "group" reads `groups` [N], equal for trajectories of one task, and no values, which may be None: a trajectory's
    outcome is the sum of its rewards, its tokens share one advantage, and value targets are 0.
    `normalize_over="part"` reads `parts` [N], numbers below `num_parts`: the part of a mixture of each trajectory.

    Nothing is bootstrapped: an episode that a limit cut off is worth what it brought until then. Remaining steps stand
    in the prompt, so the limit is a part of the task.
    """
    estimate = _estimate_fn(config)
    returns_of = return_fn(config) if config.uses_values else None

    def whitened(advantages: jax.Array, valid: Any, parts: Any) -> jax.Array:
        if config.normalize_over == "batch":
            return whiten(advantages, valid)
        masks = valid & (jnp.arange(num_parts)[:, None] == jnp.asarray(parts))[..., None]
        return jax.vmap(whiten, (None, 0))(advantages, masks).sum(0)

    def of_batch(
        rewards: Any, values: Any, valid: Any, steps: Any = None, groups: Any = None, parts: Any = None
    ) -> Advantages:
        advantages, targets = estimate(rewards, values, valid, steps, groups)
        deviation = token_std(advantages, valid)
        if config.uses_values and config.normalize_advantages:
            advantages = whitened(advantages, valid, parts)
        returns = targets if returns_of is None else returns_of(rewards, valid, steps)
        return Advantages(advantages, targets, deviation, returns)

    return of_batch


def make_advantage_fn(config: PPOConfig, num_parts: int = 1) -> Callable[..., Advantages]:
    """`advantage_fn`, jitted."""
    return jax.jit(advantage_fn(config, num_parts))


def return_fn(config: PPOConfig) -> Callable[[Any, Any, Any], jax.Array]:
    """(rewards, valid, steps) [N, A] to Monte-Carlo returns, discounted as the update's own value targets are.

    What a value model is pretrained to, so that PPO finds it right: the targets at lambda_critic = 1. Pure, to be
    traced.
    """
    estimate = _estimate_fn(dataclasses.replace(config, lambda_critic=1.0))

    def returns(rewards: Any, valid: Any, steps: Any) -> jax.Array:
        _, targets = estimate(rewards, jnp.zeros(valid.shape, jnp.float32), valid, steps, None)
        return targets

    return returns


def _estimate_fn(config: PPOConfig) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """(rewards, values, valid, steps, groups) to advantages, not yet whitened, and value targets, [N, A] both."""

    def lambda_of(length: jax.Array) -> Any:
        if not config.length_adaptive:
            return config.lambda_policy
        return length_adaptive_lambda(jnp.maximum(length, 1), config.alpha)

    def of_tokens(rewards: Any, values: Any, valid: Any, steps: Any, groups: Any) -> Any:
        def one(rewards: jax.Array, values: jax.Array, valid: jax.Array) -> tuple[jax.Array, jax.Array]:
            return decoupled_gae(
                rewards,
                values,
                valid,
                gamma=config.gamma,
                lambda_policy=lambda_of(valid.sum()),
                lambda_critic=config.lambda_critic,
            )

        return jax.vmap(one)(rewards, values, valid)

    def of_turns(rewards: Any, values: Any, valid: Any, steps: Any, groups: Any) -> Any:
        def one(
            rewards: jax.Array, values: jax.Array, valid: jax.Array, steps: jax.Array
        ) -> tuple[jax.Array, jax.Array]:
            return turn_level_gae(
                rewards,
                values,
                valid,
                steps,
                gamma=config.gamma,
                lambda_policy=lambda_of(jnp.where(valid, steps + 1, 0).max()),
                lambda_critic=config.lambda_critic,
            )

        return jax.vmap(one)(rewards, values, valid, steps)

    def of_groups(rewards: Any, values: Any, valid: Any, steps: Any, groups: Any) -> Any:
        outcomes, groups = jnp.where(valid, rewards, 0).sum(-1), jnp.asarray(groups)
        of_member = jax.vmap(lambda mask: group_advantages(outcomes, mask=mask, normalize=config.group_std))
        own = jnp.diagonal(of_member(groups[:, None] == groups))
        return jnp.where(valid, own[:, None], 0.0), jnp.zeros(valid.shape, jnp.float32)

    return {"gae": of_tokens, "turn": of_turns, "group": of_groups}[config.advantages]


def policy_update(
    model: ModelConfig,
    optimizer: optax.GradientTransformation,
    config: PPOConfig,
    automaton: Automaton | None = None,
    num_parts: int = 0,
) -> Callable[[TrainState, PPOBatch], tuple[TrainState, Metrics]]:
    """Step 4 for the policy: (state, minibatch) to (state, metrics). Pure, to be traced.

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
            ppo_policy_loss, clip_low=config.clip_low, clip_high=config.clip_high, dual_clip=config.dual_clip or None
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
            losses = jax.vmap(functools.partial(value_loss, clip=config.value_clip or None))(
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


def make_policy_update(
    model: ModelConfig,
    optimizer: optax.GradientTransformation,
    config: PPOConfig,
    automaton: Automaton | None = None,
    num_parts: int = 0,
) -> Update[PPOBatch]:
    """`policy_update`, jitted; the state is donated."""
    return Update(policy_update(model, optimizer, config, automaton, num_parts))


def value_batch(batch: PPOBatch) -> ValueBatch:
    """What the value update reads of a PPO minibatch."""
    rows = free_routes(batch.rows)
    if batch.value_features is not None:
        rows = with_features(rows, batch.value_features)
    return ValueBatch(rows, batch.value_targets, batch.old_values)
