"""The real updates, lowered for shapes alone.

Axes: R rows of a minibatch, T tokens of a row, I images of a row.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Inputs
from tars_jax.model.sharding import AXIS_RULES, batch_sharding
from tars_jax.training.config import PPOConfig
from tars_jax.training.packing import Rows
from tars_jax.training.ppo import PPOBatch, make_policy_update
from tars_jax.training.state import abstract_state
from tars_jax.training.value import ValueBatch, make_value_update, value_model


@dataclasses.dataclass(frozen=True)
class BatchShape:
    """Shape of one minibatch."""

    rows: int
    row_length: int  # tokens
    images_per_row: int
    image_size: tuple[int, int]  # height, width in pixels

    @property
    def tokens(self) -> int:
        return self.rows * self.row_length

    @property
    def images(self) -> int:
        return self.rows * self.images_per_row


def lower_policy_update(
    model: ModelConfig, optimizer: optax.GradientTransformation, config: PPOConfig, batch: BatchShape, mesh: Mesh
) -> jax.stages.Lowered:
    """The PPO update of one minibatch."""
    state = abstract_state(model, optimizer, mesh)
    rows, per_token = _abstract_rows(model, batch, mesh), _like(batch, mesh)
    update = make_policy_update(model, optimizer, config)
    minibatch = PPOBatch(rows, per_token(), per_token(), per_token(jnp.bool_), per_token(), per_token())
    return update.lower(state, minibatch)


def lower_value_update(
    model: ModelConfig, optimizer: optax.GradientTransformation, batch: BatchShape, mesh: Mesh
) -> jax.stages.Lowered:
    """The update of a separate value model."""
    state = abstract_state(value_model(model), optimizer, mesh)
    per_token = _like(batch, mesh)
    minibatch = ValueBatch(_abstract_rows(model, batch, mesh), per_token(), per_token())
    return make_value_update(model, optimizer, None).lower(state, minibatch)


def data_ways(mesh: Mesh) -> int:
    """The number of chips over which the rows of a batch lie."""
    return math.prod(mesh.shape[axis] for axis in AXIS_RULES["batch"] or ())


def bytes_per_chip(tree: Any) -> float:
    """Bytes of one chip's share of a tree of arrays or shapes with shardings."""
    return float(
        sum(
            jnp.dtype(leaf.dtype).itemsize
            * jax.ShapeDtypeStruct(leaf.sharding.shard_shape(leaf.shape), leaf.dtype).size
            for leaf in jax.tree.leaves(tree)
        )
    )


def _like(batch: BatchShape, mesh: Mesh) -> Any:
    """per_token(dtype): an array [R, T], rows over the data axes. Raises InputError if they do not divide."""
    ways = data_ways(mesh)
    if batch.rows % ways:
        raise InputError(
            f"config.batch.rows must be a multiple of {ways}, over mesh axes {AXIS_RULES['batch']}; got {batch.rows}"
        )

    def per_token(dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((batch.rows, batch.row_length), dtype, sharding=batch_sharding(mesh))

    return per_token


def _abstract_rows(model: ModelConfig, batch: BatchShape, mesh: Mesh) -> Rows:
    per_token = _like(batch, mesh)
    height, width = batch.image_size
    model.vision.token_grid(height, width)
    shape = (batch.rows, batch.images_per_row, height, width, 3)
    images = (jax.ShapeDtypeStruct(shape, jnp.uint8, sharding=batch_sharding(mesh)),) if batch.images_per_row else ()
    inputs = Inputs(
        tokens=per_token(jnp.int32),
        positions=jax.ShapeDtypeStruct(
            (3, batch.rows, batch.row_length), jnp.int32, sharding=batch_sharding(mesh, batch_axis=1)
        ),
        segments=per_token(jnp.int32),
        images=images,
        image_tokens=per_token(jnp.int32),
    )
    return Rows(inputs, per_token(jnp.bool_), per_token(), per_token(jnp.int32))
