"""A value model for each part of a mixture: it scores and learns from the rows of its own part alone.

Axes: R rows, of which each is of one part (`Packer.pack_read`), T tokens of a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import jax
import numpy as np

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.training.frozen_image_features import FrozenImageFeatures
from tars_jax.training.minibatches import take_rows
from tars_jax.training.packing import Rows, free_routes, map_rows, with_features
from tars_jax.training.ppo import PPOBatch, value_batch
from tars_jax.training.state import TrainState, Update
from tars_jax.training.value import ValueBatch

States = tuple[TrainState, ...]  # of the value models, in the order of the parts


class PartCritics:
    """The jitted functions of one value model, for several states; and what their encoders said of screenshots, where
    these are frozen."""

    def __init__(
        self,
        model: ModelConfig,
        value_fn: Callable[[Parameters, Rows], jax.Array],
        update: Update[ValueBatch],
        names: Sequence[str],
        rows: int,
    ) -> None:
        """`rows`: that are scored, or learned from, at a time."""
        self._value_fn, self._update, self._names, self._rows = value_fn, update, names, rows
        self._image_features = [FrozenImageFeatures(model) for _ in names]

    def score(
        self, states: States, rows: Rows, row_parts: np.ndarray, frozen: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Values [R, T], 0 in rows of no part; with `frozen` encoders what they say of the rows' screenshots, as
        `PPOBatch.value_features` has it."""
        values, features, rows = np.zeros(rows.action_mask.shape, np.float32), None, free_routes(rows)
        for part, state in enumerate(states):
            own = np.flatnonzero(row_parts == part)
            for chosen, count in self._at_a_time(own):
                some = take_rows(rows, chosen)
                if frozen:
                    found = self._image_features[part].get_or_encode(state.parameters, some.inputs.images)
                    some = with_features(some, found)
                    if features is None:
                        features = np.zeros((found.shape[0], len(row_parts), *found.shape[2:]), found.dtype)
                    features[:, chosen[:count]] = found[:, :count]
                values[chosen[:count]] = map_rows(self._value_fn, state.parameters, some, self._rows)[:count]
        return values, features

    def learn(
        self, states: States, batch: PPOBatch, row_parts: np.ndarray, rng: np.random.Generator
    ) -> tuple[States, dict[str, float]]:
        """One pass of each over the rows of its part, in random order; the states are donated. Metrics: the mean loss
        of each part that has rows, and of these parts."""
        left, losses = list(states), dict[str, float]()
        for part, name in enumerate(self._names):
            of_part: list[jax.Array] = []
            for chosen, count in self._at_a_time(rng.permutation(np.flatnonzero(row_parts == part))):
                minibatch = value_batch(take_rows(batch, chosen))
                real = np.arange(self._rows)[:, None] < count
                rows = minibatch.rows.replace(action_mask=minibatch.rows.action_mask & real)  # type: ignore[attr-defined]
                left[part], metrics = self._update(left[part], dataclasses.replace(minibatch, rows=rows))
                of_part.append(metrics["value_loss"])
            if of_part:
                losses[f"{name}/value_loss"] = float(np.mean(jax.device_get(of_part)))
        return tuple(left), {"value_loss": float(np.mean(list(losses.values()))), **losses}

    def _at_a_time(self, own: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """Rows of a constant number, and how many of them are real: the last ones are followed by others of the
        part."""
        for first in range(0, len(own), self._rows):
            chosen = own[first : first + self._rows]
            yield np.resize(np.concatenate([chosen, own]), self._rows), len(chosen)
