"""Golden positions and frequencies, derived by hand."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.model.positions import rope_positions, rotary, rotate
from tars_jax.model.yarn import Yarn, attention_factor

TEXT, IMAGE = False, True


def test_text_an_image_text_and_two_images() -> None:
    run = [TEXT, TEXT, *[IMAGE] * 6, TEXT, *[IMAGE] * 12]
    positions, following = rope_positions(run, grid=(2, 3))
    # Two text tokens at 0 and 1. The image starts at 2 and takes max(2, 3) = 3, so the text stands at 5; the images
    # begin at 6 and 9, and what follows them at 12.
    time = [0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 6, 6, 6, 6, 6, 9, 9, 9, 9, 9, 9]
    row = [0, 1, 2, 2, 2, 3, 3, 3, 5, 6, 6, 6, 7, 7, 7, 9, 9, 9, 10, 10, 10]
    column = [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8, 6, 7, 8, 9, 10, 11, 9, 10, 11]
    assert positions.tolist() == [time, row, column]
    assert positions.dtype == np.int32
    assert following == 12


def test_a_tall_image_advances_by_its_rows() -> None:
    positions, following = rope_positions([IMAGE] * 3 + [TEXT], grid=(3, 1), start=4)
    assert positions.tolist() == [[4, 4, 4, 7], [4, 5, 6, 7], [4, 4, 4, 7]]
    assert following == 8


@given(st.lists(st.sampled_from(["text", "image"]), max_size=8), st.integers(0, 8))
def test_positions_go_on_where_the_last_run_ended(pieces: list[str], cut: int) -> None:
    def flags(some: list[str]) -> list[bool]:
        return [flag for piece in some for flag in ([IMAGE] * 6 if piece == "image" else [TEXT])]

    whole, end = rope_positions(flags(pieces), (2, 3), start=3)
    first, middle = rope_positions(flags(pieces[:cut]), (2, 3), start=3)
    second, last = rope_positions(flags(pieces[cut:]), (2, 3), start=middle)
    np.testing.assert_array_equal(np.concatenate([first, second], axis=1), whole)
    assert last == end


@pytest.mark.parametrize("theta", [1e6, 5e6])
def test_far_positions_turn_as_far_as_in_transformers(theta: float) -> None:
    """Where a frequency's last bit counts most; one of the 64 of 5e6 differs in it."""
    with np.load(Path(__file__).parent / "goldens" / "frequencies.npz") as goldens:
        frequency = goldens[f"{theta:.0f}"]
    for position, within in ((4096, 1e-5), (32_768, 5e-5), (262_144, 3e-4)):
        positions = jnp.full((3, 1, 1), position, jnp.int32)
        turn = jax.jit(lambda positions: rotary(positions, head_dim=128, theta=theta, sections=(24, 20, 20)))
        cosine, sine = turn(positions)
        angle = np.float32(position) * frequency
        np.testing.assert_allclose(cosine[0, 0], np.cos(angle), atol=within)
        np.testing.assert_allclose(sine[0, 0], np.sin(angle), atol=within)


def test_frequencies_are_dealt_to_time_row_and_column_in_turn() -> None:
    """Qwen3-VL's interleaving: 1, 4, ... to rows and 2, 5, ... to columns until the sections are used up."""
    angles = []
    for axis in range(3):
        positions = np.zeros((3, 1, 1), np.int32)
        positions[axis] = 1
        cosine, sine = rotary(jnp.asarray(positions), head_dim=16, theta=10_000.0, sections=(4, 2, 2))
        angles.append(np.arctan2(sine, cosine)[0, 0])
    frequency = 10_000.0 ** (-np.arange(8) / 8)
    turned_by = [0, 1, 2, 0, 1, 2, 0, 0]  # four of time, two of rows, two of columns
    for axis in range(3):
        expected = np.where(np.array(turned_by) == axis, frequency, 0.0)
        np.testing.assert_allclose(angles[axis], expected, rtol=1e-5)


def test_sections_of_the_open_family() -> None:
    """24, 20, 20 of head dimension 128: rows have 1, 4, ..., 58, columns 2, 5, ..., 59, time all others."""
    positions = np.array([1, 0, 0], np.int32).reshape(3, 1, 1)
    _, sine = rotary(jnp.asarray(positions), head_dim=128, theta=5e6, sections=(24, 20, 20))
    assert np.flatnonzero(np.asarray(sine)[0, 0]).tolist() == [*range(0, 60, 3), 60, 61, 62, 63]


def test_rotate_pairs_the_first_half_with_the_second() -> None:
    x = jnp.asarray([1.0, 2.0, 3.0, 4.0]).reshape(1, 1, 1, 4)
    cosine, sine = jnp.asarray([[[0.0, 1.0]]]), jnp.asarray([[[1.0, 0.0]]])
    # (1, 3) rotated by a right angle is (-3, 1); (2, 4) stays.
    np.testing.assert_allclose(rotate(x, cosine, sine)[0, 0, 0], [-3.0, 2.0, 1.0, 4.0])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31 - 1), st.tuples(*[st.integers(0, 500)] * 6), st.integers(0, 500))
