"""What transformers makes of images (goldens/make.py), and what no image can be."""

from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tars_jax import InputError
from tars_jax.model.config import MAX_PIXELS, MIN_PIXELS, VisionConfig, smart_resize
from tars_jax.model.preprocessing import fit_image, patches
from tars_jax.model.presets import preset

GOLDEN = np.load(Path(__file__).with_name("goldens") / "preprocessing.npz")


@pytest.mark.parametrize("patch", [14, 16])
def test_sizes_are_those_of_transformers(patch: int) -> None:
    got = [smart_resize(height, width, 2 * patch) for height, width in GOLDEN["sizes"].tolist()]
    assert got == [tuple(size) for size in GOLDEN[f"read_at_{patch}"].tolist()]


def test_sizes_by_hand() -> None:
    assert smart_resize(1080, 1920, 32, max_pixels=10**7) == (1088, 1920)  # 33.75 rows round to 34
    assert smart_resize(80, 48, 32) == (64, 64)  # 2.5 and 1.5 both round to the even 2
    # 2,073,600 pixels are 2.0663 times too many: both sides shrink by 1.4375, to 751.3 and 1335.7, then down.
    assert smart_resize(1080, 1920, 28) == (728, 1316)


@given(st.integers(1, 4000), st.integers(1, 4000), st.sampled_from([28, 32]))
def test_sizes_divide_and_stay_in_bounds(height: int, width: int, unit: int) -> None:
    if max(height, width) > 20 * min(height, width):
        return
    rows, columns = smart_resize(height, width, unit)
    assert rows % unit == 0 and columns % unit == 0 and MIN_PIXELS <= rows * columns <= MAX_PIXELS


def test_an_image_that_is_nearly_a_line() -> None:
    with pytest.raises(InputError, match="a side of an image must be at most 200 times the other; got 201 x 1"):
        smart_resize(201, 1, 28)


@pytest.mark.parametrize("patch", [14, 16])
def test_resized_bytes_and_their_order_are_those_of_transformers(patch: int) -> None:
    config = VisionConfig(patch=patch, merge=2, temporal=2, pixel_mean=(0.0,) * 3, pixel_std=(1.0,) * 3)
    image = fit_image(Image.fromarray(GOLDEN[f"image_{patch}"]), config)
    got = np.rint(patches(image[None], config)[0] * 255).astype(np.uint8)
    np.testing.assert_array_equal(got, GOLDEN[f"patches_{patch}"])


def test_a_screenshot_of_a_right_size_is_left_alone() -> None:
    image = np.random.default_rng(0).integers(0, 256, (256, 288, 3), np.uint8)
    np.testing.assert_array_equal(fit_image(Image.fromarray(image), preset("qwen3-vl-8b").vision), image)


def test_what_is_transparent_stands_on_white() -> None:
    """Black below: at alpha 0 it is not seen, at 51 it is a fifth; 255 - 51 = 204."""
    config = VisionConfig(patch=2, merge=1, min_pixels=1)
    alpha = np.array([[0, 51], [255, 0]], np.uint8)
    black = Image.fromarray(np.stack([*[np.zeros_like(alpha)] * 3, alpha], -1))
    expected = [[255, 204], [0, 255]]
    assert (fit_image(black, config) == np.array(expected)[..., None]).all()
    assert (fit_image(black.convert("LA"), config) == np.array(expected)[..., None]).all()
    palette = Image.fromarray(np.array([[0, 1], [1, 0]], np.uint8), "P")
    palette.putpalette([0, 0, 0, 9, 9, 9])
    palette.info["transparency"] = 0
    assert fit_image(palette, config)[..., 0].tolist() == [[255, 9], [9, 255]]


@pytest.mark.parametrize("name", ["qwen3-vl-8b", "qwen2.5-vl-7b"])
def test_host_and_device_make_the_same_patches(name: str) -> None:
    config = preset(name).vision
    side = config.patch * config.merge
    image = np.random.default_rng(0).integers(0, 256, (2, side, 2 * side, 3), np.uint8)
    device = jax.jit(lambda images: patches(images, config))(image)
    np.testing.assert_allclose(device, patches(image, config), atol=3e-7)
