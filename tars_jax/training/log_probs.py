"""What the vocabulary head says about sampled tokens, a piece of the rows at a time: logits [B, T, V] never exist.

Axes: B rows, T tokens, C tokens of a row in one piece, D width, V vocabulary.

Most tokens of a window were read, not sampled. So each row moves its sampled tokens to its front, and a piece in which
no row has any is skipped. Rows stay where they are: nothing moves between the devices that hold them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, vocabulary_logits
from tars_jax.model.sharding import constrain
from tars_jax.rl import entropy


class TokenStatistics(NamedTuple):
    """Of the distribution that each token was drawn from, which was read one token earlier; 0 where not wanted."""

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
) -> TokenStatistics:
    """The head on the hidden state before each wanted token; gradients flow to `parameters` and `hidden`.

    Args:
        hidden: [B, T, D] after the last norm.
        tokens: [B, T] int32.
        wanted: [B, T] bool. The first token of a row has nothing before it and is never wanted.

    Logits of `model.execution.head_chunk` = C tokens of each row are held at a time, B * C * V * 4 bytes on all devices
    together; they are computed again going backwards.
    """
    length = tokens.shape[1]
    chunk = min(model.execution.head_chunk, length)
    pieces = -(-length // chunk)
    wanted = jnp.asarray(wanted) & (jnp.arange(length) > 0)
    order = jnp.argsort(~wanted, axis=1, stable=True)

    def cut(x: jax.Array, places: jax.Array) -> jax.Array:
        """[B, T, ...] in the new order, as [T / C, B, C, ...]."""
        moved = jnp.take_along_axis(x, places.reshape(*places.shape, *[1] * (x.ndim - 2)), axis=1)
        padding = [(0, 0), (0, pieces * chunk - length), *[(0, 0)] * (x.ndim - 2)]
        return jnp.moveaxis(jnp.pad(moved, padding).reshape(-1, pieces, chunk, *x.shape[2:]), 1, 0)

    head: Parameters = {name: parameters[name] for name in ("embed", "vocabulary_head") if name in parameters}

    def read(states: jax.Array, chosen: jax.Array, mask: jax.Array) -> jax.Array:
        """[3, B, C] of one piece."""
        logits = constrain(vocabulary_logits(model, head, states), "batch", None, "vocabulary")
        own = jnp.take_along_axis(logits, chosen[..., None], axis=-1)[..., 0]
        log_probs = own - jax.nn.logsumexp(logits, axis=-1)
        likeliest = (own >= logits.max(-1)).astype(jnp.float32)
        return jnp.where(mask, jnp.stack([log_probs, jax.vmap(entropy)(logits, mask), likeliest]), 0.0)

    @functools.partial(jax.checkpoint, prevent_cse=False)
    def piece(_: None, columns: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[None, jax.Array]:
        mask = columns[-1]
        return None, jax.lax.cond(mask.any(), read, lambda *_: jnp.zeros((3, *mask.shape), jnp.float32), *columns)

    columns = cut(hidden, jnp.maximum(order - 1, 0)), cut(tokens, order), cut(wanted, order)
    _, found = jax.lax.scan(piece, None, columns)
    in_order = jnp.moveaxis(found, 0, 2).reshape(3, -1, pieces * chunk)
    return TokenStatistics(*(jnp.take_along_axis(each, jnp.argsort(order, axis=1), axis=1) for each in in_order))