def test_rotation_preserves_norms_and_sees_only_differences(seed: int, at: tuple[int, ...], shift: int) -> None:
    q, k = jax.random.normal(jax.random.key(seed), (2, 1, 1, 2, 32))

    def rotated(x: jax.Array, position: tuple[int, ...], offset: int) -> jax.Array:
        positions = jnp.asarray(position).reshape(3, 1, 1) + offset
        return rotate(x, *rotary(positions, 32, 10_000.0, (6, 5, 5)))

    np.testing.assert_allclose(jnp.linalg.norm(rotated(q, at[:3], 0)), jnp.linalg.norm(q), rtol=1e-5)
    here = (rotated(q, at[:3], 0) * rotated(k, at[3:], 0)).sum(-1)
    there = (rotated(q, at[:3], shift) * rotated(k, at[3:], shift)).sum(-1)
    np.testing.assert_allclose(here, there, atol=5e-3)  # fp32 angles of up to 1000 radians


def test_an_image_must_be_whole() -> None:
    with pytest.raises(ValueError, match="the image at token 1 must be 6 image tokens in a row; got 5"):
        rope_positions([TEXT, *[IMAGE] * 5, TEXT], (2, 3))


def test_images_of_several_sizes() -> None:
    run = [*[IMAGE] * 2, TEXT, *[IMAGE] * 3, *[IMAGE] * 2]
    positions, following = rope_positions(run, grid=[(1, 2), (3, 1), (1, 2)])
    # The images begin at 0, 3 and 6: the first takes two positions, the second three; the text stands at 2.
    assert positions.tolist() == [[0, 0, 2, 3, 3, 3, 6, 6], [0, 0, 2, 3, 4, 5, 6, 6], [0, 1, 2, 3, 3, 3, 6, 7]]
    assert following == 8


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([(1, 2)], r"images must be as many as grids \(1\); got another one at token 3"),
        ([(1, 2), (1, 2), (1, 2)], r"images must be as many as grids \(3\); got fewer"),
        ([(1, 2), (2, 2)], "the image at token 3 must be 4 image tokens in a row; got 2"),
    ],
)
def test_grids_that_are_not_those_of_the_images(grid: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rope_positions([IMAGE, IMAGE, TEXT, IMAGE, IMAGE], grid)


def test_frequencies_in_three_chunks() -> None:
    """Qwen2.5-VL: the first two frequencies turn with time, the next three with rows, the last three with columns."""
    positions = jnp.asarray([1, 10, 100], jnp.int32).reshape(3, 1, 1)
    cosine, sine = rotary(positions, 16, 10_000.0, (2, 3, 3), interleaved=False)
    angle = 10_000.0 ** (-np.arange(8) / 8) * [1, 1, 10, 10, 10, 100, 100, 100]
    np.testing.assert_allclose(cosine[0, 0], np.cos(angle), atol=1e-5)
    np.testing.assert_allclose(sine[0, 0], np.sin(angle), atol=1e-5)


@pytest.mark.parametrize(
    ("theta", "factor", "trained", "larger", "expected"),
    [
        (5e6, 3.0, 262_144, 1.109861, {0: 1, 29: 1, 30: 0.958333, 36: 0.708333, 44: 0.375, 45: 1 / 3, 63: 1 / 3}),
        (1e6, 4.0, 32_768, 1.138629, {0: 1, 23: 1, 24: 0.955882, 32: 0.602941, 39: 0.294118, 40: 0.25, 63: 0.25}),
    ],
)
def test_yarn_stretches_as_transformers_does(
    theta: float, factor: float, trained: int, larger: float, expected: dict[int, float]
) -> None:
    """Qwen's settings for Qwen3-VL and Qwen2.5-VL; the numbers are those of transformers 5.23."""
    yarn = Yarn(factor, trained, attention_factor(factor))
    slowdown = yarn.slowdown(128, theta)
    np.testing.assert_allclose(slowdown[list(expected)], list(expected.values()), atol=1e-6)
    positions = jnp.full((3, 1, 1), 7)
    plain = rotary(positions, 128, theta, (24, 20, 20))
    cosine, sine = rotary(positions, 128, theta, (24, 20, 20), scaling=yarn)
    np.testing.assert_allclose(np.hypot(cosine, sine), larger, rtol=1e-6)
    angle, before = (np.arctan2(s, c)[0, 0] for s, c in ((sine, cosine), reversed(plain)))
    np.testing.assert_allclose(angle[29:], before[29:] * slowdown[29:], rtol=1e-4)
