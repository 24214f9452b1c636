"""Operations that a model needs for its tokens, whatever a program makes of them: the numerator of utilization.

Two for each multiplication and addition of a matrix product in the forward pass; the backward pass takes twice as many.
Nothing is counted for recomputation, for padding of expert buckets, or for masked attention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax

from tars_jax.model.config import ModelConfig, VisionConfig
from tars_jax.model.policy import parameter_shapes
from tars_jax.model.sharding import leaf_name

TRAINING = 3  # forward and backward


def matrix_parameters(model: ModelConfig) -> tuple[float, float, float]:
    """Entries of matrices that multiply (a token of the decoder, a patch, a token of the vision's mergers).

    Of the experts, the share that one token goes through.
    """
    shapes = parameter_shapes(model)
    decoder = patches = merged = 0.0
    for path, leaf in jax.tree_util.tree_leaves_with_path(shapes):
        name = leaf_name(path)
        if not name.endswith(("kernel", "router", "experts/gate", "experts/up", "experts/down")):
            continue
        if name.startswith("vision/"):
            is_merger = "merge" in name or "deepstack" in name
            merged, patches = merged + leaf.size * is_merger, patches + leaf.size * (not is_merger)
        else:
            share = model.experts_per_token / model.experts if name.endswith(("/gate", "/up", "/down")) else 1.0
            decoder += leaf.size * share
    if model.tied_embeddings and model.vocabulary_head:
        decoder += model.vocabulary * model.width
    return decoder, patches, merged


def image_flops(model: ModelConfig, height: int, width: int, parameters: Any = None) -> float:
    """Forward pass of one image through the vision encoder."""
    vision: VisionConfig = model.vision
    _, per_patch, per_token = parameters or matrix_parameters(model)
    rows, columns = vision.token_grid(height, width)
    tokens = rows * columns
    patches = tokens * vision.merge**2
    whole = len(vision.whole_image_blocks) if vision.window else vision.depth
    windowed = vision.depth - whole
    in_window = min(patches, (vision.window // vision.patch) ** 2)
    attention = 4 * vision.width * patches * (whole * patches + windowed * in_window)
    return 2 * patches * per_patch + 2 * tokens * per_token + attention


def update_flops(model: ModelConfig, rows: int, row_length: int, images: int, image_size: tuple[int, int]) -> float:
    """FLOPs of one update on `rows` full windows with `images` images in all; attention is causal."""
    per_token, *_ = parameters = matrix_parameters(model)
    tokens = rows * row_length
    attention = 4 * model.depth * model.query_heads * model.head_dim * tokens * (row_length + 1) / 2
    forward = 2 * per_token * tokens + attention
    return TRAINING * (forward + (images * image_flops(model, *image_size, parameters) if images else 0.0))


def packed_update_flops(
    model: ModelConfig, windows: Sequence[int], sampled: int, images: int = 0, image_size: tuple[int, int] = (0, 0)
) -> float:
    """FLOPs of one policy update on packed windows of these lengths in tokens, `sampled` tokens of which were sampled.

        6 (N tokens + V D sampled) + 6 L A sum over windows of T (T + 1) + 3 images

    N are the entries of the decoder's matrices that one token goes through (of the experts, its own; no embedding, no
    head): 2 operations for each going forward and 4 going backward. The head, V by D, reads sampled tokens only. In
    each of L layers a window's T tokens see T (T + 1) / 2 keys, which takes 4 operations for each of the A = heads *
    head dimension channels, and 3 times that with the backward pass. Images as in `image_flops`.
    """
    per_token, *_ = parameters = matrix_parameters(model)
    head = model.vocabulary * model.width if model.vocabulary_head else 0
    seen = sum(length * (length + 1) for length in windows)
    products = 2 * TRAINING * ((per_token - head) * sum(windows) + head * sampled)
    attention = 2 * TRAINING * model.depth * model.query_heads * model.head_dim * seen
    return products + attention + (TRAINING * images * image_flops(model, *image_size, parameters) if images else 0.0)


def decode_flops(model: ModelConfig, slots: int, cache_length: int) -> float:
    """FLOPs of one token for each slot, with full caches."""
    per_token, *_ = matrix_parameters(model)
    attention = 4 * model.depth * model.query_heads * model.head_dim * cache_length
    return slots * (2 * per_token + attention)


def prefill_flops(model: ModelConfig, slots: int, cache_length: int, tokens: int) -> float:
    """FLOPs of the last `tokens` that fill each slot's cache, and of the logits of one of them."""
    per_token, *_ = matrix_parameters(model)
    head = model.vocabulary * model.width
    seen = tokens * cache_length - tokens * (tokens - 1) / 2
    attention = 4 * model.depth * model.query_heads * model.head_dim * seen
    return slots * (2 * (per_token - head) * tokens + 2 * head + attention)


def human(number: float) -> str:
    """A number with three digits and a unit: 2.3e11 is 230 G."""
    exponent = min(int(math.log10(number) // 3), 6) if number >= 1 else 0
    return f"{number / 1000**exponent:.3g} {('', 'k', 'M', 'G', 'T', 'P', 'E')[exponent]}".strip()
