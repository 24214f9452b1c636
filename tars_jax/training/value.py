"""The value model: the expected return of an episode, read before each action token.

Axes: B rows, T tokens, N trajectories, A action tokens of a trajectory.

V_t of action token t is read at token t - 1: it knows what the policy knew when it chose the token.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.rl import explained_variance, token_mean, value_loss
from tars_jax.training.packing import Array, PackedBatch, Rows
from tars_jax.training.state import Metrics, TrainState, Update, gradient_step
from tars_jax.trajectory import Step, Trajectory


@flax.struct.dataclass
class ValueBatch:
    """Rows with what their values should have been."""

    rows: Rows
    targets: Array  # [B, T] float32, at action tokens
    old_values: Array  # [B, T] float32, when the advantages were computed


def shift_values(values: jax.Array) -> jax.Array:
    """[B, T] read after each token to [B, T] read before it."""
    return jnp.pad(values[:, :-1], ((0, 0), (1, 0)))


def value_model(model: ModelConfig) -> ModelConfig:
    """The value model's shapes: the policy's, with a scalar head instead of the vocabulary."""
    return dataclasses.replace(model, scalar_head=True, vocabulary_head=False)


def value_update(
    model: ModelConfig, optimizer: optax.GradientTransformation, clip: float | None
) -> Callable[[TrainState, ValueBatch], tuple[TrainState, Metrics]]:
    """The update of a separate value model: (state, minibatch) to (state, metrics). Pure, to be traced."""
    model = value_model(model)

    def loss_fn(parameters: Parameters, batch: ValueBatch) -> tuple[jax.Array, Metrics]:
        values = shift_values(forward(model, parameters, batch.rows.inputs).values)
        mask = batch.rows.action_mask
        losses = jax.vmap(functools.partial(value_loss, clip=clip))(values, batch.targets, mask, batch.old_values)
        loss = token_mean(losses, mask)
        return loss, {"value_loss": loss, "explained_variance": explained_variance(batch.targets, values, mask)}

    return gradient_step(loss_fn, optimizer, "value_gradient_norm")


@functools.lru_cache(maxsize=8)
def make_value_update(
    model: ModelConfig, optimizer: optax.GradientTransformation, clip: float | None
) -> Update[ValueBatch]:
    """`value_update`, jitted; the state is donated. Learners with the same arguments share it, and what has been
    compiled."""
    return Update(value_update(model, optimizer, clip))


def value_fn(model: ModelConfig) -> Callable[[Parameters, Rows], jax.Array]:
    """Values [B, T] read before each token. Pure, to be traced."""
    model = value_model(model)
    return lambda parameters, rows: shift_values(forward(model, parameters, rows.inputs).values)


@functools.lru_cache(maxsize=8)
def make_value_fn(model: ModelConfig) -> Callable[[Parameters, Rows], jax.Array]:
    """Makes the jitted `value_fn`; equal models share it, and what has been compiled."""
    return jax.jit(value_fn(model))


def scatter_actions(batch: PackedBatch, values: np.ndarray) -> np.ndarray:
    """[N, A] of action tokens to their places in the rows, [R, T]; 0 elsewhere."""
    rows = np.zeros(batch.rows.action_mask.shape, np.float32)
    rows.ravel()[batch.action_index[batch.action_valid]] = np.asarray(values)[batch.action_valid]
    return rows


def gather_actions(batch: PackedBatch, rows: np.ndarray) -> np.ndarray:
    """[R, T] to the action tokens of each trajectory, [N, A]; 0 at padding."""
    return np.where(batch.action_valid, np.asarray(rows).ravel()[batch.action_index], 0.0).astype(np.float32)


Known = Callable[[Mapping[str, Any], Step], Hashable]


class StateBaseline:
    """Baseline of the return by the simulator's own state: a table over (what is known of a step, remaining steps).

    It is the yardstick of the value model, which sees only screenshots: a table of training means, smoothed toward the
    overall mean, read on episodes that it has not seen. `known(task, step)` says what the simulator knows of a step's
    outcome.
    """

    def __init__(
        self,
        known: Known,
        trajectories: Sequence[Trajectory],
        returns: Sequence[np.ndarray],
        smoothing: float = 2.0,
    ) -> None:
        self._known = known
        values = np.concatenate(list(returns))
        self._mean = float(np.mean(values))
        sums: dict[Hashable, list[float]] = {}
        for key, value in zip(self._keys(trajectories), values, strict=True):
            total = sums.setdefault(key, [self._mean * smoothing, smoothing])
            total[0] += value
            total[1] += 1
        self._table = {key: total / count for key, (total, count) in sums.items()}

    def explained_variance(self, trajectories: Sequence[Trajectory], returns: Sequence[np.ndarray]) -> float:
        """The explained variance of the baseline on other episodes; `returns` holds one return for each step of each
        trajectory."""
        values = np.concatenate(list(returns))
        predicted = np.array([self._table.get(key, self._mean) for key in self._keys(trajectories)])
        return float(explained_variance(values, predicted))

    def _keys(self, trajectories: Sequence[Trajectory]) -> list[Hashable]:
        return [
            (self._known(trajectory.task, step), trajectory.task["max_steps"] - number)
            for trajectory in trajectories
            for number, step in enumerate(trajectory.steps)
        ]
