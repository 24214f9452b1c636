"""Rotary positions that know time, rows and columns of an image (M-RoPE).

Axes: B batch, T tokens, H head dimension.

A text token has the same number in all three coordinates. An image that starts at position p has time p, rows p + row,
columns p + column; the text after it goes on at p + max(rows, columns). (Qwen3-VL; transformers `get_rope_index`.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.model.yarn import Yarn


def rope_positions(
    is_image: Iterable[bool], grid: tuple[int, int] | Sequence[tuple[int, int]], start: int = 0
) -> tuple[np.ndarray, int]:
    """Positions [3, T] of a run of tokens, and the position that the next token takes.

    Args:
        is_image: [T], True at image tokens. Every rows * columns consecutive image tokens are one image.
        grid: (rows, columns) of decoder tokens in each image; or one such pair for each image in turn.
        start: the first free position; not the cache length, which grows faster.

    Raises:
        InputError: an image is not whole, or there are more or fewer images than grids.
    """
    flags = np.fromiter(is_image, bool)
    each = not (len(grid) and np.ndim(grid[0]) == 0)
    grids: Iterator[Any] = iter(grid) if each else itertools.repeat(grid)
    positions = np.empty((3, flags.size), np.int32)
    position, index = start, 0
    while index < flags.size:
        if flags[index]:
            rows, columns = next(grids, (0, 0))
            count = rows * columns
            if not count:
                raise InputError(f"images must be as many as grids ({len(grid)}); got another one at token {index}")
            if index + count > flags.size or not flags[index : index + count].all():
                got = int(np.append(flags[index:], False).argmin())
                raise InputError(f"the image at token {index} must be {count} image tokens in a row; got {got}")
            image = np.stack([np.zeros(count), *np.divmod(np.arange(count), columns)])
            positions[:, index : index + count] = position + image
            position += max(rows, columns)
            index += count
        else:
            positions[:, index] = position
            position += 1
            index += 1
    if each and next(grids, None) is not None:
        raise InputError(f"images must be as many as grids ({len(grid)}); got fewer")
    return positions, position


def rotary(
    positions: jax.Array,
    head_dim: int,
    theta: float,
    sections: tuple[int, int, int],
    interleaved: bool = True,
    scaling: Yarn | None = None,
) -> tuple[jax.Array, jax.Array]:
    """Cosines and sines [B, T, H / 2] for positions [3, B, T].

    Interleaved (Qwen3-VL), frequencies are dealt in turn: index 1, 4, ... to rows and 2, 5, ... to columns until their
    sections are used up, all others to time. Else (Qwen2.5-VL) the first section turns with time, the next with rows,
    the last with columns. With YaRN, cosines and sines are larger, and attention grows by the square of that.
    """
    half = head_dim // 2
    # Rounded as transformers does: at position 100,000 a frequency's last bit is the second digit of a cosine.
    exponent = np.arange(half, dtype=np.float32) / np.float32(half)
    frequency = np.float32(1) / np.power(theta, exponent.astype(np.float64)).astype(np.float32)
    if scaling is not None:
        frequency *= scaling.slowdown(head_dim, theta)
    if interleaved:
        axis = np.zeros(half, np.int32)
        axis[1 : 3 * sections[1] : 3] = 1
        axis[2 : 3 * sections[2] : 3] = 2
    else:
        axis = np.repeat(np.arange(3), sections)
    angle = jnp.moveaxis(positions, 0, -1)[..., axis].astype(jnp.float32) * frequency
    size = 1.0 if scaling is None else scaling.attention_factor
    return _computed_once(size * jnp.cos(angle)), _computed_once(size * jnp.sin(angle))


def _computed_once(x: jax.Array) -> jax.Array:
    """[..., F] as it is, through a product with 1, into which XLA fuses nothing.

    On a processor it would fuse a cosine into whatever reads it, and compute it for each head of each layer again
    where the layers are not in a loop: a fifteenth of an update of `tests/benchmarks/update_tokens.py`.
    """
    return jnp.einsum("...F,FG->...G", x, jnp.eye(x.shape[-1], dtype=x.dtype), precision="highest")


def rotate(x: jax.Array, cosine: jax.Array, sine: jax.Array) -> jax.Array:
    """Turn [B, T, N, H] by the angles [B, T, H / 2]: the first half of H pairs with the second."""
    first, second = jnp.split(x, 2, axis=-1)
    cosine, sine = cosine[:, :, None], sine[:, :, None]
    rotated = jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
    return rotated.astype(x.dtype)
