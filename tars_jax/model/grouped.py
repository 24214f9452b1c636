"""Rows through their own experts: one function, and a backend for each platform that computes it.

Axes: R rows, G tokens, D width, E experts, F expert width, Z buckets, C rows of a bucket.

Row r is token source[r] and goes through expert[r]; an expert E does not exist, and such a row gives 0.

buckets: one batched product over equal buckets (CPU). An expert takes as many buckets as its rows fill, so no routing
is too uneven. ragged: rows sorted by expert, `jax.lax.ragged_dot` (native on TPU; on CPU and GPU it computes every
expert on every row, and so does its gradient for the kernels on TPU). megablox: Pallas kernels for TPU, gradients too.
tokamax: the same with the kernels of the tokamax package (GPU).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu import megablox

from tars_jax import InputError

LARGEST_BUCKET = 256
MEGABLOX_ROWS = (512, 256, 128, 64, 32, 16, 8)  # of a block; the first that divides
MEGABLOX_BLOCK = (1024, 1024)  # of the product's inner and outer dimension
RaggedDot = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


class Weights(NamedTuple):
    """Parameters of all experts."""

    gate: jax.Array  # [E, D, F]
    up: jax.Array  # [E, D, F]
    down: jax.Array  # [E, F, D]


def feed_forward(x: jax.Array, weights: Weights) -> jax.Array:
    """SwiGLU, [Z, C, D] rows with the weights of bucket Z to [Z, C, D]."""
    hidden = nn.silu(jnp.einsum("ZCD,ZDF->ZCF", x, weights.gate)) * jnp.einsum("ZCD,ZDF->ZCF", x, weights.up)
    return jnp.einsum("ZCF,ZFD->ZCD", hidden, weights.down)


def grouped(x: jax.Array, source: jax.Array, expert: jax.Array, weights: Weights, backend: str) -> jax.Array:
    """x [G, D], source [R], expert [R] -> [R, D]. Raises InputError where the backend's package is missing."""
    if backend == "buckets":
        mean_load = expert.size // weights.gate.shape[0]
        return bucketed(x, source, expert, weights, min(LARGEST_BUCKET, 1 << max(mean_load // 4, 1).bit_length()))
    dot: RaggedDot = jax.lax.ragged_dot
    if backend != "ragged":
        dot = _megablox if backend == "megablox" else _tokamax()
    return ragged(x, source, expert, weights, dot)


def bucketed(x: jax.Array, source: jax.Array, expert: jax.Array, weights: Weights, bucket: int) -> jax.Array:
    """Each expert on as many buckets of `bucket` rows as it needs."""
    num_experts, num_rows = weights.gate.shape[0], expert.size
    num_buckets = -(-num_rows // bucket) + num_experts - 1
    ahead = jnp.cumsum(jax.nn.one_hot(expert, num_experts, dtype=jnp.int32), axis=0)
    rank = jnp.take_along_axis(ahead, jnp.minimum(expert, num_experts - 1)[:, None], axis=1)[:, 0] - 1
    last_bucket = jnp.cumsum(-(-ahead[-1] // bucket))
    first_bucket = jnp.concatenate([jnp.zeros(1, jnp.int32), last_bucket])[expert.clip(0, num_experts)]

    place = jnp.where(expert < num_experts, first_bucket * bucket + rank, num_buckets * bucket)
    owner = jnp.minimum((jnp.arange(num_buckets)[:, None] >= last_bucket).sum(-1), num_experts - 1)
    occupant = jnp.zeros(num_buckets * bucket, jnp.int32).at[place].set(source, mode="drop")
    rows = x[occupant].reshape(num_buckets, bucket, -1)
    y = feed_forward(rows, Weights(*(kernel[owner] for kernel in weights))).reshape(num_buckets * bucket, -1)
    return y.at[place].get(mode="fill", fill_value=0)


def ragged(x: jax.Array, source: jax.Array, expert: jax.Array, weights: Weights, dot: RaggedDot) -> jax.Array:
    """Rows sorted by expert; each expert's product over its own run of them."""
    num_experts = weights.gate.shape[0]
    order = jnp.argsort(expert, stable=True)
    sizes = jnp.bincount(jnp.minimum(expert, num_experts), length=num_experts + 1)[:-1].astype(jnp.int32)
    # What a ragged product gives beyond its last run is not said; neither it nor its gradient gets through.
    real = (jnp.arange(expert.size) < sizes.sum())[:, None]
    rows = jnp.where(real, x[source[order]], 0)
    hidden = jnp.where(real, nn.silu(dot(rows, weights.gate, sizes)) * dot(rows, weights.up, sizes), 0)
    y = jnp.where(real, dot(hidden, weights.down, sizes), 0)
    return y[jnp.argsort(order)]


def _megablox(rows: jax.Array, kernels: jax.Array, sizes: jax.Array) -> jax.Array:
    block = next(size for size in MEGABLOX_ROWS if rows.shape[0] % size == 0)
    return megablox.gmm(rows, kernels, sizes, rows.dtype, (block, *MEGABLOX_BLOCK))


def _tokamax() -> RaggedDot:
    try:
        import tokamax
    except ImportError as error:
        raise InputError(
            "execution.experts: 'tokamax' needs the package tokamax: pip install 'tars_jax[gpu]', or take 'ragged'"
        ) from error
    return tokamax.ragged_dot
