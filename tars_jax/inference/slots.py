"""The decode engine's device side: slots with a live cache, and the functions that move them.

Axes: S slots, R rows of an extend batch, T new tokens of a row, M cache length, N decode steps, V vocabulary, L layers,
C tokens of a block, K key-value heads, H head dimension, P image tokens in the bank of pictures.

A window lives in one slot. `extend` reads its first prompt and every later observation alike and samples the first
token of the answer; `decode` goes on for all slots at once until each has stopped. `copy` doubles a slot, `take` and
`put` carry it to the host and back, a block at a time. The state is donated: the cache is updated in place, never
copied.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding

from tars_jax.inference.constraint import Constraints
from tars_jax.inference.drawing import Drawing, draw
from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import Cache
from tars_jax.model.policy import Array, CacheAddress, Inputs, Parameters, forward
from tars_jax.model.quantisation import quantised_forward
from tars_jax.model.sharding import array_sharding, constrain

CACHE_AXES = ("layers", "batch", None, "heads", None)
BLOCK = 256  # tokens of a cache that travel to the host at a time


@flax.struct.dataclass
class SlotState:
    """What the device remembers of every slot. Positions are not the cache length: an image advances them less."""

    cache: Cache
    length: jax.Array  # [S] int32: tokens in the cache
    position: jax.Array  # [S] int32: rotary position of the next token
    last_token: jax.Array  # [S] int32: sampled, not yet in the cache
    budget: jax.Array  # [S] int32: tokens that the answer may still take; 0 is idle
    drawing: Drawing  # [S]

    @staticmethod
    def empty(config: ModelConfig, slots: int, length: int, mesh: Mesh | None = None) -> SlotState:
        """All slots idle. On a mesh slots lie over the batch's axes and heads over `tensor`, never whole anywhere."""

        def zeros() -> jax.Array:
            return jnp.zeros(slots, jnp.int32)

        def fresh() -> SlotState:
            drawing = jax.tree.map(jnp.asarray, Drawing.fresh(slots))
            return SlotState(Cache.empty(config, slots, length), zeros(), zeros(), zeros(), zeros(), drawing)

        # Outputs of a program of their own: equal constants would share a buffer, which cannot be donated twice.
        if mesh is None:
            return jax.jit(fresh)()
        return jax.jit(fresh, out_shardings=_shardings(mesh, jax.eval_shape(fresh)))()


def _shardings(mesh: Mesh, state: SlotState) -> SlotState:
    def leaf(shape: jax.ShapeDtypeStruct) -> NamedSharding:
        return array_sharding(mesh, shape.shape, *(CACHE_AXES if len(shape.shape) == len(CACHE_AXES) else ()))

    return jax.tree.map(leaf, state)


def _in_place(state: SlotState) -> SlotState:
    """The new state where the donated one was, else it could not take its memory."""
    return jax.tree.map(lambda leaf: constrain(leaf, *(CACHE_AXES if leaf.ndim == len(CACHE_AXES) else ())), state)


@flax.struct.dataclass
class Extension:
    """New tokens for some slots. Padding rows name slot S, padding tokens are written at M: both are dropped."""

    slots: Array  # [R] int32
    inputs: Inputs  # [R, T]
    write_at: Array  # [R, T] int32
    last: Array  # [R] int32: index of the row's last real token
    length: Array  # [R] int32: cache length afterwards
    position: Array  # [R] int32: rotary position of the next token
    budget: Array  # [R] int32: tokens that the answer may take; 0 only reads
    drawing: Drawing  # [R]


class Drawn(NamedTuple):
    """Sampled tokens with their log-probabilities; token -1 where a slot was idle."""

    tokens: jax.Array  # [R] or [S, N] int32
    log_probs: jax.Array  # [R] or [S, N] float32


@dataclasses.dataclass(frozen=True)
class SlotFunctions:
    """The jitted functions of one engine. Without constraints, nothing of them is in the programs."""

    extend: Callable[[Parameters, SlotState, Extension, Constraints | None], tuple[SlotState, Drawn]]
    decode: Callable[[Parameters, SlotState, Array, Constraints | None], tuple[SlotState, Drawn]]


