"""Attention of the decoder by platform: one function, and what each token may look at in the form its backend takes.

Axes: B rows, T new tokens, M keys (T without a cache, else its length), N query heads, K key-value heads, H head
dimension, Q queries of a key-value head, S slots of a cache (here its rows), W spans of a row.

Dense attention holds scores [B, N, T, M], of packed rows about the half of them, with a live cache those of some new
tokens at a time. The others never hold them, and take packed rows. Splash attention (TPU) walks over blocks, leaves out
those above the diagonal, and needs T a multiple of 128; in its backward pass one kernel gives all gradients, five
products instead of seven, and a part of the queries' gradient for each block of keys, which are summed. cuDNN's flash
attention (GPU, from Hopper on) treats each segment as a sequence of its own, in bfloat16, and a bounded number of them
in a row.
"""

from __future__ import annotations

import flax.struct
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask

from tars_jax import InputError
from tars_jax.model.cache import ORDERS, Order
from tars_jax.model.remat import ATTENTION_OUT
from tars_jax.model.sharding import mapped

SPLASH_UNIT = 128  # tokens
SPLASH_SIDES = (2048, 1024, 512, 256, SPLASH_UNIT)  # tokens of a block; the first that fits and divides
SPLASH_QUERIES = 1024  # at most, of a block
SPLASH_PRODUCT = 512  # keys of a block that are multiplied at a time, at most
DENSE_QUERIES, DENSE_BLOCKS = 64, 8  # fewest of a block, and most blocks of a row
CACHE_QUERIES = 128  # new tokens whose scores with a live cache are held at a time, at most
# Windows of a row, at most: its kernels start for every one that there could be, so a short row may hold few: one for
# so many tokens, but never fewer or more than these.
CUDNN_WINDOWS, CUDNN_TOKENS = (8, 16), 512


@flax.struct.dataclass
class SegmentSpans:
    """Spans of equal segments of a row: where each begins and how long it is; -1 for spans that there are not."""

    starts: jax.Array  # [B, W + 1] int32
    lengths: jax.Array  # [B, W] int32
    complete: jax.Array  # [B] bool: the row has no more than W spans


@flax.struct.dataclass
class Visible:
    """Attention mask of packed rows; one of the three."""

    mask: jax.Array | None = None  # [B, T, T]; nobody sees a later index
    segments: jax.Array | None = None  # [B, T]: itself and what is before it in its own segment
    spans: SegmentSpans | None = None  # the same, as sequences


def within_segments(segments: jax.Array, backend: str) -> Visible:
    """Packed rows: a token sees itself and its own segment before it."""
    if backend == "splash":
        return Visible(segments=segments)
    if backend == "cudnn":
        most = most_windows(backend, segments.shape[1]) + 1  # padding is a span, too
        return Visible(spans=find_segment_spans(segments, most))
    time = jnp.arange(segments.shape[1])
    return Visible(mask=(segments[:, :, None] == segments[:, None, :]) & (time[:, None] >= time[None]))


