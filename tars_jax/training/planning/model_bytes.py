"""Bytes that a model must move through device memory, whatever a program makes of them: the other side of a roofline.

Axes: G tokens, D width, E experts, K experts of a token, F expert width, L layers, S slots.

Everything is read or written once; what fits into registers and caches between two products is not counted.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from tars_jax.model.config import ModelConfig
from tars_jax.model.sharding import leaf_name

_EXPERTS = ("experts/gate", "experts/up", "experts/down")


def chosen_experts(model: ModelConfig, tokens: int) -> float:
    """Experts of a layer that at least one of so many tokens chooses, on average, if the router is even.

    E (1 - (1 - K / E)^tokens).
    """
    return model.experts * (1 - (1 - model.experts_per_token / model.experts) ** tokens)


def stored_bytes(leaf: Any) -> float:
    """Bytes of an array or of its shape; two int4 take one byte."""
    return float(leaf.size * (0.5 if leaf.dtype == jnp.int4 else jnp.dtype(leaf.dtype).itemsize))


def decode_bytes(model: ModelConfig, parameters: Any, slots: int, context: int) -> float:
    """One token for each slot, each with `context` tokens in its cache.

        matrices + S rows of the embedding + 2 L S (context + 1) KV heads * head dimension * bytes of the cache's type

    `parameters` are arrays or shapes, quantized or not; vision is not read. Of the experts, those that are chosen.
    """
    total = 0.0
    for path, leaf in jax.tree_util.tree_leaves_with_path(parameters):
        name = leaf_name(path)
        if name.startswith(("vision/", "scalar_head/")):
            continue
        share = 1.0
        if name == "embed/embedding" and not model.tied_embeddings:
            share = min(1.0, slots / model.vocabulary)
        elif any(expert in name for expert in _EXPERTS):
            share = chosen_experts(model, slots) / model.experts
        total += share * stored_bytes(leaf)
    cached = 2 * model.depth * model.kv_heads * model.head_dim * jnp.dtype(model.dtype).itemsize
    return total + slots * (context + 1) * cached


def expert_layer_bytes(model: ModelConfig, tokens: int, *, training: bool) -> float:
    """The three grouped products of one layer, in the dtype of the activations.

    Forward: each kernel read once, G K rows of width D in and out. With the backward pass: kernels read once more and
    their gradients written, the rows read again, their gradients read and written.
    """
    size = jnp.dtype(model.dtype).itemsize
    kernels = 3 * model.width * model.expert_width * chosen_experts(model, tokens)
    rows = tokens * model.experts_per_token * model.width
    return size * (kernels * (3 if training else 1) + rows * (5 if training else 2))
