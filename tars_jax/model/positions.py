"""Rotary positions that know time, rows and columns of an image (interleaved M-RoPE).

Axes: B batch, T tokens, H head dimension.

A text token has the same number in all three coordinates. An image that starts at position p has time p, rows p + row,
columns p + column; the text after it goes on at p + max(rows, columns). (Qwen3-VL; transformers `get_rope_index`.)
"""

from __future__ import annotations

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError


def rope_positions(is_image: Iterable[bool], grid: tuple[int, int], start: int = 0) -> tuple[np.ndarray, int]:
    """Positions [3, T] of a run of tokens, and the position that the next token takes.

    Args:
        is_image: [T], True at image tokens. Every rows * columns consecutive image tokens are one image.
        grid: (rows, columns) of decoder tokens in each image.
        start: the first free position; not the cache length, which grows faster.

    Raises:
        InputError: an image is not whole.
    """
    rows, columns = grid
    flags = np.fromiter(is_image, bool)
    positions = np.empty((3, flags.size), np.int32)
    position, index = start, 0
    image = np.stack([np.zeros(rows * columns), *np.divmod(np.arange(rows * columns), columns)]).astype(np.int32)
    while index < flags.size:
        if flags[index]:
            if not flags[index : index + image.shape[1]].all() or index + image.shape[1] > flags.size:
                raise InputError(f"an image takes {image.shape[1]} image tokens in a row, the one at {index} has fewer")
            positions[:, index : index + rows * columns] = position + image
            position += max(rows, columns)
            index += rows * columns
        else:
            positions[:, index] = position
            position += 1
            index += 1
    return positions, position


def rotary(
    positions: jax.Array, head_dim: int, theta: float, sections: tuple[int, int, int]
) -> tuple[jax.Array, jax.Array]:
    """Cosines and sines [B, T, H / 2] for positions [3, B, T].

    Frequencies are dealt in turn: index 1, 4, ... to rows and 2, 5, ... to columns until their sections are used up,
    all others to time.
    """
    half = head_dim // 2
    frequency = theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
    axis = np.zeros(half, np.int32)
    axis[1 : 3 * sections[1] : 3] = 1
    axis[2 : 3 * sections[2] : 3] = 2
    angle = jnp.moveaxis(positions, 0, -1)[..., axis].astype(jnp.float32) * frequency
    return jnp.cos(angle), jnp.sin(angle)


def rotate(x: jax.Array, cosine: jax.Array, sine: jax.Array) -> jax.Array:
    """Turn [B, T, N, H] by the angles [B, T, H / 2]: the first half of H pairs with the second."""
    first, second = jnp.split(x, 2, axis=-1)
    cosine, sine = cosine[:, :, None], sine[:, :, None]
    return jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
