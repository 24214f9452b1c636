"""The decode engine's device side: slots with a live cache, and the functions that move them.

Axes: S slots, R rows of an extend batch, T new tokens of a row, M cache length, N decode steps, V vocabulary, L layers,
C tokens of a block, K key-value heads, H head dimension, P image tokens in the bank of pictures, X experts of a token,
A alternatives of a token.

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
from tars_jax.inference.drawing import Alternatives, Drawing, chances_of, draw
from tars_jax.model.cache import LOGICAL, Cache, Caches
from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import grouped_layers
from tars_jax.model.policy import Array, CacheAddress, Inputs, Parameters, forward
from tars_jax.model.quantisation import quantised_forward
from tars_jax.model.sharding import SERVING_RULES, array_sharding, constrain, parameter_shardings

BLOCK = 256  # tokens of a cache that travel to the host at a time


@flax.struct.dataclass
class SlotState:
    """What the device remembers of every slot. Positions are not the cache length: an image advances them less."""

    cache: Caches
    length: jax.Array  # [S] int32: tokens in the cache
    position: jax.Array  # [S] int32: rotary position of the next token
    last_token: jax.Array  # [S] int32: sampled, not yet in the cache
    budget: jax.Array  # [S] int32: tokens that the answer may still take; 0 is idle
    drawing: Drawing  # [S]
    said: jax.Array | None = None  # [S, V] int32: how often the answer holds each token, where penalties ask for that

    @property
    def columns(self) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, Drawing, jax.Array | None]:
        """All but the cache."""
        return self.length, self.position, self.last_token, self.budget, self.drawing, self.said

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
            drawing = jax.tree.map(jnp.asarray, Drawing.fresh(slots, biases))
            said = jnp.zeros((slots, config.vocabulary), jnp.int32) if penalties else None
            cache = Cache.empty(config, slots, length, groups)
            return SlotState(cache, zeros(), zeros(), zeros(), zeros(), drawing, said)

        # Outputs of a program of their own: equal constants would share a buffer, which cannot be donated twice.
        if mesh is None:
            return jax.jit(fresh)()
        return jax.jit(fresh, out_shardings=state_shardings(mesh, jax.eval_shape(fresh)))()


def state_shardings(mesh: Mesh, state: SlotState) -> SlotState:
    """Where each leaf of a state, or of its shapes, lies on a mesh."""

    def of_cache(axes: str, leaf: jax.ShapeDtypeStruct) -> NamedSharding:
        return array_sharding(mesh, leaf.shape, *map(LOGICAL.get, axes))

    columns = jax.tree.map(lambda leaf: array_sharding(mesh, leaf.shape), dataclasses.replace(state, cache=()))
    return dataclasses.replace(columns, cache=tuple(group.mapped(of_cache) for group in state.cache))


def _in_place(state: SlotState) -> SlotState:
    """The new state where the donated one was, else it could not take its memory."""

    def of_cache(axes: str, leaf: jax.Array) -> jax.Array:
        return constrain(leaf, *map(LOGICAL.get, axes))

    columns = jax.tree.map(constrain, dataclasses.replace(state, cache=()))
    return dataclasses.replace(columns, cache=tuple(group.mapped(of_cache) for group in state.cache))


@flax.struct.dataclass
class Extension:
    """New tokens for some slots. Padding rows name slot S, padding tokens are written at M: both are dropped.

    S rows are those of each slot in its place, or padding: the cache is then read where it lies. Fewer may come in any
    order: their part of it is gathered, on a mesh from whatever device has it.
    """

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

    tokens: jax.Array  # [R] or [R, N] int32
    log_probs: jax.Array  # [R] or [R, N] float32
    likeliest: Alternatives | None = None  # [R, A] or [R, N, A]
    routes: jax.Array | None = None  # [R, T, L, X] or [R, N, L, X] int16: experts of the tokens that were gone through


@dataclasses.dataclass(frozen=True)
class SlotFunctions:
    """The jitted functions of one engine. Without constraints, nothing of them is in the programs."""

    extend: Callable[[Parameters, SlotState, Extension, Constraints | None], tuple[SlotState, Drawn]]
    decode: Callable[[Parameters, SlotState, Array, Constraints | None], tuple[SlotState, Drawn]]


@functools.cache
def make_slot_functions(
    config: ModelConfig,
    *,
    stop: int,
    chunk: int,
    base_seed: int,
    quantised: bool = False,
    record_routes: bool = False,
    alternatives: int = 0,
) -> SlotFunctions:
    """The engine's functions for one model; equal engines share them, and what has been compiled.

    `decode` takes the slots whose answers go on, int32 [R]: S of them, each in its place, or fewer in any order, with S
    for a row that is padding. The answers of all others end, for good.

    Args:
        stop: the token that ends an answer.
        chunk: decode steps in one call, at most.
        base_seed: of all random streams.
        quantised: the parameters are those of `tars_jax.model.quantisation.quantise`.
        record_routes: experts come back with the tokens.
        alternatives: so many of the likeliest tokens come back with each, where anybody asks.
    """
    run_policy = quantised_forward if quantised else forward
    policy = dataclasses.replace(config, scalar_head=False, vocabulary_head=True)
    # One token of each slot is less than the kernels of a layer, whoever travels where whole windows are read.
    stepping = dataclasses.replace(policy, execution=dataclasses.replace(policy.execution, travel="tokens"))

    @functools.partial(jax.jit, donate_argnums=1)
    def extend(
        parameters: Parameters, state: SlotState, new: Extension, constraints: Constraints | None = None
    ) -> tuple[SlotState, Drawn]:
        in_place = new.slots.shape == state.length.shape
        address = CacheAddress(new.write_at, None if in_place else new.slots, new.last)
        output = run_policy(policy, _policy_only(parameters), new.inputs, state.cache, address)
        chances = chances_of(new.drawing, 1, base_seed)[:, 0]
        tokens, log_probs, following, likeliest = draw(
            output.logits[:, 0], new.drawing, chances, new.budget, constraints, alternatives
        )

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
            said=None
            if state.said is None
            else put(state.said, jax.nn.one_hot(tokens, config.vocabulary, dtype=jnp.int32)),
        )
        routes = jnp.moveaxis(output.routers.routes, 0, 2) if record_routes else None
        return _in_place(state), Drawn(tokens, log_probs, likeliest, routes)

    @functools.partial(jax.jit, donate_argnums=1)
    def decode(
        parameters: Parameters, state: SlotState, slots: Array, constraints: Constraints | None = None
    ) -> tuple[SlotState, Drawn]:
        num_slots, cache_length, rows = state.length.shape[0], state.cache[0].length, slots.shape[0]
        # With all slots in their order, the cache is read where it lies; else the rows' part of it is gathered.
        address = functools.partial(CacheAddress, slots=None if rows == num_slots else slots)

        def unfinished(carry: tuple[jax.Array, SlotState, Drawn]) -> jax.Array:
            step, mine, _ = carry
            return (step < chunk) & (mine.budget > 0).any()

        def step_once(carry: tuple[jax.Array, SlotState, Drawn]) -> tuple[jax.Array, SlotState, Drawn]:
            step, mine, record = carry
            active = mine.budget > 0
            inputs = Inputs(
                tokens=mine.last_token[:, None],
                positions=jnp.broadcast_to(mine.position[None, :, None], (3, rows, 1)),
                segments=active[:, None].astype(jnp.int32),
                images=jnp.zeros((rows, 0, 1, 1, 3), jnp.uint8),
                image_tokens=jnp.full((rows, 1), -1, jnp.int32),
            )
            write_at = jnp.where(active, mine.length, cache_length)[:, None]
            output = run_policy(stepping, _policy_only(parameters), inputs, mine.cache, address(write_at))
            tokens, log_probs, following, likeliest = draw(
                output.logits[:, 0], mine.drawing, chances[:, step], mine.budget, constraints, alternatives, mine.said
            )
            one = active.astype(jnp.int32)
            record = Drawn(
                record.tokens.at[:, step].set(jnp.where(active, tokens, -1)),
                record.log_probs.at[:, step].set(jnp.where(active, log_probs, 0.0)),
                jax.tree.map(lambda all, now: all.at[:, step].set(now), record.likeliest, likeliest),
                None
                if record.routes is None
                else record.routes.at[:, step].set(jnp.moveaxis(output.routers.routes[:, :, 0], 0, 1)),
            )
            mine = SlotState(
                cache=output.cache,
                length=mine.length + one,
                position=mine.position + one,
                last_token=jnp.where(active, tokens, mine.last_token),
                budget=jnp.where(tokens == stop, 0, mine.budget - one) * one,
                drawing=dataclasses.replace(
                    mine.drawing,
                    drawn=mine.drawing.drawn + one,
                    state=jnp.where(active, following, mine.drawing.state),
                ),
                said=None if mine.said is None else mine.said.at[jnp.arange(rows), tokens].add(one),
            )
            return step + 1, mine, record

        def of_rows(leaf: jax.Array) -> jax.Array:
            return jnp.take(leaf, slots, axis=0, mode="clip")

        mine = SlotState(state.cache, *jax.tree.map(of_rows, state.columns))
        mine = dataclasses.replace(mine, budget=jnp.where(slots < num_slots, mine.budget, 0))
        # What a row that is not decoded once asked for would sort the vocabulary for nobody.
        biases = 0 if mine.drawing.biases is None else mine.drawing.biases.tokens.shape[1]
        nobody = jax.tree.map(jnp.asarray, Drawing.fresh(rows, biases))

        def of_active(asked: jax.Array, rest: jax.Array) -> jax.Array:
            return jnp.where((mine.budget > 0).reshape(-1, *[1] * (asked.ndim - 1)), asked, rest)

        drawing = jax.tree.map(of_active, mine.drawing, nobody)
        chances = chances_of(drawing, chunk, base_seed)  # a row that goes on has drawn a token in each step before
        nowhere = jnp.full((rows, chunk, config.routed_layers, config.experts_per_token), -1, jnp.int16)
        none = jnp.zeros((rows, chunk, alternatives))
        empty = Drawn(
            jnp.full((rows, chunk), -1, jnp.int32),
            jnp.zeros((rows, chunk)),
            Alternatives(none.astype(jnp.int32), none) if alternatives else None,
            nowhere if record_routes else None,
        )
        start = jnp.int32(0), dataclasses.replace(mine, drawing=drawing), empty
        _, mine, record = jax.lax.while_loop(unfinished, step_once, start)

        def put(old: jax.Array, value: jax.Array) -> jax.Array:
            return old.at[slots].set(value, mode="drop")

        ended = dataclasses.replace(state, budget=jnp.zeros_like(state.budget))
        return _in_place(SlotState(mine.cache, *jax.tree.map(put, ended.columns, mine.columns))), record

    return SlotFunctions(extend, decode)


@functools.cache
def make_hold_fn(groups: tuple[int, ...], mesh: Mesh | None) -> Callable[[Parameters], Parameters]:
    """Jitted: a copy of a learner's parameters, with the layers in groups like the cache's.

    On a mesh it lies where SERVING_RULES say.
    """

    @jax.jit
    def hold(parameters: Parameters) -> Parameters:
        held = grouped_layers(jax.tree.map(jnp.copy, parameters), groups)
        if mesh is None:
            return held
        where = parameter_shardings(mesh, held, SERVING_RULES)
        placed: Parameters = jax.lax.with_sharding_constraint(held, where)
        return placed

    return hold


def _policy_only(parameters: Parameters) -> dict[str, Any]:
    """The parameters without a value head, which decoding never reads."""
    return {name: value for name, value in parameters.items() if name != "scalar_head"}


def _slot(leaf: jax.Array, slot: Array) -> jax.Array:
    """[L, S, ...] to [L, 1, ...]. A slice would bring all slots of a mesh to every device; this, one."""
    return jnp.take(leaf, jnp.asarray(slot)[None], axis=1, mode="clip")


@functools.partial(jax.jit, donate_argnums=0)
def copy(state: SlotState, source: Array, target: Array) -> SlotState:
    """The cache of one slot in another, too; both are int32 []."""

    def doubled(leaf: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice_in_dim(leaf, _slot(leaf, source), target, axis=1)

    return _in_place(dataclasses.replace(state, cache=jax.tree.map(doubled, state.cache)))


@functools.partial(jax.jit, static_argnames="size")
def _take(cache: Caches, slot: Array, start: Array, size: int) -> Caches:
    def block(axes: str, leaf: jax.Array) -> jax.Array:
        # A slice of a length that lies over devices would bring all of it to each; this, the block.
        return jnp.take(_slot(leaf, slot), start + jnp.arange(size), axis=axes.index("M"), mode="clip")

    return tuple(group.mapped(block) for group in cache)


@functools.partial(jax.jit, donate_argnums=0)
def _put(state: SlotState, block: Caches, slot: Array, start: Array) -> SlotState:
    def written(axes: str, leaf: jax.Array, part: jax.Array) -> jax.Array:
        at = {"S": slot, "M": start}
        return jax.lax.dynamic_update_slice(leaf, part, [at.get(axis, jnp.int32(0)) for axis in axes])

    cache = tuple(group.mapped(written, part) for group, part in zip(state.cache, block, strict=True))
    return _in_place(dataclasses.replace(state, cache=cache))


def take(state: SlotState, slot: int, length: int) -> list[Caches]:
    """The first `length` tokens of a slot's cache in host memory: blocks of C tokens for each group.

    They end where the cache ends. All blocks are of one size, so that nothing is compiled for a length.
    """
    blocks = [_take(state.cache, slot, start, size) for start, size in _blocks(state, length)]
    return jax.device_get(blocks)


def put(state: SlotState, slot: int, blocks: Sequence[Caches], length: int) -> SlotState:
    """Inverse of `take`, in any slot, for as many tokens or fewer. The state is donated."""
    for block, (start, _) in zip(blocks, _blocks(state, length), strict=False):
        state = _put(state, block, slot, start)
    return state


def _blocks(state: SlotState, length: int) -> list[tuple[int, int]]:
    """First token and size of each block; the last one may overlap the one before."""
    whole = state.cache[0].length
    size = min(BLOCK, whole)
    return [(min(start, whole - size), size) for start in range(0, length, size)]
