"""What the device can do at best, and how close attention and the experts of one layer come to it.

Axes: B rows, T tokens, N query heads, K key-value heads, H head dimension, G tokens of the batch, D width, E experts.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from experiments.gpu.batches import packed_batch
from experiments.gpu.entries import Entry
from experiments.gpu.sizes import model, shapes
from experiments.gpu.timing import Patience, compiled, measure
from tars_jax.model.attention import attend, within_segments
from tars_jax.model.config import ModelConfig
from tars_jax.model.execution import Execution
from tars_jax.model.experts import Experts
from tars_jax.training.planning.model_bytes import expert_layer_bytes
from tars_jax.training.planning.model_flops import TRAINING

Row = dict[str, Any]
EXACT_TOKENS = 256  # of the comparison with float32


def measure_matmul(config: Any, entry: Entry, patience: Patience) -> Row:
    """A square product in bfloat16, of random numbers: zeros are faster."""
    side = shapes(config).matmul
    x, y = (jax.random.normal(jax.random.key(seed), (side, side), jnp.bfloat16) for seed in (0, 1))
    product, row = compiled(lambda: jax.jit(jnp.matmul).lower(x, y))
    timing = measure(lambda: product(x, y), patience)
    return {**row, "seconds": dataclasses.asdict(timing), "flops": 2.0 * side**3}


def measure_copy(config: Any, entry: Entry, patience: Patience) -> Row:
    """Reads an array and writes another; both count."""
    x = jax.random.normal(jax.random.key(0), (shapes(config).copy_bytes // 2,), jnp.bfloat16)
    copy, row = compiled(lambda: jax.jit(lambda x: x * jnp.bfloat16(2)).lower(x))
    timing = measure(lambda: copy(x), patience)
    return {**row, "seconds": dataclasses.asdict(timing), "bytes": 2.0 * x.nbytes}


def measure_attention(config: Any, entry: Entry, patience: Patience) -> Row:
    """One layer's attention over packed rows, forward and backward, without projections."""
    policy, size = model(config, entry.model), shapes(config)
    batch, windows, _ = packed_batch(policy, size, 0)
    backend = Execution(attention=entry.attention).attention_backend

    def gradients(q: jax.Array, k: jax.Array, v: jax.Array, probe: jax.Array, segments: jax.Array) -> Any:
        def total(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            visible = within_segments(segments, "dense" if q.dtype == jnp.float32 else backend)
            return (attend(q, k, v, visible).astype(jnp.float32) * probe.astype(jnp.float32)).sum()

        return jax.grad(total, argnums=(0, 1, 2))(q, k, v)

    segments = jnp.asarray(batch.rows.inputs.segments)
    arrays = _attention_arrays(policy, *segments.shape)
    program, row = compiled(lambda: jax.jit(gradients).lower(*arrays, segments))
    timing = measure(lambda: program(*arrays, segments), patience)

    length = min(EXACT_TOKENS, size.row_length)
    short = (jnp.minimum(jnp.arange(length) * 3 // (length - length // 8) + 1, 4) % 4)[None]  # three windows, padding
    few = _attention_arrays(policy, 1, length)
    return {
        **row,
        "seconds": dataclasses.asdict(timing),
        "resolved": backend,
        "flops": 2.0 * TRAINING * policy.query_heads * policy.head_dim * sum(each * (each + 1) for each in windows),
        "difference": _difference(jax.jit(gradients), few, short),
    }


def measure_experts(config: Any, entry: Entry, patience: Patience) -> Row:
    """One layer's experts, forward and backward, with their router, which is nearly even on random tokens."""
    policy, size = model(config, entry.model), shapes(config)
    policy = dataclasses.replace(policy, execution=Execution(experts=entry.experts))

    def gradients(x: jax.Array, parameters: Any, probe: jax.Array, valid: jax.Array) -> Any:
        exact = x.dtype == jnp.float32
        layer = Experts(dataclasses.replace(policy, execution=Execution(experts="buckets")) if exact else policy)

        def total(x: jax.Array, parameters: Any) -> jax.Array:
            y, _ = layer.apply({"params": parameters}, x, valid)
            return (y.astype(jnp.float32) * probe.astype(jnp.float32)).sum()

        return jax.grad(total, argnums=(0, 1))(x, parameters)

    tokens = size.rows * size.row_length
    arrays, few = (_expert_arrays(policy, count) for count in (tokens, EXACT_TOKENS))
    program, row = compiled(lambda: jax.jit(gradients).lower(*arrays))
    timing = measure(lambda: program(*arrays), patience)
    return {
        **row,
        "seconds": dataclasses.asdict(timing),
        "resolved": policy.experts_backend,
        "flops": 2.0 * TRAINING * 3 * tokens * policy.experts_per_token * policy.width * policy.expert_width,
        "bytes": expert_layer_bytes(policy, tokens, training=True),
        "difference": _difference(jax.jit(gradients), few[:-1], few[-1]),
    }


def _attention_arrays(policy: ModelConfig, rows: int, length: int) -> tuple[jax.Array, ...]:
    """Queries, keys, values and what their results are multiplied with."""
    heads = (policy.query_heads, policy.kv_heads, policy.kv_heads, policy.query_heads)
    return tuple(
        jax.random.normal(jax.random.key(seed), (rows, length, count, policy.head_dim), jnp.bfloat16)
        for seed, count in enumerate(heads)
    )


def _expert_arrays(policy: ModelConfig, tokens: int) -> tuple[Any, ...]:
    """Tokens, parameters, what their results are multiplied with, and which are valid: all."""
    x, probe = (jax.random.normal(jax.random.key(seed), (1, tokens, policy.width), jnp.bfloat16) for seed in (0, 1))
    valid = jnp.ones((1, tokens), bool)
    one = jnp.zeros((1, 1, policy.width), jnp.bfloat16)
    parameters = jax.jit(lambda key: Experts(policy).init(key, one, valid[:, :1])["params"])(jax.random.key(2))
    return x, jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), parameters), probe, valid


def _difference(gradients: Any, arrays: tuple[Any, ...], last: jax.Array) -> float:
    """Of the gradients in bfloat16 from those of the same numbers in float32, the largest relative norm."""
    got = gradients(*arrays, last)
    with jax.default_matmul_precision("highest"):
        exact = gradients(*jax.tree.map(lambda each: each.astype(jnp.float32), arrays), last)

    def norm(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.linalg.norm((a - b).astype(jnp.float32)) / jnp.linalg.norm(b)

    return float(max(jax.tree.leaves(jax.tree.map(norm, got, exact))))
