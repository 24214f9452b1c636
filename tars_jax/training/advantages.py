"""Advantages and value targets of every sampled token, and the batch of rows that the update learns from.

Axes: R all rows of a batch, T tokens of a row, N trajectories, A action tokens of a trajectory.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.rl import (
    correlation,
    decoupled_gae,
    explained_variance,
    group_advantages,
    informative_group,
    length_adaptive_lambda,
    token_mean,
    token_std,
    turn_level_gae,
    whiten,
)
from tars_jax.training.config import PPOConfig
from tars_jax.training.packing import PackedBatch
from tars_jax.training.ppo import PPOBatch
from tars_jax.training.state import Metrics
from tars_jax.training.value import gather_actions, scatter_actions
from tars_jax.trajectory import Trajectory


class Advantages(NamedTuple):
    """Advantage and value target of each action token."""

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


@functools.lru_cache(maxsize=8)
def make_advantage_fn(config: PPOConfig, num_parts: int = 1) -> Callable[..., Advantages]:
    """Makes the jitted `advantage_fn`."""
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


def advantage_metrics(
    config: PPOConfig,
    found: Advantages,
    outcomes: Any,
    values: Any,
    valid: Any,
    groups: Any,
    parts: Any = None,
    part_names: Sequence[str] = (),
) -> Metrics:
    """Metrics of advantages: how well values [N, A] predict the returns, or by outcomes [N] how many groups are
    informative. Pure, to be traced.

    `parts` [N]: of a mixture, the part of each trajectory; metrics of values have the name of each before a slash, too.
    """
    metrics = {"advantage_std": found.deviation}
    if not config.uses_values:
        return {**metrics, "informative_groups": informative_share(outcomes, groups)}
    owned = {f"{name}/": valid & (parts == part)[:, None] for part, name in enumerate(part_names)}
    for of, own in {"": valid, **owned}.items():
        metrics[f"{of}explained_variance"] = explained_variance(found.returns, values, own)
        metrics[f"{of}value_correlation"] = correlation(found.returns, values, own)
    return {**metrics, "value_mean": token_mean(values, valid)}


def informative(outcomes: Any, groups: Any) -> jax.Array:
    """[N] bool: whether the trajectories of its group, all with outcomes [N], did not all do equally well."""
    outcomes, groups = jnp.asarray(outcomes), jnp.asarray(groups)
    return jax.vmap(informative_group, (None, 0))(outcomes, groups[:, None] == groups)


def informative_share(outcomes: Any, groups: Any) -> jax.Array:
    """The share of groups that are informative."""
    groups = jnp.asarray(groups)
    first = jnp.argmax(groups[:, None] == groups, axis=1) == jnp.arange(groups.size)  # one trajectory for each group
    return (informative(outcomes, groups) & first).sum() / first.sum()


_metrics = jax.jit(advantage_metrics, static_argnames=("config", "part_names"))
_adaptive_lambda = jax.jit(length_adaptive_lambda)


def make_ppo_batch(
    packed: PackedBatch,
    trajectories: Sequence[Trajectory],
    rewards: np.ndarray,
    proximal_log_probs: np.ndarray,
    values: np.ndarray | None,
    config: PPOConfig,
    advantage_fn: Callable[..., Advantages],
    reference_log_probs: np.ndarray | None = None,
    parts: np.ndarray | None = None,
    part_names: Sequence[str] = (),
) -> tuple[PPOBatch, dict[str, float]]:
    """Rewards [N, A] and scored rows [R, T] to a batch for `make_policy_update`, and what the batch looks like:
    `decisions` are the tokens of a step that the policy chose among several.

    `values` is None where there is no value model, `reference_log_probs` where there is no KL to a reference. `parts`
    and `part_names` as for `advantage_metrics`, which leaves out a part without tokens.
    """
    values = np.zeros_like(proximal_log_probs) if values is None else values
    valid, decided, num_steps = packed.action_valid, packed.action_valid.sum(1), [len(t.steps) for t in trajectories]
    on_device = jax.device_put((rewards, gather_actions(packed, values), valid, packed.action_step))
    groups, of_part = jax.device_put((task_groups(trajectories), parts))
    found = advantage_fn(*on_device, groups, of_part)
    advantages, targets = jax.device_get((found.advantages, found.targets))

    names = () if parts is None else tuple(part_names)
    outcomes = jax.device_put(rewards.sum(1))
    described = jax.device_get(_metrics(config, found, outcomes, *on_device[1:3], groups, of_part, part_names=names))
    absent = {name for part, name in enumerate(names) if not valid[np.asarray(parts) == part].any()}
    metrics = {name: float(value) for name, value in described.items() if name.partition("/")[0] not in absent}
    metrics["decisions"] = float(decided.sum() / max(sum(num_steps), 1))
    if config.uses_values and config.length_adaptive:
        lengths = np.array(num_steps) if config.advantages == "turn" else decided
        lambdas = _adaptive_lambda(*jax.device_put((lengths, config.alpha)))
        metrics["lambda_clamped"] = float(np.mean(jax.device_get(lambdas) == 0))

    succeeded = np.array([trajectory.succeeded for trajectory in trajectories])
    weights = None
    if config.aggregation == "sequence":
        weights = scatter_actions(packed, valid / np.maximum(valid.sum(1, keepdims=True), 1))
    batch = PPOBatch(
        rows=packed.rows,
        proximal_log_probs=proximal_log_probs,
        advantages=scatter_actions(packed, advantages),
        positive=scatter_actions(packed, np.broadcast_to(succeeded[:, None], valid.shape)) > 0,
        value_targets=scatter_actions(packed, targets),
        old_values=values,
        weights=weights,
        reference_log_probs=reference_log_probs,
        parts=None if parts is None else token_parts(packed, parts),
    )
    return batch, metrics


def token_parts(packed: PackedBatch, parts: np.ndarray) -> np.ndarray:
    """The parts [N] of trajectories at their action tokens, [R, T] int32; -1 elsewhere."""
    numbers = np.broadcast_to(parts[:, None] + 1, packed.action_valid.shape)
    return scatter_actions(packed, numbers).astype(np.int32) - 1


def task_groups(trajectories: Sequence[Trajectory]) -> np.ndarray:
    """[N] int32, equal for trajectories of one task: a pool of groups draws a task once for each of them."""
    numbers: dict[str, int] = {}
    keys = (json.dumps(trajectory.task, sort_keys=True) for trajectory in trajectories)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
