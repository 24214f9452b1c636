"""Checkpoints that transformers wrote, and what its models computed from them; see goldens/make.py."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

pytest.importorskip("safetensors")

from tars_jax.model.config import ModelConfig
from tars_jax.model.huggingface import import_checkpoint, read_config
from tars_jax.model.policy import Inputs, Output, Parameters, forward
from tars_jax.model.positions import rope_positions
from tars_jax.model.preprocessing import patches
from tars_jax.model.sharding import make_mesh

GOLDENS = Path(__file__).with_name("goldens")
KINDS = ("qwen3_vl_moe", "qwen3_vl", "qwen2_5_vl")


def mesh() -> jax.sharding.Mesh:
    return make_mesh({}, jax.devices()[:1])


def one_context(config: ModelConfig, tokens: np.ndarray, images: list[np.ndarray]) -> Inputs:
    """One row; images of a size are batched, so image tokens point into the sizes one after another."""
    grids = [config.vision.token_grid(*image.shape[:2]) for image in images]
    sizes = sorted({image.shape for image in images})
    order = [number for size in sizes for number, image in enumerate(images) if image.shape == size]
    counts = np.array([rows * columns for rows, columns in grids])
    first = np.zeros(len(images), int)
    first[order] = np.cumsum(counts[order]) - counts[order]
    is_image = tokens == config.image_token
    image_tokens = np.full(tokens.shape, -1, np.int32)
    image_tokens[is_image] = np.concatenate([start + np.arange(n) for start, n in zip(first, counts, strict=True)])
    return Inputs(
        tokens=tokens[None],
        positions=rope_positions(is_image, grids)[0][:, None],
        segments=np.ones((1, tokens.size), np.int32),
        images=tuple(np.stack([image for image in images if image.shape == size])[None] for size in sizes),
        image_tokens=image_tokens[None],
    )


def run(config: ModelConfig, parameters: Parameters, inputs: Inputs) -> Output:
    return jax.jit(lambda parameters, inputs: forward(config, parameters, inputs))(parameters, inputs)


def golden_context(kind: str, config: ModelConfig) -> tuple[Any, Inputs, list[np.ndarray]]:
    golden = np.load(GOLDENS / kind / "golden.npz")
    images = [golden[f"image_{number}"] for number in range(3)]
    return golden, one_context(config, golden["tokens"], images), images


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_states_and_logits_are_those_of_transformers(kind: str) -> None:
    config, parameters = import_checkpoint(GOLDENS / kind, mesh())
    golden, inputs, _ = golden_context(kind, config)
    np.testing.assert_array_equal(inputs.positions[:, 0], golden["positions"])
    output = run(config, parameters, inputs)
    np.testing.assert_allclose(output.hidden[0], golden["hidden"], atol=1e-4)
    others = np.arange(config.vocabulary) != config.image_token  # ours never writes an image token
    np.testing.assert_allclose(output.logits[0][:, others], golden["logits"][:, others], atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_patches_are_those_of_transformers(kind: str) -> None:
    config = read_config(GOLDENS / kind)
    golden, _, images = golden_context(kind, config)
    ours = np.concatenate([patches(image[None], config.vision)[0] for image in images])
    np.testing.assert_allclose(ours, golden["patches"], atol=5e-7)
