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
from typing import NamedTuple

import flax.struct
import jax
import jax.numpy as jnp

from tars_jax.inference.constraint import Constraints
from tars_jax.inference.sampling_state import SamplingState, TopLogprobs, sample, uniforms_for
from tars_jax.inference.slot_state import SlotState, kept_in_place
from tars_jax.model.cache import Caches
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Array, CacheAddress, Inputs, Output, Parameters, forward
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
    """The engine's functions for one model; equal engines share them, and what has been compiled. The state is donated.

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
    program = SlotProgram(config, stop, chunk, base_seed, quantized, record_routes, top_logprobs)
    return SlotFunctions(jax.jit(program.prefill, donate_argnums=1), jax.jit(program.decode, donate_argnums=1))


@dataclasses.dataclass(frozen=True)
class SlotProgram:
    """Arguments of `make_slot_functions`, which jits the program."""

    config: ModelConfig
    stop: int
    chunk: int
    base_seed: int
    quantized: bool
    record_routes: bool
    top_logprobs: int

    def prefill(
        self, parameters: Parameters, state: SlotState, new: Prefill, constraints: Constraints | None = None
    ) -> tuple[SlotState, Drawn]:
        """Reads new tokens into slots, and samples the first token of each answer."""
        in_place = new.slots.shape == state.length.shape
        address = CacheAddress(new.write_at, None if in_place else new.slots, new.last)
        output = self._forward(parameters, new.inputs, state.cache, address)
        uniforms = uniforms_for(new.sampling, 1, self.base_seed)[:, 0]
        tokens, log_probs, following, likeliest = sample(
            output.logits[:, 0], new.sampling, uniforms, new.budget, constraints, self.top_logprobs
        )

        # The cache keeps 0 of a token that overflows, so that what comes after it would not tell.
        read_well = (jnp.isfinite(output.hidden).all(-1) | (new.inputs.segments == 0)).all(-1)
        log_probs = jnp.where(read_well, log_probs, jnp.nan)

        def put(old: jax.Array, value: jax.Array) -> jax.Array:
            return old.at[new.slots].set(value, mode="drop")

        sampling = dataclasses.replace(new.sampling, drawn=new.sampling.drawn + 1, state=following)
        counts = state.token_counts
        if counts is not None:
            counts = put(counts, jax.nn.one_hot(tokens, self.config.vocabulary, dtype=jnp.int32))
        state = SlotState(
            cache=output.cache,
            length=put(state.length, new.length),
            position=put(state.position, new.position),
            last_token=put(state.last_token, tokens),
            budget=put(state.budget, jnp.where(tokens == self.stop, 0, jnp.maximum(new.budget - 1, 0))),
            sampling=jax.tree.map(put, state.sampling, sampling),
            token_counts=counts,
        )
        routes = jnp.moveaxis(output.routers.routes, 0, 2) if self.record_routes else None
        return kept_in_place(state), Drawn(tokens, log_probs, likeliest, routes)

    def decode(
        self, parameters: Parameters, state: SlotState, slots: Array, constraints: Constraints | None = None
    ) -> tuple[SlotState, Drawn]:
        """Continues the answers of `slots` by `chunk` tokens at most."""
        num_slots, rows = state.length.shape[0], slots.shape[0]
        mine = self._rows_of(state, slots)
        # A row that goes on has drawn a token in each step before.
        uniforms = uniforms_for(mine.sampling, self.chunk, self.base_seed)

        def unfinished(carry: tuple[jax.Array, SlotState, Drawn]) -> jax.Array:
            step, mine, _ = carry
            return (step < self.chunk) & (mine.budget > 0).any()

        def step_once(carry: tuple[jax.Array, SlotState, Drawn]) -> tuple[jax.Array, SlotState, Drawn]:
            step, mine, record = carry
            # With all slots in their order, the cache is read where it lies; else the rows' part of it is gathered.
            gathered = None if rows == num_slots else slots
            mine, drawn = self._decode_token(parameters, mine, gathered, uniforms[:, step], constraints)
            return step + 1, mine, jax.tree.map(lambda all, now: all.at[:, step].set(now), record, drawn)

        _, mine, record = jax.lax.while_loop(unfinished, step_once, (jnp.int32(0), mine, self._empty_record(rows)))

        def put(old: jax.Array, value: jax.Array) -> jax.Array:
            return old.at[slots].set(value, mode="drop")

        ended = dataclasses.replace(state, budget=jnp.zeros_like(state.budget))
        return kept_in_place(SlotState(mine.cache, *jax.tree.map(put, ended.columns, mine.columns))), record

    def _decode_token(
        self,
        parameters: Parameters,
        mine: SlotState,
        slots: Array | None,
        uniforms: jax.Array,
        constraints: Constraints | None,
    ) -> tuple[SlotState, Drawn]:
        """The next token of each row whose budget is not used up. `slots`: of the rows in the cache, None in place."""
        rows, active = mine.length.shape[0], mine.budget > 0
        inputs = Inputs(
            tokens=mine.last_token[:, None],
            positions=jnp.broadcast_to(mine.position[None, :, None], (3, rows, 1)),
            segments=active[:, None].astype(jnp.int32),
            images=(),
            image_tokens=jnp.full((rows, 1), -1, jnp.int32),
        )
        write_at = jnp.where(active, mine.length, mine.cache[0].length)[:, None]
        output = self._forward(parameters, inputs, mine.cache, CacheAddress(write_at, slots), one_token=True)
        tokens, log_probs, following, likeliest = sample(
            output.logits[:, 0],
            mine.sampling,
            uniforms,
            mine.budget,
            constraints,
            self.top_logprobs,
            mine.token_counts,
        )
        one = active.astype(jnp.int32)
        routes = jnp.moveaxis(output.routers.routes[:, :, 0], 0, 1) if self.record_routes else None
        drawn = Drawn(jnp.where(active, tokens, -1), jnp.where(active, log_probs, 0.0), likeliest, routes)
        state = jnp.where(active, following, mine.sampling.state)
        counts = mine.token_counts
        mine = SlotState(
            cache=output.cache,
            length=mine.length + one,
            position=mine.position + one,
            last_token=jnp.where(active, tokens, mine.last_token),
            budget=jnp.where(tokens == self.stop, 0, mine.budget - one) * one,
            sampling=dataclasses.replace(mine.sampling, drawn=mine.sampling.drawn + one, state=state),
            token_counts=None if counts is None else counts.at[jnp.arange(rows), tokens].add(one),
        )
        return mine, drawn

    def _rows_of(self, state: SlotState, slots: Array) -> SlotState:
        """The columns of `slots`, with the whole cache. What a row that is not decoded once asked for would sort the
        vocabulary for nobody: it asks for nothing."""
        num_slots, rows = state.length.shape[0], slots.shape[0]

        def of_rows(leaf: jax.Array) -> jax.Array:
            return jnp.take(leaf, slots, axis=0, mode="clip")

        mine = SlotState(state.cache, *jax.tree.map(of_rows, state.columns))
        budget = jnp.where(slots < num_slots, mine.budget, 0)
        biases = 0 if mine.sampling.biases is None else mine.sampling.biases.tokens.shape[1]
        nobody = jax.tree.map(jnp.asarray, SamplingState.fresh(rows, biases))

        def of_active(asked: jax.Array, rest: jax.Array) -> jax.Array:
            return jnp.where((budget > 0).reshape(-1, *[1] * (asked.ndim - 1)), asked, rest)

        return dataclasses.replace(mine, budget=budget, sampling=jax.tree.map(of_active, mine.sampling, nobody))

    def _empty_record(self, rows: int) -> Drawn:
        """An empty record [R, chunk]."""
        config, none = self.config, jnp.zeros((rows, self.chunk, self.top_logprobs))
        nowhere = jnp.full((rows, self.chunk, config.routed_layers, config.experts_per_token), -1, jnp.int16)
        return Drawn(
            jnp.full((rows, self.chunk), -1, jnp.int32),
            jnp.zeros((rows, self.chunk)),
            TopLogprobs(none.astype(jnp.int32), none) if self.top_logprobs else None,
            nowhere if self.record_routes else None,
        )

    def _forward(
        self, parameters: Parameters, inputs: Inputs, cache: Caches, address: CacheAddress, *, one_token: bool = False
    ) -> Output:
        """The policy without a value head, which sampling never reads."""
        policy = dataclasses.replace(self.config, scalar_head=False, vocabulary_head=True)
        if one_token:
            # One token of each slot is less than the kernels of a layer, whoever travels where whole windows are read.
            execution = dataclasses.replace(policy.execution, expert_communication="all_to_all")
            policy = dataclasses.replace(policy, execution=execution)
        parameters = {name: value for name, value in parameters.items() if name != "scalar_head"}
        return (quantized_forward if self.quantized else forward)(policy, parameters, inputs, cache, address)
