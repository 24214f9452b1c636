"""The live cache of a decoder: what lies where in memory, which a platform decides.

On a mesh slots lie over the batch's axes and heads over `tensor`. Where heads do not divide `tensor` its length does:
each device attends to its part of what is seen, and a layer's step costs a few sums over all parts of results as large
as one token's queries, however long the cache is.

Axes: L layers of a group, S slots, B rows, T new tokens, K key-value heads, H head dimension, M cache length.

"rows": a head's keys lie as rows, and so do its values. A TPU writes a row where it lies; what lies otherwise, or has
more axes than a row, is copied into another order and back by every call, all of it. "products": each lies as its
product with one token's queries or weights reads it, which a processor would else turn round in every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.model.config import ModelConfig
from tars_jax.model.sharding import mapped

LOGICAL = {
    "L": "layers",
    "S": "batch",
    "K": "heads",
    "M": "cached",
}  # names of axes in the tables of `tars_jax.model.sharding`


class Order(NamedTuple):
    """The axes of keys and of values, in the order in which they lie; before them comes L."""

    keys: str
    values: str


ORDERS = {"rows": Order("SKMH", "SKMH"), "products": Order("SKHM", "SKMH")}


@flax.struct.dataclass
class Cache:
    """Keys and values of a group. It is in the carry of the layer scan, so a donated cache is never copied."""

    keys: jax.Array  # [L, ...] in its order
    values: jax.Array  # [L, ...]
    order: Order = flax.struct.field(pytree_node=False)

    @property
    def length(self) -> int:
        """M, tokens that a slot has room for."""
        return self.keys.shape[1 + self.order.keys.index("M")]

    @property
    def depth(self) -> int:
        """L, layers of the group."""
        return self.keys.shape[0]

    @staticmethod
    def empty(config: ModelConfig, slots: int, length: int, sizes: Sequence[int] | None = None) -> Caches:
        """Zeros, for as many slots of so many tokens; `sizes` of the groups are a learner's where there are none."""
        order = ORDERS[config.execution.cache_order]
        size_of = {"S": slots, "M": length, "K": config.kv_heads, "H": config.head_dim}

        def zeros(depth: int, axes: str) -> jax.Array:
            return jnp.zeros((depth, *(size_of[axis] for axis in axes)), config.dtype)

        groups = config.layer_runs if sizes is None else sizes
        return tuple(Cache(zeros(depth, order.keys), zeros(depth, order.values), order) for depth in groups)

    def mapped(self, function: Callable[..., Any], *others: Cache) -> Self:
        """A cache of the results of `function`, called with the axes of keys ("LSKMH" or so) and the keys of all these
        caches, then values."""
        keys = function("L" + self.order.keys, self.keys, *(each.keys for each in others))
        return type(self)(
            keys, function("L" + self.order.values, self.values, *(each.values for each in others)), self.order
        )

    def written(
        self, place: jax.Array, slots: jax.Array | None, columns: jax.Array, k: jax.Array, v: jax.Array
    ) -> Self:
        """With k and v [B, T, K, H] of a layer at columns [B, T] of slots [B], or of all slots in their order; a column
        of M or more drops them.

        What is not finite is written as 0: a weight of 0, which whoever comes after gives to what a slot held before
        it, makes no 0 of a NaN. The token itself has it in its own hidden state, so its answer says so.
        """
        k, v = (jnp.where(jnp.isfinite(new), new, 0) for new in (k, v))

        def put(axes: str, leaf: jax.Array, new: jax.Array) -> jax.Array:
            def write(leaf: jax.Array, columns: jax.Array, new: jax.Array, first: jax.Array | None = None) -> jax.Array:
                if first is not None:  # columns of other devices come before and after
                    columns = jnp.where(columns < first, leaf.shape[axes.index("M")], columns - first)
                to = jnp.arange(new.shape[0]) if slots is None else slots
                where = {"L": place, "S": to[:, None, None], "M": columns[:, :, None], "K": jnp.arange(new.shape[2])}
                return leaf.at[tuple(where.get(axis, slice(None)) for axis in axes)].set(new, mode="drop")

            if slots is not None:
                return write(leaf, columns, new)
            # Each device of a mesh writes to its own slots: the compiler would have all of them hear of all new tokens.
            lying = tuple(map(LOGICAL.get, axes))
            read = (lying, ("batch", None), ("batch", None, "heads", None))
            return mapped(write, read, lying, counted="cached")(leaf, columns, new)

        return self.mapped(put, type(self)(k, v, self.order))

    def layer(self, place: jax.Array, slots: jax.Array | None) -> tuple[jax.Array, jax.Array]:
        """Keys and values of a layer, in their order: of slots [B], or of all of them as they lie."""
        keys, values = self.keys[place], self.values[place]
        return (keys, values) if slots is None else (keys[slots], values[slots])


Caches = tuple[Cache, ...]  # of all groups