@functools.cache
def make_slot_functions(
    config: ModelConfig, *, stop: int, chunk: int, base_seed: int, quantised: bool = False
) -> SlotFunctions:
    """The engine's functions for one model; equal engines share them, and what has been compiled.

    `decode` takes the slots [S] that are still wanted; the answers of all others end, for good.

    Args:
        stop: the token that ends an answer.
        chunk: decode steps in one call, at most.
        base_seed: of all random streams.
        quantised: the parameters are those of `tars_jax.model.quantisation.quantise`.
    """
    run_policy = quantised_forward if quantised else forward
    policy = dataclasses.replace(config, scalar_head=False, vocabulary_head=True)

    @functools.partial(jax.jit, donate_argnums=1)
    def extend(
        parameters: Parameters, state: SlotState, new: Extension, constraints: Constraints | None = None
    ) -> tuple[SlotState, Drawn]:
        address = CacheAddress(new.write_at, new.slots)
        output = run_policy(policy, _policy_only(parameters), new.inputs, state.cache, address)
        logits = jnp.take_along_axis(output.logits, new.last[:, None, None], axis=1)[:, 0]
        tokens, log_probs, following = draw(logits, new.drawing, new.budget, constraints, base_seed)

        def put(old: jax.Array, value: jax.Array) -> jax.Array:
            return old.at[new.slots].set(value, mode="drop")

        drawing = dataclasses.replace(new.drawing, drawn=new.drawing.drawn + 1, state=following)
        state = SlotState(
            cache=output.cache,
            length=put(state.length, new.length),
            position=put(state.position, new.position),
            last_token=put(state.last_token, tokens),
            budget=put(state.budget, jnp.where(tokens == stop, 0, jnp.maximum(new.budget - 1, 0))),
            drawing=jax.tree.map(put, state.drawing, drawing),
        )
        return _in_place(state), Drawn(tokens, log_probs)

    @functools.partial(jax.jit, donate_argnums=1)
    def decode(
        parameters: Parameters, state: SlotState, wanted: Array, constraints: Constraints | None = None
    ) -> tuple[SlotState, Drawn]:
        num_slots, cache_length = state.length.shape[0], state.cache.keys.shape[2]

        def unfinished(carry: tuple[jax.Array, SlotState, Drawn]) -> jax.Array:
            step, state, _ = carry
            return (step < chunk) & (state.budget > 0).any()

        def step_once(carry: tuple[jax.Array, SlotState, Drawn]) -> tuple[jax.Array, SlotState, Drawn]:
            step, state, record = carry
            active = state.budget > 0
            inputs = Inputs(
                tokens=state.last_token[:, None],
                positions=jnp.broadcast_to(state.position[None, :, None], (3, num_slots, 1)),
                segments=active[:, None].astype(jnp.int32),
                images=jnp.zeros((num_slots, 0, 1, 1, 3), jnp.uint8),
                image_tokens=jnp.full((num_slots, 1), -1, jnp.int32),
            )
            write_at = jnp.where(active, state.length, cache_length)[:, None]
            output = run_policy(policy, _policy_only(parameters), inputs, state.cache, CacheAddress(write_at))
            tokens, log_probs, following = draw(
                output.logits[:, 0], state.drawing, state.budget, constraints, base_seed
            )
            one = active.astype(jnp.int32)
            record = Drawn(
                record.tokens.at[:, step].set(jnp.where(active, tokens, -1)),
                record.log_probs.at[:, step].set(jnp.where(active, log_probs, 0.0)),
            )
            state = SlotState(
                cache=output.cache,
                length=state.length + one,
                position=state.position + one,
                last_token=jnp.where(active, tokens, state.last_token),
                budget=jnp.where(tokens == stop, 0, state.budget - one) * one,
                drawing=dataclasses.replace(
                    state.drawing,
                    drawn=state.drawing.drawn + one,
                    state=jnp.where(active, following, state.drawing.state),
                ),
            )
            return step + 1, state, record

        # What an idle slot asked for would sort the vocabulary for nobody.
        resting = jax.tree.map(jnp.asarray, Drawing.fresh(num_slots))
        answering = (state.budget > 0) & wanted
        resting = dataclasses.replace(resting, seed=state.drawing.seed, drawn=state.drawing.drawn)
        state = dataclasses.replace(
            state,
            budget=jnp.where(wanted, state.budget, 0),
            drawing=jax.tree.map(lambda mine, rest: jnp.where(answering, mine, rest), state.drawing, resting),
        )
        empty = Drawn(jnp.full((num_slots, chunk), -1, jnp.int32), jnp.zeros((num_slots, chunk)))
        _, state, record = jax.lax.while_loop(unfinished, step_once, (jnp.int32(0), state, empty))
        return _in_place(state), record

    return SlotFunctions(extend, decode)


def _policy_only(parameters: Parameters) -> dict[str, Any]:
    """The parameters without a value head, which decoding never reads."""
    return {name: value for name, value in parameters.items() if name != "scalar_head"}


@functools.partial(jax.jit, donate_argnums=0)
def copy(state: SlotState, source: Array, target: Array) -> SlotState:
    """The cache of one slot in another, too; both are int32 []."""

    def doubled(leaf: jax.Array) -> jax.Array:
        row = jax.lax.dynamic_index_in_dim(leaf, source, axis=1)
        return jax.lax.dynamic_update_slice_in_dim(leaf, row, target, axis=1)

    return _in_place(dataclasses.replace(state, cache=jax.tree.map(doubled, state.cache)))


@functools.partial(jax.jit, static_argnames="size")
def _take(cache: Cache, slot: Array, start: Array, size: int) -> Cache:
    def block(leaf: jax.Array) -> jax.Array:
        layers, _, _, heads, width = leaf.shape
        return jax.lax.dynamic_slice(leaf, (0, slot, start, 0, 0), (layers, 1, size, heads, width))[:, 0]

    return jax.tree.map(block, cache)


@functools.partial(jax.jit, donate_argnums=0)
def _put(state: SlotState, block: Cache, slot: Array, start: Array) -> SlotState:
    def written(leaf: jax.Array, part: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice(leaf, part[:, None], (0, slot, start, 0, 0))

    return _in_place(dataclasses.replace(state, cache=jax.tree.map(written, state.cache, block)))


def take(state: SlotState, slot: int, length: int) -> list[Cache]:
    """The first `length` tokens of a slot's cache in host memory: blocks [L, C, K, H], which end where the cache ends.

    All blocks are of one size, so that nothing is compiled for a length.
    """
    blocks = [_take(state.cache, slot, start, size) for start, size in _blocks(state, length)]
    return jax.device_get(blocks)


def put(state: SlotState, slot: int, blocks: Sequence[Cache], length: int) -> SlotState:
    """Inverse of `take`, in any slot, for as many tokens or fewer. The state is donated."""
    for block, (start, _) in zip(blocks, _blocks(state, length), strict=False):
        state = _put(state, block, slot, start)
    return state


def _blocks(state: SlotState, length: int) -> list[tuple[int, int]]:
    """First token and size of each block; the last one may overlap the one before."""
    whole = state.cache.keys.shape[2]
    size = min(BLOCK, whole)
    return [(min(start, whole - size), size) for start in range(0, length, size)]
