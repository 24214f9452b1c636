"""From scored rows and episodes to the minibatches of an update, on the host.

Axes: R all rows of a batch, T tokens of a row, N trajectories, A action tokens of a trajectory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import jax
import numpy as np

from tars_jax.rl import correlation, explained_variance, informative_group, length_adaptive_lambda, token_mean
from tars_jax.training.config import RewardConfig
from tars_jax.training.packing import PackedBatch
from tars_jax.training.placement import take_rows
from tars_jax.training.ppo import Advantages, PPOBatch, PPOConfig
from tars_jax.training.rewards import token_rewards
from tars_jax.training.value import gather_actions, scatter_actions
from tars_jax.trajectory import Trajectory


def prepare(
    packed: PackedBatch,
    trajectories: Sequence[Trajectory],
    proximal_log_probs: np.ndarray,
    values: np.ndarray | None,
    config: PPOConfig,
    rewards: RewardConfig,
    advantage_fn: Callable[..., Advantages],
    reference_log_probs: np.ndarray | None = None,
    parts: np.ndarray | None = None,
    part_names: Sequence[str] = (),
) -> tuple[PPOBatch, dict[str, float]]:
    """Scored rows [R, T] to a batch for `make_policy_update`, and what the batch looks like: `decisions` are the tokens
    of a step that the policy chose among several.

    `values` is None where there is no value model, `reference_log_probs` where there is no KL to a reference. `parts`
    [N]: of a mixture, the part of each trajectory; metrics have its name before a slash.
    """
    token_reward = token_rewards(packed, trajectories, rewards)
    values = np.zeros_like(proximal_log_probs) if values is None else values
    action_values, valid, groups = gather_actions(packed, values), packed.action_valid, task_groups(trajectories)
    of_parts = () if parts is None else (parts,)
    found = advantage_fn(token_reward, action_values, valid, packed.action_step, groups, *of_parts)
    advantages, targets = np.asarray(found.advantages), np.asarray(found.targets)
    decided = valid.sum(1)
    metrics = {
        "advantage_std": float(found.deviation),
        "decisions": float(decided.sum() / max(sum(len(trajectory.steps) for trajectory in trajectories), 1)),
    }
    if config.uses_values and config.length_adaptive:
        turns = np.array([len(trajectory.steps) for trajectory in trajectories])
        lengths = turns if config.advantages == "turn" else decided
        metrics["lambda_clamped"] = float(np.mean(np.asarray(length_adaptive_lambda(lengths, config.alpha)) == 0))
    if config.uses_values:
        metrics["value_mean"] = float(token_mean(action_values, valid))
        owned = {"": valid}
        if parts is not None:
            owned |= {f"{name}/": valid & (parts == part)[:, None] for part, name in enumerate(part_names)}
        for of, own in owned.items():
            if own.any():
                metrics[f"{of}explained_variance"] = float(explained_variance(found.returns, action_values, own))
                metrics[f"{of}value_correlation"] = float(correlation(found.returns, action_values, own))
    else:
        metrics["informative_groups"] = _informative_share(token_reward.sum(1), groups)
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


def _informative_share(outcomes: np.ndarray, groups: np.ndarray) -> float:
    """The share of groups in which some trajectory did better than another."""
    members = np.arange(groups.max() + 1)[:, None] == groups
    return float(np.mean(jax.vmap(informative_group, (None, 0))(outcomes, members)))


def minibatches(batch: PPOBatch, rows: int, key: np.random.Generator) -> Iterator[PPOBatch]:
    """The batch in random order, `rows` at a time; packing made the number of rows a multiple of it."""
    order = key.permutation(batch.advantages.shape[0])
    for first in range(0, order.size, rows):
        yield take_rows(batch, order[first : first + rows])
