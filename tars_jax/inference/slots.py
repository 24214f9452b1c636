"""The decode engine's device side: slots with a live cache, and the two functions that move them.

Axes: S slots, R rows of an extend batch, T new tokens of a row, M cache length, N decode steps, V vocabulary.

A trajectory owns one slot. `extend` reads its first prompt and every later observation alike and samples the first
token of the answer; `decode` goes on for all slots at once until each has stopped. The state is donated: the cache is
updated in place, never copied.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding

from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import Cache
from tars_jax.model.policy import Array, CacheAddress, Inputs, Parameters, forward
from tars_jax.model.quantisation import quantised_forward
from tars_jax.model.sharding import array_sharding, constrain


@flax.struct.dataclass
class SlotState:
    """What the engine remembers of every slot. Positions are not the cache length: an image advances them less."""

    cache: Cache
    length: jax.Array  # [S] int32: tokens in the cache
    position: jax.Array  # [S] int32: rotary position of the next token
    last_token: jax.Array  # [S] int32: sampled, not yet in the cache
    budget: jax.Array  # [S] int32: tokens that the answer may still take; 0 is idle
    seed: jax.Array  # [S] uint32: of the slot's own random stream
    drawn: jax.Array  # [S] int32: tokens drawn from that stream

    @staticmethod
    def empty(config: ModelConfig, slots: int, length: int, mesh: Mesh | None = None) -> SlotState:
        """All slots idle. On a mesh slots lie over the batch's axes and heads over `tensor`, never whole anywhere."""

        def zeros() -> jax.Array:
            return jnp.zeros(slots, jnp.int32)

        def fresh() -> SlotState:
            cache = Cache.empty(config, slots, length)
            return SlotState(cache, zeros(), zeros(), zeros(), zeros(), jnp.zeros(slots, jnp.uint32), zeros())

        if mesh is None:
            return fresh()
        return jax.jit(fresh, out_shardings=_shardings(mesh, jax.eval_shape(fresh)))()


CACHE_AXES = ("layers", "batch", None, "heads", None)


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
    budget: Array  # [R] int32: tokens that the answer may take
    seed: Array  # [R] uint32
    drawn: Array  # [R] int32


class Drawn(NamedTuple):
    """Sampled tokens with their log-probabilities; token -1 where a slot was idle."""

    tokens: jax.Array  # [R] or [S, N] int32
    log_probs: jax.Array  # [R] or [S, N] float32


@dataclasses.dataclass(frozen=True)
class SlotFunctions:
    """The jitted functions of one engine."""

    extend: Callable[[Parameters, SlotState, Extension], tuple[SlotState, Drawn]]
    decode: Callable[[Parameters, SlotState], tuple[SlotState, Drawn]]


@functools.cache
def make_slot_functions(
    config: ModelConfig, *, stop: int, temperature: float, chunk: int, base_seed: int, quantised: bool = False
) -> SlotFunctions:
    """The engine's functions for one model; equal engines share them, and what has been compiled.

    Args:
        stop: the token that ends an answer.
        temperature: of sampling; log-probabilities are those of the tempered distribution.
        chunk: decode steps in one call, at most.
        base_seed: of all random streams.
        quantised: the parameters are those of `tars_jax.model.quantisation.quantise`.
    """
    run_policy = quantised_forward if quantised else forward
    policy = dataclasses.replace(config, scalar_head=False, vocabulary_head=True)

    def draw(logits: jax.Array, seed: jax.Array, drawn: jax.Array) -> tuple[jax.Array, jax.Array]:
        """One token of each row of [R, V], from the row's own stream: the same whatever else is in the batch."""

        def one(logits: jax.Array, seed: jax.Array, drawn: jax.Array) -> tuple[jax.Array, jax.Array]:
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(base_seed), seed), drawn)
            log_probs = jax.nn.log_softmax(logits / temperature)
            token = jax.random.categorical(key, log_probs)
            return token.astype(jnp.int32), log_probs[token]

        return jax.vmap(one)(logits, seed, drawn)

    @functools.partial(jax.jit, donate_argnums=1)
    def extend(parameters: Parameters, state: SlotState, new: Extension) -> tuple[SlotState, Drawn]:
        address = CacheAddress(new.write_at, new.slots)
        output = run_policy(policy, _policy_only(parameters), new.inputs, state.cache, address)
        logits = jnp.take_along_axis(output.logits, new.last[:, None, None], axis=1)[:, 0]
        tokens, log_probs = draw(logits, new.seed, new.drawn)

        def put(old: jax.Array, value: jax.Array) -> jax.Array:
            return old.at[new.slots].set(value, mode="drop")

        state = SlotState(
            cache=output.cache,
            length=put(state.length, new.length),
            position=put(state.position, new.position),
            last_token=put(state.last_token, tokens),
            budget=put(state.budget, jnp.where(tokens == stop, 0, new.budget - 1)),
            seed=put(state.seed, new.seed),
            drawn=put(state.drawn, new.drawn + 1),
        )
        return _in_place(state), Drawn(tokens, log_probs)

    @functools.partial(jax.jit, donate_argnums=1)
    def decode(parameters: Parameters, state: SlotState) -> tuple[SlotState, Drawn]:
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
            tokens, log_probs = draw(output.logits[:, 0], state.seed, state.drawn)
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
                seed=state.seed,
                drawn=state.drawn + one,
            )
            return step + 1, state, record

        empty = Drawn(jnp.full((num_slots, chunk), -1, jnp.int32), jnp.zeros((num_slots, chunk)))
        _, state, record = jax.lax.while_loop(unfinished, step_once, (jnp.int32(0), state, empty))
        return _in_place(state), record

    return SlotFunctions(extend, decode)


def _policy_only(parameters: Parameters) -> dict[str, Any]:
    """The parameters without a value head, which decoding never reads."""
    return {name: value for name, value in parameters.items() if name != "scalar_head"}
