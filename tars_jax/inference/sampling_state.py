"""One token from the logits of each slot: tempered, constrained, truncated, with the log-probability it then had.

Axes: S slots (or rows of a batch), V vocabulary, N tokens of a row, B tokens that a request may bias.

The distribution of a slot is built in this order. Biases are added to the logits that they name. Penalties lower the
logits of what the answer holds already, by `frequency` for each time and by `presence` once. What a constraint forbids
has probability 0. Temperature divides the logits. `top_k` keeps the k likeliest, `top_p` the likeliest of those that
together reach p. What is left is renormalized: that is what a token is drawn from, and its log-probability is recorded
in fp32. At temperature 0 the likeliest token is taken; recorded is its log-probability at temperature 1, since that of
a certain choice says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.inference.constraint import FREE, Constraints
from tars_jax.inference.sampling import Sampling
from tars_jax.model.policy import NEVER, Array

NO_TOKEN = np.int32(np.iinfo(np.int32).max)  # beyond every vocabulary
GREEDY = 1e-5  # temperatures below it are 0: logits over them would soon be infinite


class Biases(NamedTuple):
    """Biases that are added to the logits of some tokens. [S, B] both."""

    tokens: Array  # int32; NO_TOKEN for none
    added: Array  # float32


@flax.struct.dataclass
class SamplingState:
    """State from which each slot draws its next token; all [S]."""

    seed: Array  # uint32: of a random stream
    drawn: Array  # int32: tokens drawn from it
    temperature: Array  # float32; greedy below GREEDY
    top_p: Array  # float32; 1 keeps all
    top_k: Array  # int32; 0 keeps all
    frequency: Array  # float32: penalty for each time that the answer holds a token
    presence: Array  # float32: penalty of each token that the answer holds
    state: Array  # int32: of the slot's constraint; FREE without one
    top_logprobs: Array  # int32: likeliest tokens that are asked for
    biases: Biases | None = None  # None: there are none, whoever asks

    @staticmethod
    def fresh(slots: int, biases: int = 0) -> SamplingState:
        """The state of slots without requests, with room for so many `biases`."""

        def full(value: float, kind: type[np.generic]) -> np.ndarray:
            return np.full(slots, value, kind)

        return SamplingState(
            seed=full(0, np.uint32),
            drawn=full(0, np.int32),
            temperature=full(1, np.float32),
            top_p=full(1, np.float32),
            top_k=full(0, np.int32),
            frequency=full(0, np.float32),
            presence=full(0, np.float32),
            state=full(FREE, np.int32),
            top_logprobs=full(0, np.int32),
            biases=Biases(np.full((slots, biases), NO_TOKEN), np.zeros((slots, biases), np.float32))
            if biases
            else None,
        )


class TopLogprobs(NamedTuple):
    """The likeliest tokens of the distribution that a token was drawn from, the likeliest first. [S, A] both."""

    tokens: jax.Array  # int32
    log_probs: jax.Array  # float32; -inf for one that could not come


class Draw(NamedTuple):
    """Tokens that were drawn; all [S]."""

    tokens: jax.Array  # int32
    log_probs: jax.Array  # float32
    state: jax.Array  # int32: of the constraint, after the token
    likeliest: TopLogprobs | None = None


def uniforms_for(sampling: SamplingState, count: int, base_seed: int) -> jax.Array:
    """Uniform random numbers [S, N, 2] in [0, 1) for the next N = `count` tokens of each stream.

    The random bits of one step take a processor as long as those of many, so `decode` asks for all of a chunk at once.
    """

    def one(seed: jax.Array, drawn: jax.Array) -> jax.Array:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(base_seed), seed), drawn)
        return jax.random.uniform(key, (2,))

    tokens = jnp.asarray(sampling.drawn)[:, None] + jnp.arange(count)
    return jax.vmap(jax.vmap(one, (None, 0)))(jnp.asarray(sampling.seed), tokens)


def sample(
    logits: jax.Array,
    sampling: SamplingState,
    uniforms: jax.Array,
    budget: jax.Array,
    constraints: Constraints | None,
    top_logprobs: int = 0,
    token_counts: jax.Array | None = None,
) -> Draw:
    """One token for each row of logits [S, V], from its own stream: the same whatever else is in the batch.

    Args:
        uniforms: [S, 2] of this token, from `uniforms_for`.
        budget: [S] tokens that the answer may still take, this one included; a constraint allows only what can still
            be completed within it.
        top_logprobs: of each row, found where any row asks for some; 0 finds none, whoever asks.
        token_counts: [S, V] how often each answer holds each token; None: there are no penalties, whoever asks.
    """
    following = sampling.state
    if sampling.biases is not None:
        logits = _biased(logits, sampling.biases)
    if token_counts is not None:
        logits = _penalize(logits, sampling, token_counts)
    if constraints is not None:
        logits = _constrain(logits, sampling.state, budget, constraints)
    greedy = sampling.temperature < GREEDY
    # What may never be drawn stays so at any temperature.
    scaled = jnp.where(logits <= NEVER, -jnp.inf, logits / jnp.where(greedy, 1.0, sampling.temperature)[:, None])
    truncated = (sampling.top_k > 0) | (sampling.top_p < 1)
    # The vocabulary is sorted only when somebody asks for it.
    scaled = jax.lax.cond(truncated.any(), _truncate, lambda scaled, *_: scaled, scaled, sampling.top_k, sampling.top_p)
    log_probs = jax.nn.log_softmax(scaled)
    tokens = sample_categorical(jnp.exp(log_probs), uniforms)

    def with_greedy(tokens: jax.Array) -> jax.Array:
        return jnp.where(greedy, jnp.argmax(log_probs, axis=-1).astype(jnp.int32), tokens)

    tokens = jax.lax.cond(greedy.any(), with_greedy, lambda tokens: tokens, tokens)
    if constraints is not None:
        following = jax.vmap(constraints.after)(sampling.state, tokens)
    likeliest = _likeliest(log_probs, sampling.top_logprobs, top_logprobs) if top_logprobs else None
    return Draw(tokens, jnp.take_along_axis(log_probs, tokens[:, None], axis=1)[:, 0], following, likeliest)


def sample_categorical(probabilities: jax.Array, uniforms: jax.Array) -> jax.Array:
    """A token of each row of [S, V] by two uniform numbers [S, 2]: a block of the vocabulary, then one of its tokens.

    Two random numbers a token where Gumbel's way takes V, and V logarithms of each, a seventh of a processor's step.
    """
    rows, vocabulary = probabilities.shape
    size = max(math.isqrt(vocabulary), 1)
    blocks = jnp.pad(probabilities, ((0, 0), (0, -vocabulary % size))).reshape(rows, -1, size)
    block = _weighed(blocks.sum(-1), uniforms[:, 0])
    inside = jnp.take_along_axis(blocks, block[:, None, None], axis=1)[:, 0]
    return block * size + _weighed(inside, uniforms[:, 1])


def _weighed(weights: jax.Array, uniform: jax.Array) -> jax.Array:
    """The first index of each row of [S, N] whose sum of weights, up to and with it, is beyond `uniform` [S] of all.

    Never one of weight 0, whatever the rounding of sums says.
    """
    ends = jnp.cumsum(weights, axis=-1)
    place, possible = jnp.arange(weights.shape[-1], dtype=jnp.int32), weights > 0
    beyond = possible & (ends > uniform[:, None] * ends[:, -1:])
    last = jnp.where(possible, place, 0).max(-1)
    return jnp.where(beyond, place, last[:, None]).min(-1)


def _likeliest(log_probs: jax.Array, asked: jax.Array, count: int) -> TopLogprobs:
    """Like truncation, only when somebody asks for it; else rows of zeros."""

    def found(log_probs: jax.Array) -> TopLogprobs:
        values, tokens = jax.lax.top_k(log_probs, count)
        return TopLogprobs(tokens.astype(jnp.int32), values)

    def nothing(log_probs: jax.Array) -> TopLogprobs:
        shape = (log_probs.shape[0], count)
        return TopLogprobs(jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.float32))

    return jax.lax.cond((asked > 0).any(), found, nothing, log_probs)


def _biased(logits: jax.Array, biases: Biases) -> jax.Array:
    """Logits [S, V] with what is added to some; like truncation, only when somebody asks for it."""

    def added(logits: jax.Array) -> jax.Array:
        rows = jnp.arange(logits.shape[0])[:, None]
        return jnp.where(logits <= NEVER, logits, logits.at[rows, biases.tokens].add(biases.added, mode="drop"))

    return jax.lax.cond((biases.added != 0).any(), added, lambda logits: logits, logits)


def _penalize(logits: jax.Array, sampling: SamplingState, token_counts: jax.Array) -> jax.Array:
    """Logits [S, V] less what they are penalized by; like truncation, only when somebody asks for it."""

    def lowered(logits: jax.Array) -> jax.Array:
        penalty = sampling.frequency[:, None] * token_counts + sampling.presence[:, None] * (token_counts > 0)
        return jnp.where(logits <= NEVER, logits, logits - penalty)

    asked = (sampling.frequency != 0) | (sampling.presence != 0)
    return jax.lax.cond(asked.any(), lowered, lambda logits: logits, logits)


def _constrain(logits: jax.Array, state: jax.Array, budget: jax.Array, constraints: Constraints) -> jax.Array:
    """Logits [S, V] with NEVER at every token after which no answer could be complete within the budget."""

    def masked(logits: jax.Array) -> jax.Array:
        return jnp.where(jax.vmap(constraints.allowed)(state, budget), logits, NEVER)

    return jax.lax.cond((state != FREE).any(), masked, lambda logits: logits, logits)


def _truncate(scaled: jax.Array, top_k: jax.Array, top_p: jax.Array) -> jax.Array:
    """Logits [S, V] with -inf at all but the likeliest tokens. The first of equals come first, so k are k."""
    order = jnp.argsort(-scaled, axis=-1, stable=True)
    ranked = jnp.take_along_axis(scaled, order, axis=-1)
    rank = jnp.arange(scaled.shape[-1])
    ranked = jnp.where((top_k[:, None] == 0) | (rank < top_k[:, None]), ranked, -jnp.inf)
    probs = jax.nn.softmax(ranked)
    before = jnp.cumsum(probs, axis=-1) - probs
    # The likeliest stays whatever rounding says; so do all where nothing is to be left out.
    kept = (before < top_p[:, None]) | (rank == 0) | (top_p[:, None] >= 1)
    ranked = jnp.where(kept, ranked, -jnp.inf)
    return jnp.put_along_axis(scaled, order, ranked, axis=-1, inplace=False)


def rows_of(
    requests: Mapping[int, tuple[Sampling, int, int]], starts: Mapping[str, int], rows: int, biases: int = 0
) -> SamplingState:
    """The state of a padded batch, on the host: (what is asked, seed, drawn) by row, with room for so many `biases`."""
    sampling: Any = SamplingState.fresh(rows, biases)
    for row, (asked, seed, drawn) in requests.items():
        sampling.seed[row], sampling.drawn[row] = seed, drawn
        sampling.temperature[row], sampling.top_p[row], sampling.top_k[row] = (
            asked.temperature,
            asked.top_p,
            asked.top_k,
        )
        sampling.frequency[row], sampling.presence[row] = asked.frequency_penalty, asked.presence_penalty
        sampling.top_logprobs[row] = asked.top_logprobs
        for place, (token, added) in enumerate(asked.logit_bias):
            sampling.biases.tokens[row, place], sampling.biases.added[row, place] = token, added
        sampling.state[row] = FREE if asked.constraint is None else starts[asked.constraint]
    return sampling
