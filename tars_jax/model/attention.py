"""Attention of the decoder by platform: one function, and what each token may look at in the form its backend takes.

Axes: B rows, T new tokens, M keys (T without a cache, else its length), N query heads, K key-value heads, H head
dimension.

Dense attention holds scores [B, N, T, M]. Splash attention (TPU) never does: it walks over blocks, leaves out those
above the diagonal, and takes T a multiple of 128; on the way back one kernel gives all gradients, five products instead
of seven, and a part of the queries' gradient for each block of keys, which are summed. cuDNN's flash attention (GPU)
takes bfloat16 and a mask.
"""

from __future__ import annotations

import flax.struct
import jax
import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask

from tars_jax import InputError
from tars_jax.model.execution import ATTENTION_OUT
from tars_jax.model.sharding import mapped

SPLASH_UNIT = 128  # tokens
SPLASH_SIDES = (2048, 1024, 512, 256, SPLASH_UNIT)  # tokens of a block; the first that fits and divides
SPLASH_QUERIES = 1024  # at most, of a block
SPLASH_PRODUCT = 512  # keys of a block that are multiplied at a time, at most


@flax.struct.dataclass
class Visible:
    """What new tokens may look at; one of the two."""

    mask: jax.Array | None = None  # [B, T, M]
    segments: jax.Array | None = None  # [B, T]: itself and what is before it in its own segment


def within_segments(segments: jax.Array, backend: str) -> Visible:
    """Packed rows: a token sees itself and its own segment before it."""
    if backend == "splash":
        return Visible(segments=segments)
    time = jnp.arange(segments.shape[1])
    return Visible(mask=(segments[:, :, None] == segments[:, None, :]) & (time[:, None] >= time[None]))


def up_to(write_at: jax.Array, length: int) -> Visible:
    """A live cache: each token sees it up to its own place, [B, T]."""
    return Visible(mask=jnp.arange(length)[None, None] <= write_at[:, :, None])


def attend(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible, backend: str) -> jax.Array:
    """q [B, T, N, H], k and v [B, M, K, H] to [B, T, N, H], scaled by H^-1/2.

    Raises InputError where the backend cannot: splash and a length that is no multiple of 128, cuDNN and float32.
    """
    if visible.segments is not None:
        rows = ("batch", None, "heads", None)
        return mapped(_splash, (rows, rows, rows, ("batch", None)), rows)(q, k, v, visible.segments)
    assert visible.mask is not None
    if backend == "cudnn" and q.dtype == jnp.float32:
        raise InputError("execution.attention: 'cudnn' takes model.dtype bfloat16, got float32")
    return jax.nn.dot_product_attention(
        q, k, v, mask=visible.mask[:, None], implementation="cudnn" if backend == "cudnn" else "xla"
    )


def _splash(q: jax.Array, k: jax.Array, v: jax.Array, segments: jax.Array) -> jax.Array:
    length, heads, head_dim = q.shape[1:]
    if length % SPLASH_UNIT:
        raise InputError(f"execution.attention: 'splash' takes rows of a multiple of {SPLASH_UNIT}, got {length}")

    def side(most: int) -> int:
        return next(size for size in SPLASH_SIDES if size <= most and length % size == 0)

    queries, keys, product = side(SPLASH_QUERIES), side(SPLASH_SIDES[0]), side(SPLASH_PRODUCT)
    kernel = splash.make_splash_mha(
        splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((length, length))] * heads),
        block_sizes=splash.BlockSizes(
            block_q=queries,
            block_kv=side(SPLASH_QUERIES),
            block_kv_compute=product,
            block_q_dkv=queries,
            block_kv_dkv=keys,
            block_kv_dkv_compute=product,
            use_fused_bwd_kernel=True,
        ),
        head_shards=1,
        q_seq_shards=1,
        residual_checkpoint_name=ATTENTION_OUT,
    )
    q, k, v = (jnp.moveaxis(each, 2, 1) for each in (q * head_dim**-0.5, k, v))
    y = jax.vmap(kernel)(q, k, v, splash.SegmentIds(segments, segments))
    return jnp.moveaxis(y, 1, 2)
