"""W4A8. What needs qwix is skipped where it is not installed."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.cache import Cache
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import CacheAddress, Inputs, Parameters, dummy_inputs, forward, init_parameters
from tars_jax.model.quantization import (
    dequantize,
    encode_images_quantized,
    is_quantized,
    pack,
    quantize,
    quantize_on_mesh,
    quantized_forward,
    unpack,
    weight_errors,
)


@pytest.fixture(scope="module")
def quantized(tiny_model: ModelConfig, tiny_parameters: Parameters) -> Parameters:
    pytest.importorskip("qwix")
    return quantize_on_mesh(tiny_model, tiny_parameters)


def kernel(rows: list[list[int]]) -> dict[str, Any]:
    return {"int4": jnp.array(rows, jnp.int4), "scale": jnp.full((1, len(rows[0])), 0.5)}


def test_two_integers_a_byte() -> None:
    tree = {"odd": kernel([[1, -2, 3], [-8, 7, -1]]), "norm": jnp.arange(3.0)}
    packed = pack(tree)
    # 1 and -2 = 14 = 0xE; 3 alone; -8 = 0x8 and 7; -1 = 0xF alone. The lower half comes first.
    assert packed["odd"]["int4"].tolist() == [[0xE1, 0x03], [0x78, 0x0F]]
    again = unpack(packed)
    assert again["odd"]["int4"].dtype == jnp.int4
    chex.assert_trees_all_equal(again, tree)
    every = {"all": kernel([[low, high] for low in range(-8, 8) for high in range(-8, 8)])}
    chex.assert_trees_all_equal(unpack(pack(every)), every)


def test_what_integers_and_scales_stand_for() -> None:
    assert dequantize({"w": kernel([[1, -8]]), "b": jnp.ones(1)})["w"].tolist() == [[0.5, -4.0]]
    assert is_quantized({"a": {"w": kernel([[1]])}}) and not is_quantized({"a": {"w": jnp.ones(1)}})


def test_without_qwix_the_error_names_the_extra(
    tiny_model: ModelConfig, tiny_parameters: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "qwix", None)
    with pytest.raises(InputError, match=r"not installed; pip install 'tars_jax\[quantization\]'"):
        quantize(tiny_model, tiny_parameters)


@pytest.mark.slow
def test_every_kernel_but_the_router_has_a_scale_for_each_channel_layer_and_expert(
    tiny_model: ModelConfig, tiny_parameters: Parameters, quantized: Parameters
) -> None:
    layers, vision = quantized["decoder"]["layers"], quantized["vision"]
    kept = [layers["experts"]["router"], quantized["embed"]["embedding"], vision["position"], layers["experts_norm"]]
    assert not any(map(is_quantized, kept))
    shapes = {
        "gate": (layers["experts"]["gate"], (2, 4, 16, 16), (2, 4, 1, 16)),  # layers, experts, contracted, channels
        "query": (layers["attention"]["query"]["kernel"], (2, 16, 2, 8), (2, 1, 2, 8)),
        "out": (layers["attention"]["out"]["kernel"], (2, 2, 8, 16), (2, 1, 1, 16)),
        "head": (quantized["vocabulary_head"]["kernel"], (16, 32), (1, 32)),
    }
    for name, (leaf, values, scale) in shapes.items():
        assert (leaf["int4"].dtype, leaf["int4"].shape, leaf["scale"].shape) == (jnp.int4, values, scale), name
    gate = tiny_parameters["decoder"]["layers"]["experts"]["gate"]
    scale = layers["experts"]["gate"]["scale"]
    np.testing.assert_allclose(scale, jnp.abs(gate).max(axis=2, keepdims=True) / 7.5, rtol=1e-5)
    again = dequantize(quantized)["decoder"]["layers"]["experts"]["gate"]
    assert (jnp.abs(again - gate) <= scale * 0.5001).all()


def test_the_error_is_told_by_layer(tiny_parameters: Parameters, quantized: Parameters) -> None:
    errors = weight_errors(tiny_parameters, quantized)
    paths = {path.partition("[")[0] for path in errors}
    assert {"decoder/layers/experts/down[0]", "decoder/layers/experts/down[1]", "vocabulary_head/kernel"} <= set(errors)
    assert not any("router" in path or "norm" in path for path in paths)
    # A step is max / 7.5; rounding is uniform: max / 7.5 / sqrt(12) of a normal row whose maximum is about 2 sigma.
    assert all(0.02 < error < 0.15 for error in errors.values())


@pytest.mark.slow
def test_channels_and_kernels_of_zeros(tiny_model: ModelConfig, tiny_parameters: Parameters) -> None:
    pytest.importorskip("qwix")
    parameters = jax.tree.map(jnp.asarray, tiny_parameters)
    gate = parameters["decoder"]["layers"]["experts"]["gate"].at[:, :, :, 3].set(0)
    parameters["decoder"]["layers"]["experts"]["gate"] = gate
    parameters["vocabulary_head"]["kernel"] *= 0
    quantized = quantize_on_mesh(tiny_model, parameters)
    again = jax.jit(lambda: dequantize(unpack(pack(quantized))))()
    assert (
        not again["decoder"]["layers"]["experts"]["gate"][..., 3].any() and not again["vocabulary_head"]["kernel"].any()
    )
    errors = weight_errors(parameters, quantized)
    assert errors["vocabulary_head/kernel"] == 0 and all(0 <= error < 0.2 for error in errors.values())


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [4, 160])  # all experts on every token, and experts in buckets
@pytest.mark.first(1)
def test_int8_activations_add_little_to_int4_weights(
    tiny_model: ModelConfig, tiny_parameters: Parameters, tokens: int
) -> None:
    """All experts have a say, so that no token is near the border between two."""
    pytest.importorskip("qwix")
    model = dataclasses.replace(tiny_model, experts_per_token=tiny_model.experts)
    quantized = quantize_on_mesh(model, tiny_parameters)
    drawn = jax.random.randint(jax.random.key(1), (1, tokens), 6, model.vocabulary)
    inputs = dataclasses.replace(dummy_inputs(model, tokens), tokens=drawn)

    def hidden(run: Any, parameters: Parameters) -> jax.Array:
        return jax.jit(lambda parameters: run(model, parameters, inputs).hidden)(parameters)

    float_weights = hidden(forward, dequantize(quantized))
    added = jnp.linalg.norm(hidden(quantized_forward, quantized) - float_weights) / jnp.linalg.norm(float_weights)
    assert 1e-4 < added < 0.05


def test_products_with_kernels_are_of_integers(tiny_model: ModelConfig, quantized: Parameters) -> None:
    def run(parameters: Parameters, inputs: Inputs) -> jax.Array:
        return quantized_forward(tiny_model, parameters, inputs).logits

    text = str(jax.make_jaxpr(run)(quantized, dummy_inputs(tiny_model)))
    products = [line for line in text.splitlines() if "dot_general" in line]
    assert "i8[" in text and "i4[" in text
    # Attention's query, key, value, out; the experts' gate, up, down; the head; the vision encoder's seven.
    assert sum("preferred_element_type=int32" in line or ":i32[" in line for line in products) == 15


def test_images_may_be_seen_beforehand(tiny_model: ModelConfig, quantized: Parameters) -> None:
    image = np.random.default_rng(0).integers(0, 256, (1, 1, 8, 8, 3), np.uint8)
    inputs = dataclasses.replace(dummy_inputs(tiny_model), images=(image,), image_tokens=np.array([[0, -1]], np.int32))

    @jax.jit
    def both() -> tuple[jax.Array, jax.Array]:
        encoded = encode_images_quantized(tiny_model, quantized, image[0])
        beforehand = dataclasses.replace(inputs, images=(), image_features=encoded[:, 0])
        first, second = (quantized_forward(tiny_model, quantized, each).logits for each in (inputs, beforehand))
        return first, second

    expected, got = both()
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.full
def test_a_tied_embedding_stays_as_it_is(tiny_model: ModelConfig) -> None:
    """It is the head, and tokens are read from it."""
    pytest.importorskip("qwix")
    model = dataclasses.replace(tiny_model, depth=1, tied_embeddings=True)
    parameters = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(0))
    quantized = quantize(model, parameters)
    chex.assert_trees_all_equal(quantized["embed"], parameters["embed"])
    assert is_quantized(quantized["decoder"])
    inputs = dataclasses.replace(dummy_inputs(model), images=())
    logits = quantized_forward(model, quantized, inputs).logits
    np.testing.assert_allclose(logits, forward(model, dequantize(quantized), inputs).logits, atol=0.1)


def test_activations_keep_their_type(tiny_model: ModelConfig, quantized: Parameters) -> None:
    """As in the engine of a large model: kernels of integers, scales of float32, everything else of bfloat16."""
    model = dataclasses.replace(tiny_model, dtype="bfloat16")
    inputs = dataclasses.replace(dummy_inputs(model), images=())
    cache = Cache.empty(model, slots=1, length=4)
    address = CacheAddress(write_at=np.zeros((1, 2), np.int32))
    output = jax.eval_shape(lambda: quantized_forward(model, quantized, inputs, cache, address))
    assert (output.hidden.dtype, output.cache[0].keys.dtype) == (jnp.bfloat16, jnp.bfloat16)
    assert output.logits.dtype == jnp.float32
