"""Products of activations with kernels, and a gradient that processors compute fast.

The gradient of a kernel sums over all tokens, so one of x and dy has to be transposed in memory. XLA on CPU does that
a column at a time, and computes anew whatever the column is made of. Its own choice is dy, however wide. "transposed"
transposes the narrower of the two. Elsewhere layouts are the compiler's affair ("plain").
"""

from __future__ import annotations

import functools
import math
from typing import Any

import flax.typing
import jax

from tars_jax.model.execution import Execution


def dot_general(execution: Execution) -> flax.typing.DotGeneralT | None:
    """The `dot_general` of flax's layers; None is jax's own."""
    return _dot_general if execution.products_backend == "transposed" else None


def product(execution: Execution, x: jax.Array, kernel: jax.Array) -> jax.Array:
    """[..., D] and [D, F] to [..., F]."""
    return _product(x, kernel, 1) if execution.products_backend == "transposed" else x @ kernel


def _dot_general(lhs: jax.Array, rhs: jax.Array, dimension_numbers: Any, precision: Any = None) -> jax.Array:
    """The last axes of activations with the first of a kernel."""
    return _product(lhs, rhs, len(dimension_numbers[0][0]))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _product(x: jax.Array, kernel: jax.Array, axes: int) -> jax.Array:
    return _forward(x, kernel, axes)[0]


def _forward(x: jax.Array, kernel: jax.Array, axes: int) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return _sum_over(x, range(x.ndim - axes, x.ndim), kernel, range(axes)), (x, kernel)


def _backward(axes: int, residuals: tuple[jax.Array, jax.Array], dy: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, kernel = residuals
    tokens, features = range(x.ndim - axes), range(axes, kernel.ndim)
    dx = _sum_over(dy, range(len(tokens), dy.ndim), kernel, features)
    if math.prod(kernel.shape[:axes]) <= math.prod(kernel.shape[axes:]):
        return dx, _sum_over(x, tokens, dy, tokens)
    dkernel = _sum_over(dy, tokens, x, tokens)
    return dx, dkernel.transpose(*range(len(features), kernel.ndim), *range(len(features)))


_product.defvjp(_forward, _backward)


def _sum_over(a: jax.Array, axes_a: range, b: jax.Array, axes_b: range) -> jax.Array:
    return jax.lax.dot_general(a, b, ((tuple(axes_a), tuple(axes_b)), ((), ())))