def most_windows(backend: str, row_length: int) -> int:
    """Most windows that a packed row may hold for this backend."""
    fewest, most = CUDNN_WINDOWS
    return min(max(row_length // CUDNN_TOKENS, fewest), most) if backend == "cudnn" else row_length


def find_segment_spans(segments: jax.Array, most: int) -> SegmentSpans:
    """[B, T] to the first `most` spans of each row."""
    length = segments.shape[1]
    begins = jnp.concatenate([jnp.ones_like(segments[:, :1]), segments[:, 1:] != segments[:, :-1]], axis=1) > 0
    places = jnp.where(begins, jnp.arange(length), length)
    places = jnp.pad(places, ((0, 0), (0, most + 1)), constant_values=length)
    starts = jnp.sort(places, axis=1)[:, : most + 1].astype(jnp.int32)
    lengths = jnp.where(starts[:, :-1] < length, starts[:, 1:] - starts[:, :-1], -1)
    return SegmentSpans(jnp.where(starts < length, starts, -1), lengths, begins.sum(1) <= most)


def attend(q: jax.Array, k: jax.Array, v: jax.Array, visible: Visible) -> jax.Array:
    """q [B, T, N, H], k and v [B, M, K, H] to [B, T, N, H], scaled by H^-1/2. What a layer may keep of it has the name
    ATTENTION_OUT: the result, or what the splash kernel remembers of itself, which holds the result. Of cuDNN's that is
    what CUDNN_OUT gives (`tars_jax.model.remat`).

    Raises InputError where the backend cannot: splash and a length that is no multiple of 128, cuDNN and float32.
    A row with more windows than cuDNN takes becomes NaN; `tars_jax.training.packing` makes none.
    """
    if visible.segments is not None:
        rows = ("batch", None, "heads", None)
        return mapped(_splash, (rows, rows, rows, ("batch", None)), rows)(q, k, v, visible.segments)
    if visible.spans is not None:
        return _cudnn(q, k, v, visible.spans)
    assert visible.mask is not None
    return checkpoint_name(_dense(q, k, v, visible.mask), ATTENTION_OUT)


def attend_cache(q: jax.Array, keys: jax.Array, values: jax.Array, order: Order, write_at: jax.Array) -> jax.Array:
    """The same with a live cache, whose axes lie in an order of their own; a token sees it up to its place, [B, T].

    Scores are held of CACHE_QUERIES new tokens at a time: those of a whole screenshot with a long cache take more
    memory than the cache.
    """
    tokens = q.shape[1]
    pieces = -(-tokens // CACHE_QUERIES)
    if pieces == 1:
        return _attend_cache(q, keys, values, order, write_at)
    size = -(-tokens // pieces)

    def split(of_tokens: jax.Array) -> jax.Array:
        padded = jnp.pad(of_tokens, [(0, pieces * size - tokens if axis == 1 else 0) for axis in range(of_tokens.ndim)])
        return jnp.moveaxis(padded.reshape(padded.shape[0], pieces, size, *padded.shape[2:]), 1, 0)

    y = jax.lax.map(lambda piece: _attend_cache(piece[0], keys, values, order, piece[1]), (split(q), split(write_at)))
    return jnp.moveaxis(y, 0, 1).reshape(q.shape[0], -1, *q.shape[2:])[:, :tokens]


def _attend_cache(q: jax.Array, keys: jax.Array, values: jax.Array, order: Order, write_at: jax.Array) -> jax.Array:
    queries = _grouped(q, keys.shape[order.keys.index("K")])
    seen = jnp.arange(keys.shape[order.keys.index("M")]) <= write_at[:, :, None]
    return _ungrouped(_masked_attention(queries, keys, values, order, seen), q)


def _dense(q: jax.Array, k: jax.Array, v: jax.Array, mask: jax.Array) -> jax.Array:
    """Packed rows, some queries at a time, with the keys up to the last: little is computed that nobody sees."""
    length, group = q.shape[1], q.shape[2] // k.shape[2]
    block = max(DENSE_QUERIES, -(-length // DENSE_BLOCKS))
    queries, keys, values = _grouped(q, k.shape[2]), jnp.moveaxis(k, 1, 2), jnp.moveaxis(v, 1, 2)

    def part(start: int) -> jax.Array:
        end = min(start + block, length)
        of_block = queries[:, :, start * group : end * group]
        return _masked_attention(
            of_block, keys[:, :, :end], values[:, :, :end], ORDERS["rows"], mask[:, start:end, :end]
        )

    return _ungrouped(jnp.concatenate([part(start) for start in range(0, length, block)], axis=2), q)


def _grouped(q: jax.Array, heads: int) -> jax.Array:
    """[B, T, N, H] to [B, K, Q, H]: a key-value head's queries, whatever their token, are the rows of one product."""
    rows, tokens, _, head_dim = q.shape
    return jnp.swapaxes(q.reshape(rows, tokens, heads, -1, head_dim), 1, 2).reshape(rows, heads, -1, head_dim)


def _ungrouped(y: jax.Array, q: jax.Array) -> jax.Array:
    """[B, K, Q, H] back to the shape of q."""
    rows, tokens, _, head_dim = q.shape
    return jnp.swapaxes(y.reshape(rows, y.shape[1], tokens, -1, head_dim), 1, 2).reshape(q.shape)


def _masked_attention(q: jax.Array, keys: jax.Array, values: jax.Array, order: Order, mask: jax.Array) -> jax.Array:
    """q [S, K, Q, H] to the mean [S, K, Q, H] of the values that its tokens may see, mask [S, T, M].

    The sum of the weights divides what came out, which is smaller than the weights.
    """
    scores = jnp.einsum(f"SKQH,{order.keys}->SKQM", q, keys, preferred_element_type=jnp.float32) * q.shape[-1] ** -0.5
    mask = jnp.repeat(mask, q.shape[2] // mask.shape[1], axis=1)[:, None]
    scores = jnp.where(mask, scores, jnp.finfo(jnp.float32).min)
    weights = jnp.exp(scores - jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True)))
    y = jnp.einsum(
        f"SKQM,{order.values}->SKQH", weights.astype(values.dtype), values, preferred_element_type=jnp.float32
    )
    return (y / weights.sum(axis=-1, keepdims=True)).astype(values.dtype)


def _cudnn(q: jax.Array, k: jax.Array, v: jax.Array, spans: SegmentSpans) -> jax.Array:
    if q.dtype == jnp.float32:
        raise InputError("model.dtype must be bfloat16 with execution.attention=cudnn; got float32")
    # jax.nn.dot_product_attention reaches the same kernels, but with a mask: all T * T scores and their gradient.
    from jax._src.cudnn import fused_attention_stablehlo as fused

    # Packed keys with fewer heads than the queries are read from wrong places by jax before PR 39521 (July 2026).
    k, v = (jnp.repeat(each, q.shape[2] // k.shape[2], axis=2) for each in (k, v))
    y = fused.dot_product_attention(
        q,
        k,
        v,
        q_seqlen=spans.lengths,
        kv_seqlen=spans.lengths,
        q_offsets=spans.starts,
        kv_offsets=spans.starts,
        scale=q.shape[-1] ** -0.5,
        mask_type=fused.MaskType.PADDING_CAUSAL,
    )
    return jnp.where(spans.complete[:, None, None, None], y, jnp.nan)


def _splash(q: jax.Array, k: jax.Array, v: jax.Array, segments: jax.Array) -> jax.Array:
    length, heads, head_dim = q.shape[1:]
    if length % SPLASH_UNIT:
        raise InputError(
            f"with execution.attention=splash a row must be a multiple of {SPLASH_UNIT} tokens; got {length}"
        )

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
