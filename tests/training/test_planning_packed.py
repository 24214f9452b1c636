"""What packed windows cost, and what decoding must read, by hand."""

import dataclasses

import jax
import jax.numpy as jnp
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import parameter_shapes
from tars_jax.training.planning.model_bytes import chosen_experts, decode_bytes, expert_layer_bytes
from tars_jax.training.planning.model_flops import image_flops, packed_update_flops, update_flops

# Matrix entries of one layer of the tiny model that a token goes through: width 16, 2 query heads and 1 of keys of 8,
# a router to 4 experts, 2 of which, of width 16.
LAYER = 16 * 16 + 2 * 16 * 8 + 16 * 16 + 16 * 4 + 2 * 3 * 16 * 16
HEAD = 16 * 32


def test_an_update_of_two_windows(tiny_model: ModelConfig) -> None:
    """Windows of 3 and 5 tokens, 4 of which were sampled. 6 + 15 pairs of tokens see each other, in 2 layers, for 16
    channels; 12 operations each: 4 forward, 8 backward.
    """
    products = 6 * (2 * LAYER * 8 + HEAD * 4)
    attention = 12 * 2 * 16 * (6 + 15)
    assert packed_update_flops(tiny_model, [3, 5], 4) == products + attention

    image = 3 * image_flops(tiny_model, 16, 8)
    assert packed_update_flops(tiny_model, [3, 5], 4, 1, (16, 8)) == products + attention + image


def test_full_rows_that_are_sampled_throughout_are_those_of_the_plan(tiny_model: ModelConfig) -> None:
    dense = dataclasses.replace(tiny_model, experts=0, experts_per_token=0, mlp_width=24)
    for model in (tiny_model, dense, dataclasses.replace(dense, tied_embeddings=True)):
        assert packed_update_flops(model, [7, 7], 14) == pytest.approx(update_flops(model, 2, 7, 0, (0, 0)))


def test_a_step_reads_the_chosen_experts_once(tiny_model: ModelConfig) -> None:
    """Two slots: 4 (1 - 1/4) = 3 of 4 experts are chosen on average; 5 tokens of cache and the new one are touched."""
    assert chosen_experts(tiny_model, 2) == 3
    model = dataclasses.replace(tiny_model, dtype="bfloat16")
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, jnp.bfloat16), parameter_shapes(model))
    fixed = 16 * 16 + 2 * 16 * 8 + 16 * 16 + 16 * 4  # attention and router of a layer
    norms = 2 * (16 + 16 + 8 + 8) + 16
    weights = 2 * (fixed + 3 * 3 * 16 * 16) + norms + HEAD + 2 * 16  # two rows of the embedding
    assert decode_bytes(model, shapes, 2, 5) == pytest.approx(2 * weights + 2 * 6 * (2 * 2 * 8) * 2)

    experts = shapes["decoder"]["layers"]["experts"]
    saved = 2 * 3 * 3 * 16 * 16 * 1.5  # bytes: 2 become a half
    for name in ("gate", "up", "down"):
        kernel = experts[name]
        experts[name] = {"int4": jax.ShapeDtypeStruct(kernel.shape, jnp.int4)}
    assert decode_bytes(model, shapes, 2, 5) == pytest.approx(2 * weights + 2 * 6 * (2 * 2 * 8) * 2 - saved)


def test_bytes_of_one_layers_experts(tiny_model: ModelConfig) -> None:
    """Float32, 2 tokens: 3 experts of 3 * 16 * 16, 4 rows of 16."""
    assert expert_layer_bytes(tiny_model, 2, training=False) == 4 * (3 * 768 + 2 * 64)
    assert expert_layer_bytes(tiny_model, 2, training=True) == 4 * (3 * 3 * 768 + 5 * 64)
