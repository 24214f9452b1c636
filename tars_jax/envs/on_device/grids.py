"""Cells of a board: directions, ways through a maze, and boards drawn to pixels.

Axes: R rows, C columns of a board, S pixels of a cell's side, K kinds of cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax.agent.actions import GRID, Click, Hotkey, Point

DIRECTIONS = ("up", "right", "down", "left")
MOVES = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)], np.int32)  # row and column, in the order of DIRECTIONS
ARROWS = tuple(Hotkey((direction,)) for direction in DIRECTIONS)
FAR = 1000  # a distance: there is no way

Color = tuple[int, int, int]


def cell_clicks(side: int) -> tuple[Click, ...]:
    """A click on the center of each cell of a square board, row after row."""
    centers = [round((place + 0.5) * GRID / side) for place in range(side)]
    return tuple(Click(Point(x, y)) for y in centers for x in centers)


def cell_at(point: jax.Array, side: int) -> jax.Array:
    """[2] row and column of the cell at a point [2] (x, y) of 0..1000."""
    return jnp.clip(point[::-1] * side // GRID, 0, side - 1)


def distances(free: jax.Array, target: jax.Array) -> jax.Array:
    """Moves from each cell to the target, int32 [R, C]; FAR where there is no way.

    Args:
        free: [R, C] bool, cells that can be stood on.
        target: [2] row and column.
    """
    rows, columns = free.shape
    start = jnp.full((rows, columns), FAR, jnp.int32).at[target[0], target[1]].set(0)

    def relax(_: int, found: jax.Array) -> jax.Array:
        onward = jnp.stack([shifted(found, move, FAR) for move in MOVES]).min(0) + 1
        return jnp.where(free, jnp.minimum(found, onward), FAR).astype(jnp.int32)

    return jax.lax.fori_loop(0, rows * columns // 2, relax, start)


def shifted(board: jax.Array, move: np.ndarray, outside: int | bool) -> jax.Array:
    """[R, C] what lies one move away from each cell."""
    rows, columns = board.shape
    padded = jnp.pad(board, 1, constant_values=outside)
    return padded[1 + move[0] : 1 + move[0] + rows, 1 + move[1] : 1 + move[1] + columns]


def any_of(key: jax.Array, allowed: jax.Array) -> jax.Array:
    """[] int32: the index of one that is allowed, evenly; any if none is."""
    return jnp.argmax(jnp.where(allowed, jax.random.uniform(key, allowed.shape), -1.0)).astype(jnp.int32)


def square(side: int, color: Color, background: Color, inset: int = 0) -> np.ndarray:
    """uint8 [S, S, 3]: a square on its background."""
    sprite = np.empty((side, side, 3), np.uint8)
    sprite[:] = background
    sprite[inset : side - inset, inset : side - inset] = color
    return sprite


def disc(side: int, color: Color, background: Color) -> np.ndarray:
    """uint8 [S, S, 3]: a disc that nearly fills its cell."""
    at = np.arange(side) - (side - 1) / 2
    inside = at[:, None] ** 2 + at**2 <= (0.45 * side) ** 2
    return np.where(inside[..., None], np.array(color, np.uint8), np.array(background, np.uint8))


def paint(kinds: jax.Array, sprites: Sequence[np.ndarray] | np.ndarray) -> jax.Array:
    """A board of kinds [R, C] to pixels uint8 [R * S, C * S, 3]; sprites are [K, S, S, 3]."""
    table = jnp.asarray(np.stack(list(sprites)))
    rows, columns = kinds.shape
    return jnp.moveaxis(table[kinds], 1, 2).reshape(rows * table.shape[1], columns * table.shape[2], 3)
