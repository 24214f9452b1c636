"""Windows from slot to slot, and to the host and back: the cache of one, a block at a time.

Axes: S slots, M cache length, L layers, C tokens of a block.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from tars_jax.inference.slot_state import SlotState, kept_in_place
from tars_jax.model.cache import Caches
from tars_jax.model.policy import Array

BLOCK = 256  # tokens of a cache that travel to the host at a time


def _slot(leaf: jax.Array, slot: Array) -> jax.Array:
    """[L, S, ...] to [L, 1, ...]. A slice would bring all slots of a mesh to every device; this, one."""
    return jnp.take(leaf, jnp.asarray(slot)[None], axis=1, mode="clip")


@functools.partial(jax.jit, donate_argnums=0)
def copy(state: SlotState, source: Array, target: Array) -> SlotState:
    """The cache of one slot in another, too; both are int32 []."""

    def doubled(leaf: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice_in_dim(leaf, _slot(leaf, source), target, axis=1)

    return kept_in_place(dataclasses.replace(state, cache=jax.tree.map(doubled, state.cache)))


@functools.partial(jax.jit, static_argnames="size")
def take_block(cache: Caches, slot: Array, start: Array, size: int) -> Caches:
    """`size` tokens of a slot's cache from `start` on."""

    def block(axes: str, leaf: jax.Array) -> jax.Array:
        # A slice of a length that lies over devices would bring all of it to each; this, the block.
        return jnp.take(_slot(leaf, slot), start + jnp.arange(size), axis=axes.index("M"), mode="clip")

    return tuple(group.mapped(block) for group in cache)


@functools.partial(jax.jit, donate_argnums=0)
def put_block(state: SlotState, block: Caches, slot: Array, start: Array) -> SlotState:
    """Inverse of `take_block`; the state is donated."""

    def written(axes: str, leaf: jax.Array, part: jax.Array) -> jax.Array:
        at = {"S": slot, "M": start}
        return jax.lax.dynamic_update_slice(leaf, part, [at.get(axis, jnp.int32(0)) for axis in axes])

    cache = tuple(group.mapped(written, part) for group, part in zip(state.cache, block, strict=True))
    return kept_in_place(dataclasses.replace(state, cache=cache))


def take(state: SlotState, slot: int, length: int) -> list[Caches]:
    """The first `length` tokens of a slot's cache in host memory: blocks of C tokens for each group.

    They end where the cache ends. All blocks are of one size, so that nothing is compiled for a length.
    """
    blocks = [take_block(state.cache, slot, start, size) for start, size in _blocks(state, length)]
    return jax.device_get(blocks)


def put(state: SlotState, slot: int, blocks: Sequence[Caches], length: int) -> SlotState:
    """Inverse of `take`, in any slot, for as many tokens or fewer. The state is donated."""
    for block, (start, _) in zip(blocks, _blocks(state, length), strict=False):
        state = put_block(state, block, slot, start)
    return state


def _blocks(state: SlotState, length: int) -> list[tuple[int, int]]:
    """First token and size of each block; the last one may overlap the one before."""
    whole = state.cache[0].length
    size = min(BLOCK, whole)
    return [(min(start, whole - size), size) for start in range(0, length, size)]
