"""The decode engine's device side: the functions that read new tokens into slots and write answers.

Axes: S slots, R rows of a prefill batch, T new tokens of a row, M cache length, N decode steps, V vocabulary, L layers,
X experts of a token, A top_logprobs of a token.

`prefill` reads a window's first prompt and every later observation alike and samples the first token of the answer;
`decode` goes on for all slots at once until each has stopped.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.inference.constraint import Constraints
from tars_jax.inference.sampling_state import SamplingState, TopLogprobs, draw, uniforms_for
from tars_jax.inference.slot_state import SlotState, kept_in_place
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Array, CacheAddress, Inputs, Parameters, forward
from tars_jax.model.quantization import quantized_forward


@flax.struct.dataclass
class Prefill:
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
    sampling: SamplingState  # [R]


class Drawn(NamedTuple):
    """Sampled tokens with their log-probabilities; token -1 where a slot was idle."""

    tokens: jax.Array  # [R] or [R, N] int32
    log_probs: jax.Array  # [R] or [R, N] float32
    likeliest: TopLogprobs | None = None  # [R, A] or [R, N, A]
    routes: jax.Array | None = None  # [R, T, L, X] or [R, N, L, X] int16: experts of the tokens that were gone through


@dataclasses.dataclass(frozen=True)
class SlotFunctions:
    """The jitted functions of one engine. Without constraints, nothing of them is in the programs."""

    prefill: Callable[[Parameters, SlotState, Prefill, Constraints | None], tuple[SlotState, Drawn]]
    decode: Callable[[Parameters, SlotState, Array, Constraints | None], tuple[SlotState, Drawn]]


@functools.cache
def make_slot_functions(
    config: ModelConfig,
    *,
    stop: int,
    chunk: int,
    base_seed: int,
    quantized: bool = False,
    record_routes: bool = False,
    top_logprobs: int = 0,
) -> SlotFunctions:
    """The engine's functions for one model; equal engines share them, and what has been compiled.

    `decode` takes the slots whose answers go on, int32 [R]: S of them, each in its place, or fewer in any order, with S
    for a row that is padding. The answers of all others end, for good.

    Args:
        stop: the token that ends an answer.
        chunk: decode steps in one call, at most.
        base_seed: of all random streams.
        quantized: the parameters are those of `tars_jax.model.quantization.quantize`.
        record_routes: experts come back with the tokens.
        top_logprobs: so many of the likeliest tokens come back with each, where anybody asks.
    """
    run_policy = quantized_forward if quantized else forward
    policy = dataclasses.replace(config, scalar_head=False, vocabulary_head=True)
    # One token of each slot is less than the kernels of a layer, whoever travels where whole windows are read.
    execution = dataclasses.replace(policy.execution, expert_communication="all_to_all")
    stepping = dataclasses.replace(policy, execution=execution)

    @functools.partial(jax.jit, donate_argnums=1)
    def prefill(
        parameters: Parameters, state: SlotState, new: Prefill, constraints: Constraints | None = None
    ) -> tuple[SlotState, Drawn]:
        in_place = new.slots.shape == state.length.shape
        address = CacheAddress(new.write_at, None if in_place else new.slots, new.last)
        output = run_policy(policy, _policy_only(parameters), new.inputs, state.cache, address)
        uniforms = uniforms_for(new.sampling, 1, base_seed)[:, 0]
        tokens, log_probs, following, likeliest = draw(
            output.logits[:, 0], new.sampling, uniforms, new.budget, constraints, top_logprobs
        )

        # The cache keeps 0 of a token that overflows, so that what comes after it would not tell.
        read_well = (jnp.isfinite(output.hidden).all(-1) | (new.inputs.segments == 0)).all(-1)
        log_probs = jnp.where(read_well, log_probs, jnp.nan)

        def put(old: jax.Array, value: jax.Array) -> jax.Array:
            return old.at[new.slots].set(value, mode="drop")

        sampling = dataclasses.replace(new.sampling, drawn=new.sampling.drawn + 1, state=following)
        state = SlotState(
            cache=output.cache,
            length=put(state.length, new.length),
            position=put(state.position, new.position),
            last_token=put(state.last_token, tokens),
            budget=put(state.budget, jnp.where(tokens == stop, 0, jnp.maximum(new.budget - 1, 0))),
            sampling=jax.tree.map(put, state.sampling, sampling),
            token_counts=None
            if state.token_counts is None
            else put(state.token_counts, jax.nn.one_hot(tokens, config.vocabulary, dtype=jnp.int32)),
        )
        routes = jnp.moveaxis(output.routers.routes, 0, 2) if record_routes else None
        return kept_in_place(state), Drawn(tokens, log_probs, likeliest, routes)

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
                images=(),
                image_tokens=jnp.full((rows, 1), -1, jnp.int32),
            )
            write_at = jnp.where(active, mine.length, cache_length)[:, None]
            output = run_policy(stepping, _policy_only(parameters), inputs, mine.cache, address(write_at))
            tokens, log_probs, following, likeliest = draw(
                output.logits[:, 0],
                mine.sampling,
                uniforms[:, step],
                mine.budget,
                constraints,
                top_logprobs,
                mine.token_counts,
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
                sampling=dataclasses.replace(
                    mine.sampling,
                    drawn=mine.sampling.drawn + one,
                    state=jnp.where(active, following, mine.sampling.state),
                ),
                token_counts=None
                if mine.token_counts is None
                else mine.token_counts.at[jnp.arange(rows), tokens].add(one),
            )
            return step + 1, mine, record

        def of_rows(leaf: jax.Array) -> jax.Array:
            return jnp.take(leaf, slots, axis=0, mode="clip")

        mine = SlotState(state.cache, *jax.tree.map(of_rows, state.columns))
        mine = dataclasses.replace(mine, budget=jnp.where(slots < num_slots, mine.budget, 0))
        # What a row that is not decoded once asked for would sort the vocabulary for nobody.
        biases = 0 if mine.sampling.biases is None else mine.sampling.biases.tokens.shape[1]
        nobody = jax.tree.map(jnp.asarray, SamplingState.fresh(rows, biases))

        def of_active(asked: jax.Array, rest: jax.Array) -> jax.Array:
            return jnp.where((mine.budget > 0).reshape(-1, *[1] * (asked.ndim - 1)), asked, rest)

        sampling = jax.tree.map(of_active, mine.sampling, nobody)
        uniforms = uniforms_for(sampling, chunk, base_seed)  # a row that goes on has drawn a token in each step before
        nowhere = jnp.full((rows, chunk, config.routed_layers, config.experts_per_token), -1, jnp.int16)
        none = jnp.zeros((rows, chunk, top_logprobs))
        empty = Drawn(
            jnp.full((rows, chunk), -1, jnp.int32),
            jnp.zeros((rows, chunk)),
            TopLogprobs(none.astype(jnp.int32), none) if top_logprobs else None,
            nowhere if record_routes else None,
        )
        start = jnp.int32(0), dataclasses.replace(mine, sampling=sampling), empty
        _, mine, record = jax.lax.while_loop(unfinished, step_once, start)

        def put(old: jax.Array, value: jax.Array) -> jax.Array:
            return old.at[slots].set(value, mode="drop")

        ended = dataclasses.replace(state, budget=jnp.zeros_like(state.budget))
        return kept_in_place(SlotState(mine.cache, *jax.tree.map(put, ended.columns, mine.columns))), record

    return SlotFunctions(prefill, decode)


def _policy_only(parameters: Parameters) -> dict[str, Any]:
    """The parameters without a value head, which decoding never reads."""
    return {name: value for name, value in parameters.items() if name != "scalar_head"}
