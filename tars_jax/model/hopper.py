"""Grouped products on NVIDIA GPUs of the Hopper generation, with the Pallas kernels that jax brings along.

Axes: R rows, E experts, D inner and F outer dimension of a product.

They belong to the installed jax, so they fit it, as tokamax's need not (0.0.12 fails under jax 0.11). The kernels walk
over tiles of rows that belong to one expert; what they leave where no expert has rows is not said.
"""

from __future__ import annotations

from typing import Any

import jax

from tars_jax import InputError
from tars_jax.model.execution import HOPPER_UNIT, fits_hopper

# Sides of a tile, and how many of the inner dimension are under way, as much as shared memory holds; a wider outer one
# where it fits. Two neighbors of the outer dimension are computed one after the other and share what they read.
ROWS, INNER = 128, 64
WIDE, NARROW = (192, 4), (128, 5)
NEIGHBOURS = 2


@jax.custom_vjp
def hopper_dot(rows: jax.Array, kernels: jax.Array, sizes: jax.Array) -> jax.Array:
    """rows [R, D], kernels [E, D, F], sizes [E] int32 -> [R, F]; expert e has the next sizes[e] rows.

    Numbers behind the last expert's rows, of arguments and of the gradient, have to be finite: a tile reaches over
    them.

    Raises InputError for types and shapes that the kernels do not take: bfloat16, D and F multiples of 128.
    """
    return _product(rows, kernels, sizes, transposed=False)


def _forward(rows: jax.Array, kernels: jax.Array, sizes: jax.Array) -> tuple[jax.Array, Any]:
    return hopper_dot(rows, kernels, sizes), (rows, kernels, sizes)


def _backward(kept: Any, gradient: jax.Array) -> tuple[jax.Array, jax.Array, None]:
    from jax.experimental.pallas.ops.gpu.transposed_ragged_dot_mgpu import transposed_ragged_dot

    rows, kernels, sizes = kept
    of_kernels = transposed_ragged_dot(
        rows,
        gradient,
        group_sizes=sizes,
        **tile_sizes(gradient.shape[1]),
    )
    return _product(gradient, kernels, sizes, transposed=True), of_kernels, None


hopper_dot.defvjp(_forward, _backward)


def _product(rows: jax.Array, kernels: jax.Array, sizes: jax.Array, *, transposed: bool) -> jax.Array:
    from jax.experimental.pallas.ops.gpu.ragged_dot_mgpu import ragged_dot

    if rows.dtype != kernels.dtype or not fits_hopper(kernels.dtype.name, *kernels.shape[1:]):
        raise InputError(
            "with execution.experts=hopper model.dtype must be bfloat16, and widths multiples of "
            f"{HOPPER_UNIT}; got {kernels.dtype} and {kernels.shape[1]}x{kernels.shape[2]}"
        )
    y: jax.Array = ragged_dot(
        rows,
        kernels,
        group_sizes=sizes,
        transpose_rhs=transposed,
        **tile_sizes(kernels.shape[1 if transposed else 2]),
    )
    return y


def tile_sizes(outer: int) -> dict[str, Any]:
    side, steps = WIDE if outer % (NEIGHBOURS * WIDE[0]) == 0 else NARROW
    neighbors = NEIGHBOURS if outer % (NEIGHBOURS * side) == 0 else 1
    return {
        "block_m": ROWS,
        "block_n": side,
        "block_k": INNER,
        "max_concurrent_steps": steps,
        "grid_block_n": neighbors,
    }
