"""Value pretraining: the value model learns the returns of a fixed policy before PPO trusts it (VC-PPO, VAPO).

It is fitted to Monte-Carlo returns of many short episodes. Some are held out: their explained variance decides when to
stop and which parameters to keep, since a value model memorises the outcomes of its training episodes quickly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.model.policy import Parameters
from tars_jax.rl import explained_variance
from tars_jax.training.packing import PackedBatch, Packer, Rows, map_rows, select_rows
from tars_jax.training.rewards import RewardConfig, step_rewards, token_rewards
from tars_jax.training.schedule import rows_of_update
from tars_jax.training.state import TrainState
from tars_jax.training.value import (
    Known,
    Metrics,
    StateBaseline,
    ValueBatch,
    gather_actions,
    monte_carlo_returns,
    scatter_actions,
)
from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class ValuePretrainingConfig:
    max_updates: int = 300
    batch_rows: int = 64
    held_out: float = 0.2  # share of the episodes
    evaluate_every: int = 20  # updates
    patience: int = 4  # evaluations without a better held-out explained variance


@dataclasses.dataclass(frozen=True)
class ValuePretrainingResult:
    parameters: Parameters  # the best on held-out episodes
    updates: int
    explained_variance: float  # held out, best
    simulator_explained_variance: float  # held out, of a table over what the simulator knows


def pretrain_value(
    state: TrainState,
    update: Callable[[TrainState, ValueBatch], tuple[TrainState, Metrics]],
    value_fn: Callable[[Parameters, Rows], jax.Array],
    trajectories: Sequence[Trajectory],
    packer: Packer,
    rewards: RewardConfig,
    config: ValuePretrainingConfig,
    *,
    known: Known,
    seed: int,
    on_evaluation: Callable[[int, dict[str, float]], None],
) -> ValuePretrainingResult:
    """Fits a fresh value state; `on_evaluation(updates, metrics)` sees each evaluation, `known` is the baseline's."""
    num_held_out = max(1, round(config.held_out * len(trajectories)))
    training, held_out = trajectories[num_held_out:], trajectories[:num_held_out]
    batch, targets = _with_returns(training, packer, rewards, config.batch_rows)
    check, check_targets = _with_returns(held_out, packer, rewards, config.batch_rows)
    target_rows = scatter_actions(batch, targets)
    baseline = StateBaseline(known, training, [_returns_of_steps(each, rewards) for each in training])
    bound = baseline.explained_variance(held_out, [_returns_of_steps(each, rewards) for each in held_out])

    best, best_updates, best_parameters = -np.inf, 0, state.parameters
    updates = 0
    while updates < config.max_updates:
        chosen = rows_of_update(updates, target_rows.shape[0], config.batch_rows, seed)
        state, metrics = update(
            state, ValueBatch(select_rows(batch.rows, chosen), target_rows[chosen], target_rows[chosen])
        )
        updates += 1
        if updates % config.evaluate_every and updates < config.max_updates:
            continue
        values = gather_actions(check, map_rows(value_fn, state.parameters, check.rows, config.batch_rows))
        explained = float(explained_variance(check_targets, values, check.action_valid))
        on_evaluation(
            updates,
            {
                "loss": float(metrics["value_loss"]),
                "explained_variance": float(metrics["explained_variance"]),
                "heldout_explained_variance": explained,
            },
        )
        if explained > best:
            best, best_updates, best_parameters = explained, updates, jax.tree.map(jnp.copy, state.parameters)
        elif updates - best_updates >= config.patience * config.evaluate_every:
            break
    return ValuePretrainingResult(best_parameters, updates, best, bound)


def _with_returns(
    trajectories: Sequence[Trajectory], packer: Packer, rewards: RewardConfig, rows: int
) -> tuple[PackedBatch, np.ndarray]:
    batch = packer.pack(trajectories, rows)
    return batch, monte_carlo_returns(token_rewards(batch, trajectories, rewards), batch.action_valid)


def _returns_of_steps(trajectory: Trajectory, rewards: RewardConfig) -> np.ndarray:
    return np.cumsum(step_rewards(trajectory, rewards)[::-1])[::-1]
