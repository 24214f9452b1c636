"""Minibatches: rows of a batch, and their way from the host to the learner's devices, of which each holds its own.

Axes: B rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.model.sharding import array_sharding, leaf_name, mesh_of

Batch = TypeVar("Batch")
ROWS_SECOND = {"positions", "image_features", "value_features"}  # fields [x, B, ...]; all others are [B, ...]


def take_rows(batch: Batch, chosen: Any) -> Batch:
    """Rows `chosen` [M] of a batch of numpy arrays, or of a traced one, where a row beyond the last is empty."""

    def take(path: tuple[Any, ...], leaf: Any) -> Any:
        axis = _row_axis(leaf_name(path))
        if isinstance(leaf, np.ndarray):
            return np.take(leaf, chosen, axis)
        return jnp.take(leaf, chosen, axis, mode="fill", fill_value=0)

    return jax.tree_util.tree_map_with_path(take, batch)


def minibatches(batch: Batch, rows: int, rng: np.random.Generator) -> Iterator[Batch]:
    """The batch in random order, `rows` at a time; packing made their number B a multiple of it."""
    num_rows = batch.rows.action_mask.shape[0]  # type: ignore[attr-defined]
    order = rng.permutation(num_rows)
    for first in range(0, num_rows, rows):
        yield take_rows(batch, order[first : first + rows])


def put_rows(batch: Batch, rows: Batch, start: Any) -> Batch:
    """The traced batch with `rows` [M] in the place of its own from `start` on, which is at most B - M."""

    def put(path: tuple[Any, ...], leaf: Any, new: Any) -> Any:
        return jax.lax.dynamic_update_slice_in_dim(leaf, new, start, _row_axis(leaf_name(path)))

    return jax.tree_util.tree_map_with_path(put, batch, rows)


def shard_batch(parameters: Any, batch: Batch) -> Batch:
    """The numpy arrays of a batch on the devices of the parameters, rows over the batch axes of their mesh.

    Every process has the whole batch on its host. This is the transfer that is meant where others are disallowed.
    """
    mesh = mesh_of(parameters)

    def placed(path: tuple[Any, ...], leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        if mesh is None or mesh.size == 1:
            return jax.device_put(leaf)
        axes = (None,) * _row_axis(leaf_name(path)) + ("batch",)
        sharding = array_sharding(mesh, leaf.shape, *axes)
        return jax.make_array_from_callback(leaf.shape, sharding, leaf.__getitem__)

    with jax.transfer_guard_host_to_device("allow"):
        return jax.tree_util.tree_map_with_path(placed, batch)


def _row_axis(path: str) -> int:
    return int(path.rpartition("/")[2] in ROWS_SECOND)
