"""The vision encoder: order of patches, ranges, interpolation."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.config import VisionConfig
from tars_jax.model.preprocessing import patches
from tars_jax.model.vision import VisionEncoder, grid_interpolation, patch_coordinates, windowed_attention, windows_of

CONFIG = VisionConfig(patch=4, merge=2, grid=3, width=8, depth=1, heads=2, mlp_width=16)


def test_patches_of_one_token_are_neighbors() -> None:
    """A 2 x 4 grid of patches of 2 x 2 pixels, every pixel holding its patch's number in reading order."""
    number = np.arange(8).reshape(2, 4).repeat(2, axis=0).repeat(2, axis=1)
    image = np.stack([number, number, number], axis=-1).astype(np.uint8)[None]
    order = (np.asarray(patches(image, VisionConfig(patch=2, merge=2))) + 1.0) * 127.5
    assert order.shape == (1, 8, 12)
    # Two tokens of 2 x 2 patches: the left one is 0, 1 over 4, 5, the right one 2, 3 over 6, 7.
    np.testing.assert_allclose(order[0, :, 0], [0, 1, 4, 5, 2, 3, 6, 7], atol=1e-4)
    rows, columns = patch_coordinates(2, 4, 2)
    assert (rows * 4 + columns).tolist() == [0, 1, 4, 5, 2, 3, 6, 7]


def test_pixels_of_a_patch_go_by_channel_row_and_column() -> None:
    image = np.arange(12, dtype=np.uint8).reshape(1, 2, 2, 3)  # pixel (p, q), channel c: 6p + 3q + c
    got = (np.asarray(patches(image, VisionConfig(patch=2, merge=1))) + 1.0) * 127.5
    np.testing.assert_allclose(got[0, 0], [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11], atol=1e-4)


def test_bytes_fill_minus_one_to_one() -> None:
    image = np.array([0, 255, 51], np.uint8).reshape(1, 1, 1, 3)
    np.testing.assert_allclose(patches(image, VisionConfig(patch=1, merge=1))[0, 0], [-1.0, 1.0, -0.6], atol=1e-6)


def test_interpolation_at_its_own_size_is_the_grid() -> None:
    np.testing.assert_allclose(grid_interpolation(6, 6), np.eye(6), atol=1e-6)


def test_interpolation_is_linear_between_aligned_corners() -> None:
    # Five points over a grid of three: 0, 0.5, 1, 1.5, 2.
    expected = np.array([[2, 0, 0], [1, 1, 0], [0, 2, 0], [0, 1, 1], [0, 0, 2]]) / 2
    np.testing.assert_allclose(grid_interpolation(5, 3), expected, atol=1e-6)
    np.testing.assert_allclose(grid_interpolation(7, 4).sum(1), 1.0, atol=1e-6)


def test_encoder_sees_place_and_content() -> None:
    encoder = VisionEncoder(CONFIG, out_width=10)
    image = jax.random.randint(jax.random.key(1), (2, 16, 24, 3), 0, 256).astype(jnp.uint8)
    variables = jax.jit(encoder.init)(jax.random.key(0), image)
    apply: Any = jax.jit(lambda images: encoder.apply(variables, images)[0])
    tokens = apply(image)
    assert tokens.shape == (2, 2 * 3, 10)
    np.testing.assert_allclose(apply(image[::-1])[::-1], tokens, atol=1e-5)  # images do not see each other
    blank = apply(jnp.zeros_like(image))
    assert np.abs(np.diff(np.asarray(blank[0]), axis=0)).min() > 0  # equal patches, different places
    assert np.abs(np.asarray(tokens - blank)).max() > 1e-2


@pytest.mark.parametrize("size", [(12, 16), (16, 20), (15, 16)])
def test_sizes_that_do_not_divide(size: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=f"must be multiples of 8 pixels; got {size[0]}x{size[1]}"):
        CONFIG.token_grid(*size)


def test_token_grid() -> None:
    assert CONFIG.token_grid(16, 24) == (2, 3)
    assert dataclasses.replace(CONFIG, merge=1).token_grid(16, 24) == (4, 6)


def test_windows_by_hand() -> None:
    """5 x 3 patches in windows of 2 x 2: the last row and the last column have windows of their own."""
    row, column = patch_coordinates(5, 3, 1)
    assert windows_of(row, column, 2).tolist() == [
        [0, 1, 3, 4],
        [2, 5, -1, -1],
        [6, 7, 9, 10],
        [8, 11, -1, -1],
        [12, 13, -1, -1],
        [14, -1, -1, -1],
    ]


@pytest.mark.slow
def test_attention_stays_in_its_window() -> None:
    row, column = patch_coordinates(4, 6, 2)
    windows = windows_of(row, column, side=4)
    q, k, v = (jax.random.normal(key, (2, 24, 2, 4)) for key in jax.random.split(jax.random.key(0), 3))
    got = windowed_attention(q, k, v, windows)
    for window in windows:
        members = window[window >= 0]
        expected = jax.nn.dot_product_attention(q[:, members], k[:, members], v[:, members])
        np.testing.assert_allclose(got[:, members], expected, atol=1e-6)


def test_impossible_encoders() -> None:
    with pytest.raises(InputError, match=r"vision.deepstack must be blocks 0 to 0; got \(1,\)"):
        dataclasses.replace(CONFIG, deepstack=(1,))
    with pytest.raises(InputError, match="vision.window must be a multiple of 8 pixels; got 12"):
        dataclasses.replace(CONFIG, window=12)
    with pytest.raises(InputError, match="vision.width must be a multiple of 16, .*; got 8"):
        dataclasses.replace(CONFIG, heads=4)
    with pytest.raises(InputError, match="vision.heads must be a whole number of 1 or more; got 0"):
        dataclasses.replace(CONFIG, heads=0)
