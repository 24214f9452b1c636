"""Log-probabilities of sampled tokens, a piece of the rows at a time: logits [B, T, V] never exist.

Axes: B rows, T tokens, P pieces, C tokens of a row in one piece, D width, V vocabulary.

Most tokens of a window were read, not sampled. So each row moves its sampled tokens to its front, and there are as many
rounds as the fullest row has pieces, forwards and backwards. Rows stay where they are: nothing moves between the
devices that hold them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import NEVER, Parameters, vocabulary_logits
from tars_jax.model.sharding import constrain
from tars_jax.rl import entropy
from tars_jax.training.constrained import Allowed


class TokenStatistics(NamedTuple):
    """Statistics of the distribution that each token was drawn from, which was read one token earlier; 0 where not
    wanted."""

    log_probs: jax.Array  # [B, T] fp32, of the token itself
    entropies: jax.Array  # [B, T] fp32, in nats
    likeliest: jax.Array  # [B, T] fp32, 1 where no token was more likely


def headless(model: ModelConfig) -> ModelConfig:
    """The model as far as its hidden states, and its values if it has a scalar head."""
    return dataclasses.replace(model, vocabulary_head=False)


def token_statistics(
    model: ModelConfig,
    parameters: Parameters,
    hidden: jax.Array,
    tokens: jax.Array,
    wanted: jax.Array,
    allowed: Allowed | None = None,
) -> TokenStatistics:
    """The head on the hidden state before each wanted token; gradients flow to `parameters` and `hidden`.

    Args:
        hidden: [B, T, D] after the last norm.
        tokens: [B, T] int32.
        wanted: [B, T] bool. The first token of a row has nothing before it and is never wanted.
        allowed: by the constraint under which they were sampled; None: each was drawn from all tokens.

    Logits of `model.execution.head_chunk` = C tokens of each row are held at a time, B * C * V * 4 bytes on all devices
    together; they are computed again going backwards.
    """
    length = tokens.shape[1]
    chunk = min(model.execution.head_chunk, length)
    pieces = -(-length // chunk)
    wanted = jnp.asarray(wanted) & (jnp.arange(length) > 0)
    order = jnp.argsort(~wanted, axis=1, stable=True)

    def cut(x: jax.Array, places: jax.Array) -> jax.Array:
        """[B, T, ...] in the new order, as [P, B, C, ...]."""
        moved = jnp.take_along_axis(x, places.reshape(*places.shape, *[1] * (x.ndim - 2)), axis=1)
        padding = [(0, 0), (0, pieces * chunk - length), *[(0, 0)] * (x.ndim - 2)]
        return jnp.moveaxis(jnp.pad(moved, padding).reshape(-1, pieces, chunk, *x.shape[2:]), 1, 0)

    # Alone: whatever else were handed over would get a gradient of zeros in every round.
    name = "embed" if model.tied_embeddings else "vocabulary_head"
    head: Parameters = {name: parameters[name]}
    if allowed is not None:
        allowed = Allowed(allowed.automaton, cut(allowed.states, order), cut(allowed.budgets, order))
    columns = _Columns(cut(tokens, order), cut(wanted, order), allowed)
    rounds = -(-wanted.sum(1).max() // chunk)
    found = _read_all(model, head, cut(hidden, jnp.maximum(order - 1, 0)), columns, rounds)
    in_order = jnp.moveaxis(found, 0, 2).reshape(len(TokenStatistics._fields), -1, pieces * chunk)
    return TokenStatistics(*(jnp.take_along_axis(each, jnp.argsort(order, axis=1), axis=1) for each in in_order))


class _Columns(NamedTuple):
    """Statistics of the tokens of all pieces, or of one."""

    tokens: jax.Array  # [P, B, C] or [B, C] int32
    wanted: jax.Array  # [P, B, C] or [B, C] bool
    allowed: Allowed | None  # its states and budgets are [P, B, C] or [B, C]

    def of(self, number: jax.Array) -> _Columns:
        allowed = self.allowed
        if allowed is not None:
            allowed = Allowed(allowed.automaton, allowed.states[number], allowed.budgets[number])
        return _Columns(self.tokens[number], self.wanted[number], allowed)


def _read(model: ModelConfig, head: Parameters, states: jax.Array, columns: _Columns) -> jax.Array:
    """One piece, [B, C, D] to [3, B, C]: the fields of `TokenStatistics`."""
    logits = constrain(vocabulary_logits(model, head, states), "batch", None, "vocabulary")
    own = jnp.take_along_axis(logits, columns.tokens[..., None], axis=-1)[..., 0]
    if columns.allowed is not None:
        logits = jnp.where(columns.allowed.mask(), logits, NEVER)
    log_probs = own - jax.nn.logsumexp(logits, axis=-1)
    likeliest = (own >= logits.max(-1)).astype(jnp.float32)
    entropies = jax.vmap(entropy)(logits, columns.wanted)
    return jnp.where(columns.wanted, jnp.stack([log_probs, entropies, likeliest]), 0.0)


# With a rule of its own: a loop whose rounds are counted when it runs has no derivative, and one over all pieces that
# skips the empty ones adds a gradient of zeros, as large as the head, for each of them.
@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _read_all(
    model: ModelConfig, head: Parameters, states: jax.Array, columns: _Columns, rounds: jax.Array
) -> jax.Array:
    """The first pieces of states [P, B, C, D], the others are 0: [P, 3, B, C]."""

    def one(number: jax.Array, found: jax.Array) -> jax.Array:
        return found.at[number].set(_read(model, head, states[number], columns.of(number)))

    pieces, rows, chunk = columns.tokens.shape
    nothing = jnp.zeros((pieces, len(TokenStatistics._fields), rows, chunk), jnp.float32)
    return jax.lax.fori_loop(0, rounds, one, nothing)


def _read_all_forward(model: ModelConfig, *arguments: Any) -> tuple[jax.Array, Any]:
    return _read_all(model, *arguments), arguments


def _read_all_backward(model: ModelConfig, arguments: Any, gradient: jax.Array) -> tuple[Any, ...]:
    head, states, columns, rounds = arguments

    def one(number: jax.Array, sums: tuple[Parameters, jax.Array]) -> tuple[Parameters, jax.Array]:
        of_head, of_states = sums

        def read(head: Parameters, states: jax.Array) -> jax.Array:
            return _read(model, head, states, columns.of(number))

        more, piece = jax.vjp(read, head, states[number])[1](gradient[number])
        return jax.tree.map(jnp.add, of_head, more), of_states.at[number].set(piece)

    nothing = jax.tree.map(jnp.zeros_like, (head, states))
    return *jax.lax.fori_loop(0, rounds, one, nothing), None, None


_read_all.defvjp(_read_all_forward, _read_all_backward)
