"""Grouped products on NVIDIA GPUs of the Hopper generation, with the Pallas kernels that jax brings along.

Axes: R rows, E experts, D inner and F outer dimension of a product.

They belong to the installed jax, so they fit it, as tokamax's need not (0.0.12 fails under jax 0.11). The kernels walk
over tiles of rows that belong to one expert; what they leave where no expert has rows is not said, and becomes 0 here.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from tars_jax import InputError

ROWS, OUTER, INNER = 128, 128, 64  # of a tile; bfloat16
STEPS = 4  # tiles of the inner dimension under way
NEIGHBOURS = 1  # tiles of the outer dimension that are computed one after the other


@jax.custom_vjp
def hopper_dot(rows: jax.Array, kernels: jax.Array, sizes: jax.Array) -> jax.Array:
    """rows [R, D], kernels [E, D, F], sizes [E] int32 -> [R, F]; expert e has the next sizes[e] rows.

    Raises InputError for types and shapes that the kernels do not take: bfloat16, D and F multiples of 128.
    """
    return _product(rows, kernels, sizes, transposed=False)


def _forward(rows: jax.Array, kernels: jax.Array, sizes: jax.Array) -> tuple[jax.Array, Any]:
    return hopper_dot(rows, kernels, sizes), (rows, kernels, sizes)


def _backward(kept: Any, gradient: jax.Array) -> tuple[jax.Array, jax.Array, None]:
    from jax.experimental.pallas.ops.gpu.transposed_ragged_dot_mgpu import transposed_ragged_dot

    rows, kernels, sizes = kept
    gradient = _real(gradient, sizes)  # a tile reaches over its expert's last row, and 0 * NaN is NaN
    of_kernels = transposed_ragged_dot(
        _real(rows, sizes),
        gradient,
        group_sizes=sizes,
        block_m=ROWS,
        block_n=OUTER,
        block_k=INNER,
        max_concurrent_steps=STEPS,
        grid_block_n=NEIGHBOURS,
    )
    return _product(gradient, kernels, sizes, transposed=True), of_kernels, None


hopper_dot.defvjp(_forward, _backward)


def _product(rows: jax.Array, kernels: jax.Array, sizes: jax.Array, *, transposed: bool) -> jax.Array:
    from jax.experimental.pallas.ops.gpu.ragged_dot_mgpu import ragged_dot

    if rows.dtype != jnp.bfloat16 or kernels.dtype != jnp.bfloat16 or any(side % ROWS for side in kernels.shape[1:]):
        raise InputError(
            "execution.experts: 'hopper' takes model.dtype bfloat16 and widths that are multiples of "
            f"{ROWS}, got {kernels.dtype} and {kernels.shape[1]}x{kernels.shape[2]}"
        )
    y = ragged_dot(
        rows,
        kernels,
        group_sizes=sizes,
        block_m=ROWS,
        block_n=OUTER,
        block_k=INNER,
        max_concurrent_steps=STEPS,
        grid_block_n=NEIGHBOURS,
        transpose_rhs=transposed,
    )
    return _real(y, sizes)


def _real(rows: jax.Array, sizes: jax.Array) -> jax.Array:
    """0 behind the last expert's rows."""
    return jnp.where((jnp.arange(rows.shape[0]) < sizes.sum())[:, None], rows, 0)
