"""Sizes of the presets, and the parts of their architectures through the live cache and in bfloat16."""

import dataclasses

import jax
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.cache import Cache
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import CacheAddress, Inputs, Parameters, count_parameters, forward, init_parameters
from tars_jax.model.positions import rope_positions
from tars_jax.model.presets import preset

IMAGE = 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "total"),
    [
        # As transformers 5.23 counts the parameters of the published configs on its meta device.
        ("qwen3-vl-30b-a3b", 31_070_754_032),
        pytest.param("qwen3-vl-8b", 8_767_123_696, marks=pytest.mark.full),
        ("qwen2.5-vl-7b", 8_292_166_656),
        ("qwen3-vl-2b", 2_127_532_032),
    ],
)
@pytest.mark.first(1)
def test_open_presets_have_every_parameter(name: str, total: int) -> None:
    assert count_parameters(preset(name))[0] == total


def test_small_is_what_its_docstring_says() -> None:
    total, active = count_parameters(preset("small"))
    assert round(total / 1e9, 1) == 5.2 and round(active / 1e9, 1) == 1.8


@pytest.mark.slow
def test_ui_tars_2_has_the_sizes_of_the_report() -> None:
    model = preset("ui-tars-2")
    total, active = count_parameters(model)
    vision = jax.eval_shape(lambda: init_parameters(model, jax.random.key(0)))["vision"]
    assert round(total / 1e9) == 230 and round(active / 1e9) == 23
    assert round(sum(leaf.size for leaf in jax.tree.leaves(vision)) / 1e6) == 532


@pytest.fixture(scope="module", params=["qwen3", "qwen2.5"])
def family_model(request: pytest.FixtureRequest, tiny_model: ModelConfig) -> ModelConfig:
    """The tiny model with DeepStack and tied embeddings; or dense, with biases, chunks and windows."""
    if request.param == "qwen3":
        vision = dataclasses.replace(tiny_model.vision, temporal=2, deepstack=(0,))
        return dataclasses.replace(tiny_model, vision=vision, tied_embeddings=True)
    vision = dataclasses.replace(tiny_model.vision, temporal=2, grid=0, gated=True, window=8)
    return dataclasses.replace(
        tiny_model,
        vision=vision,
        experts=0,
        mlp_width=24,
        qkv_bias=True,
        query_key_norm=False,
        rope_interleaved=False,
    )


def window() -> Inputs:
    tokens = np.array([1, 7, *[IMAGE] * 6, 8, *[IMAGE] * 6, 9, 10, 11], np.int32)
    is_image = tokens == IMAGE
    return Inputs(
        tokens=tokens[None],
        positions=rope_positions(is_image, (2, 3))[0][:, None],
        segments=np.ones((1, tokens.size), np.int32),
        images=(np.random.default_rng(0).integers(0, 256, (1, 2, 16, 24, 3), np.uint8),),
        image_tokens=np.where(is_image, np.cumsum(is_image) - 1, -1).astype(np.int32)[None],
    )


@pytest.fixture(scope="module")
def parameters(family_model: ModelConfig) -> Parameters:
    return jax.jit(lambda: init_parameters(family_model, jax.random.key(0)))()


@pytest.fixture(scope="module")
def hidden(family_model: ModelConfig, parameters: Parameters) -> np.ndarray:
    """Of the window in one pass, without a cache."""
    return np.asarray(jax.jit(lambda inputs: forward(family_model, parameters, inputs).hidden)(window()))


@pytest.mark.slow
@pytest.mark.first(1)
def test_two_extensions_of_a_cache_are_one_pass(
    family_model: ModelConfig, parameters: Parameters, hidden: np.ndarray
) -> None:
    extend = jax.jit(lambda inputs, cache, at: forward(family_model, parameters, inputs, cache, CacheAddress(at)))
    cache, whole = Cache.empty(family_model, slots=1, length=20), window()
    for image, span in enumerate((slice(0, 9), slice(9, 18))):  # an image in each
        part = Inputs(
            tokens=whole.tokens[:, span],
            positions=whole.positions[:, :, span],
            segments=whole.segments[:, span],
            images=(whole.images[0][:, image : image + 1],),
            image_tokens=np.maximum(whole.image_tokens[:, span] - 6 * image, -1),
        )
        output = extend(part, cache, np.arange(18)[None, span])
        cache = output.cache
        np.testing.assert_allclose(output.hidden, hidden[:, span], atol=1e-5)


@pytest.mark.first(1)
def test_bfloat16_is_near_and_keeps_its_type(
    family_model: ModelConfig, parameters: Parameters, hidden: np.ndarray
) -> None:
    narrow = dataclasses.replace(family_model, dtype="bfloat16")
    output = jax.jit(lambda inputs: forward(narrow, parameters, inputs))(window())
    assert output.hidden.dtype == "bfloat16" and output.logits.dtype == "float32"
    assert Cache.empty(narrow, slots=1, length=4)[0].keys.dtype == "bfloat16"
    assert 0 < np.abs(np.asarray(output.hidden, np.float32) - hidden).mean() < 0.05


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mlp_width": 8}, "one of experts and mlp_width must be 0; got 4 and 8"),
        ({"experts": 0}, "one of experts and mlp_width must be 0; got 0 and 0"),
        ({"dtype": "int8"}, "model.dtype must be one of float32, bfloat16; got 'int8'"),
    ],
)
def test_impossible_models(tiny_model: ModelConfig, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataclasses.replace(tiny_model, **changes)  # type: ignore[arg-type]
