"""State of the decode engine's slots on the device: the KV cache, and how each answer goes on.

Axes: S slots, V vocabulary.

A window lives in one slot. The state is donated to every function that changes it: the cache is updated in place, never
copied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import flax.struct
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding

from tars_jax.inference.sampling_state import SamplingState
from tars_jax.model.cache import LOGICAL, Cache, Caches
from tars_jax.model.config import ModelConfig
from tars_jax.model.sharding import array_sharding, constrain


@flax.struct.dataclass
class SlotState:
    """State of every slot on the device. Positions are not the cache length: an image advances them less."""

    cache: Caches
    length: jax.Array  # [S] int32: tokens in the cache
    position: jax.Array  # [S] int32: rotary position of the next token
    last_token: jax.Array  # [S] int32: sampled, not yet in the cache
    budget: jax.Array  # [S] int32: tokens that the answer may still take; 0 is idle
    sampling: SamplingState  # [S]
    token_counts: jax.Array | None = None  # [S, V] int32: of each token in the answer, where penalties ask for that

    @property
    def columns(self) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, SamplingState, jax.Array | None]:
        """All but the cache."""
        return self.length, self.position, self.last_token, self.budget, self.sampling, self.token_counts

    @staticmethod
    def empty(
        config: ModelConfig,
        slots: int,
        length: int,
        mesh: Mesh | None = None,
        groups: Sequence[int] | None = None,
        *,
        penalties: bool = False,
        biases: int = 0,
    ) -> SlotState:
        """All slots idle, for parameters in groups of so many layers each, None: as a learner holds them; with
        `penalties` their tokens are counted, and so many `biases` have room.

        On a mesh the cache's slots lie over the batch's axes, and its heads over `tensor` or else its length.
        """

        def zeros() -> jax.Array:
            return jnp.zeros(slots, jnp.int32)

        def fresh() -> SlotState:
            sampling = jax.tree.map(jnp.asarray, SamplingState.fresh(slots, biases))
            token_counts = jnp.zeros((slots, config.vocabulary), jnp.int32) if penalties else None
            cache = Cache.empty(config, slots, length, groups)
            return SlotState(cache, zeros(), zeros(), zeros(), zeros(), sampling, token_counts)

        # Outputs of a program of their own: equal constants would share a buffer, which cannot be donated twice.
        if mesh is None:
            return jax.jit(fresh)()
        return jax.jit(fresh, out_shardings=state_shardings(mesh, jax.eval_shape(fresh)))()


def state_shardings(mesh: Mesh, state: SlotState) -> SlotState:
    """Sharding on a mesh of each leaf of a state, or of its shapes."""

    def of_cache(axes: str, leaf: jax.ShapeDtypeStruct) -> NamedSharding:
        return array_sharding(mesh, leaf.shape, *map(LOGICAL.get, axes))

    columns = jax.tree.map(lambda leaf: array_sharding(mesh, leaf.shape), dataclasses.replace(state, cache=()))
    return dataclasses.replace(columns, cache=tuple(group.mapped(of_cache) for group in state.cache))


def kept_in_place(state: SlotState) -> SlotState:
    """The new state where the donated one was, else it could not take its memory."""

    def of_cache(axes: str, leaf: jax.Array) -> jax.Array:
        return constrain(leaf, *map(LOGICAL.get, axes))

    columns = jax.tree.map(constrain, dataclasses.replace(state, cache=()))
    return dataclasses.replace(columns, cache=tuple(group.mapped(of_cache) for group in state.cache))
