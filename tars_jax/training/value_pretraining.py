"""Value pretraining: the value model learns the returns of a fixed policy before PPO trusts it (VC-PPO, VAPO).

Axes: N trajectories, A action tokens of a trajectory, R rows, T tokens of a row.

It is fitted to Monte-Carlo returns of many short episodes, of which the policy plays on while it learns. Some are held
out, since a value model memorizes the outcomes of its training episodes quickly: training ends when on these neither
the value loss nor the explained variance gets better any more, and the parameters with the highest explained variance
are kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import jax
import numpy as np

from tars_jax.model.policy import Parameters
from tars_jax.rl import correlation, explained_variance, token_mean, value_loss
from tars_jax.training.advantages import return_fn
from tars_jax.training.checkpoint import Checkpoints
from tars_jax.training.config import PPOConfig, RewardConfig, ValuePretrainingConfig
from tars_jax.training.constrained import AnswerConstraint
from tars_jax.training.metrics import require_finite
from tars_jax.training.minibatches import take_rows
from tars_jax.training.packing import PackedBatch, Packer, Readable, Rows, map_rows, rows_of_update
from tars_jax.training.rewards import token_rewards
from tars_jax.training.state import TrainState, copy_parameters
from tars_jax.training.value import (
    Known,
    Metrics,
    StateBaseline,
    ValueBatch,
    gather_actions,
    scatter_actions,
)
from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class ValueEvaluation:
    """A value model on held-out episodes."""

    updates: int
    value_loss: float  # half the mean squared error
    explained_variance: float
    correlation: float  # of value and return, over all action tokens
    correlation_at_start: float  # the same over the first action token of each episode


@dataclasses.dataclass(frozen=True)
class ValuePretrainingResult:
    parameters: Parameters  # those of `best`
    best: ValueEvaluation
    updates: int  # made in all
    episodes: int  # that were sampled for it
    levelled_off: bool  # or else the updates ran out
    simulator_explained_variance: float  # held out, of a table over what the simulator knows


def pretrain_value(
    state: TrainState,
    update: Callable[[TrainState, ValueBatch], tuple[TrainState, Metrics]],
    value_fn: Callable[[Parameters, Rows], jax.Array],
    sample: Callable[[int], Sequence[Trajectory]],
    packer: Packer,
    rewards: RewardConfig,
    ppo: PPOConfig,
    config: ValuePretrainingConfig,
    checkpoints: Checkpoints,
    *,
    constraint: AnswerConstraint | None = None,
    known: Known,
    seed: int,
    on_evaluation: Callable[[int, dict[str, float]], None],
) -> ValuePretrainingResult:
    """Fits a fresh value state, or goes on from the newest of `checkpoints`, which keep every evaluation.

    `sample(count)` gives the first so many episodes of the fixed policy, and plays those that are not there yet; what
    was lost of them is missing. What is asked for grows by rounds, and a resumed run asks for the same.
    `ppo` says how returns are discounted, `constraint` what answers were sampled under. `on_evaluation(updates,
    metrics)` sees each evaluation that is made, `known` is the baseline's. Raises InputError if training diverges.
    """

    def with_returns(episodes: Sequence[Readable]) -> tuple[PackedBatch, np.ndarray]:
        batch = packer.pack_read(episodes, config.batch_rows)
        batch = batch if constraint is None else constraint.followed(batch)
        of_tokens = token_rewards(batch, [each.trajectory for each in episodes], rewards)
        return batch, np.asarray(return_fn(ppo)(of_tokens, batch.action_valid, batch.action_step))

    def first(count: int) -> list[Readable]:
        return packer.sort_out(sample(count))[0]

    best_parameters = state.parameters
    history: list[ValueEvaluation] = []
    episodes, held_out = config.episodes, frozenset[str]()
    updates = checkpoints.latest() or 0
    if updates:
        (state, best_parameters), extra = checkpoints.restore(updates, (state, best_parameters))
        history = [ValueEvaluation(**each) for each in extra["history"]]
        # An earlier version had one round, and said neither.
        episodes, held_out = extra.get("episodes", episodes), frozenset(extra.get("held_out", ()))
    readable = first(episodes)
    held_out = held_out or _held_out(readable, config)
    checked = [each for each in readable if each.trajectory.id in held_out]
    learned = [each for each in readable if each.trajectory.id not in held_out]
    check, check_targets = with_returns(checked)
    batch, targets = with_returns(learned)
    target_rows = scatter_actions(batch, targets)
    while updates < config.max_updates and not levelled_off(history, config.patience):
        chosen = rows_of_update(updates, target_rows.shape[0], config.batch_rows, seed)
        state, metrics = update(
            state, ValueBatch(take_rows(batch.rows, chosen), target_rows[chosen], target_rows[chosen])
        )
        updates += 1
        if updates % config.evaluate_every and updates < config.max_updates:
            continue
        values = gather_actions(check, map_rows(value_fn, state.parameters, check.rows, config.batch_rows))
        found = evaluate_values(updates, check_targets, values, check.action_valid)
        require_finite("value", updates, {**metrics, "heldout_loss": found.value_loss})
        if not history or found.explained_variance > best_of(history).explained_variance:
            best_parameters = copy_parameters(state.parameters)
        history.append(found)
        on_evaluation(
            updates,
            {
                "loss": float(metrics["value_loss"]),
                "explained_variance": float(metrics["explained_variance"]),
                "heldout_loss": found.value_loss,
                "heldout_explained_variance": found.explained_variance,
                "correlation": found.correlation,
                "correlation_at_start": found.correlation_at_start,
            },
        )
        goes_on = updates < config.max_updates and not levelled_off(history, config.patience)
        more = min(episodes + config.episodes, config.max_episodes) if goes_on else 0
        kept = {"history": list(map(dataclasses.asdict, history)), "held_out": sorted(held_out)}
        checkpoints.save(updates, (state, best_parameters), {**kept, "episodes": max(episodes, more)})
        if more > episodes:
            episodes = more
            learned = [each for each in first(episodes) if each.trajectory.id not in held_out]
            batch, targets = with_returns(learned)
            target_rows = scatter_actions(batch, targets)
    training, others = ([each.trajectory for each in some] for some in (learned, checked))
    baseline = StateBaseline(known, training, _at_steps(batch, targets, training))
    return ValuePretrainingResult(
        best_parameters,
        best_of(history),
        updates,
        len(learned) + len(checked),
        levelled_off(history, config.patience),
        baseline.explained_variance(others, _at_steps(check, check_targets, others)),
    )


def _held_out(readable: Sequence[Readable], config: ValuePretrainingConfig) -> frozenset[str]:
    """The ids of those of the first round that are never learned from."""
    rounds = max(1.0, config.max_episodes / config.episodes)
    count = min(round(config.held_out * rounds * len(readable)), len(readable) // 2)
    return frozenset(each.trajectory.id for each in readable[: max(1, count)])


def levelled_off(history: Sequence[ValueEvaluation], patience: int) -> bool:
    """Whether the last `patience` evaluations bettered neither the value loss nor the explained variance."""
    scores = ([-each.value_loss for each in history], [each.explained_variance for each in history])
    return all(levelled(each, patience) for each in scores)


def levelled(scores: Sequence[float], patience: int) -> bool:
    """Whether none of the last `patience` scores is above all before them, of which there must be one."""
    return len(scores) > patience and max(scores[-patience:]) <= max(scores[:-patience])


def best_of(history: Sequence[ValueEvaluation]) -> ValueEvaluation:
    """The first with the highest explained variance."""
    return max(history, key=lambda each: each.explained_variance)


def evaluate_values(updates: int, returns: np.ndarray, values: np.ndarray, valid: np.ndarray) -> ValueEvaluation:
    """Evaluates values [N, A] against the returns [N, A] of valid action tokens."""
    first = valid & (valid.cumsum(1) == 1)
    return ValueEvaluation(
        updates,
        value_loss=float(token_mean(jax.vmap(value_loss)(values, returns, valid), valid)),
        explained_variance=float(explained_variance(returns, values, valid)),
        correlation=float(correlation(returns, values, valid)),
        correlation_at_start=float(correlation(returns, values, first)),
    )


def _at_steps(batch: PackedBatch, returns: np.ndarray, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
    """Returns of each step, [S], out of those [N, A] of action tokens: at its first token, or the next where it has
    none."""
    found = []
    for row, trajectory in enumerate(trajectories):
        valid = batch.action_valid[row]
        first = np.searchsorted(batch.action_step[row][valid], np.arange(len(trajectory.steps)))
        found.append(np.append(returns[row][valid], 0.0)[first])
    return found
