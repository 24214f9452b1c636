"""Each expert on its own tokens by ragged products: rows sorted by expert, one product over all groups (TPU, GPU).

Axes: G tokens, K experts of a token, R = G * K assignments, D width, E experts, F expert width.

A product takes rows [R, .], kernels [E, ., .] and the sizes of the groups [E], and gives rows; what stands behind the
last run is not said, of its result and of the gradient for its rows. `jax.lax.ragged_dot` is native on TPU, but its
gradient for the kernels is not: it computes every expert on every row; on CPU and GPU it does so forwards too.
Megablox: Pallas kernels for TPU, gradients too. Tokamax: kernels for GPU, from the package of that name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.pallas.ops.tpu import megablox

from tars_jax import InputError
from tars_jax.model.expert_groups import ExpertGroups, ExpertWeights
from tars_jax.model.remat import EXPERTS_OUT

RaggedDot = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
MEGABLOX_ROWS = 512  # of a block
MEGABLOX_BLOCK = 1024  # of the product's inner and outer dimension, at most
MEGABLOX_UNIT = 128  # what a block is a multiple of: the lanes of a TPU


def ragged_experts(
    x: jax.Array,
    gates: jax.Array,
    groups: ExpertGroups,
    weights: ExpertWeights,
    dot: RaggedDot,
    *,
    sparse: bool = False,
) -> jax.Array:
    """x [G, D], gates [G, K] -> [G, D], the sum over a token's experts.

    The last expert also takes the assignments of nobody, with gates of 0: then every row has a product, and no pass
    over them all is needed to erase what a kernel leaves behind its last run. Not if most are nobody's (`sparse`).
    """
    top_k, places = gates.shape[1], jnp.argsort(groups.order)
    real = jnp.arange(gates.size) < groups.sizes.sum()
    gate = jnp.where(real, gates.ravel()[groups.order], 0)[:, None]
    sizes = groups.sizes if sparse else groups.sizes.at[-1].add(gates.size - groups.sizes.sum())

    def erased(rows: jax.Array) -> jax.Array:
        """Neither what stands behind the last run nor its gradient gets through."""
        return jnp.where(real[:, None], rows, 0) if sparse else rows

    rows = erased(_moved(x, groups.order, places, top_k))
    a, b = (checkpoint_name(erased(dot(rows, kernels, sizes)), EXPERTS_OUT) for kernels in (weights.gate, weights.up))
    # Gates weigh the hidden values, not the results, so the backward pass needs no results.
    y = erased(dot(gate * nn.silu(a) * b, weights.down, sizes))
    return _moved(y, places, groups.order, 1).reshape(-1, top_k, x.shape[1]).sum(1)


def megablox_dot(rows: jax.Array, kernels: jax.Array, sizes: jax.Array, interpret: bool = False) -> jax.Array:
    """A ragged product; interpreted, the same kernel runs without a TPU."""
    num_rows = rows.shape[0]
    block = min(MEGABLOX_ROWS, -(-num_rows // 8) * 8)
    rows = jnp.pad(rows, ((0, -num_rows % block), (0, 0)))
    blocks = (block, *map(_block, kernels.shape[1:]))
    return megablox.gmm(rows, kernels, sizes, rows.dtype, blocks, interpret=interpret)[:num_rows]


def _block(size: int) -> int:
    """The longest block without padding; a dimension that none divides is padded."""
    longest = min(MEGABLOX_BLOCK, size)
    fitting = (block for block in range(longest, 0, -MEGABLOX_UNIT) if size % block == 0)
    return next(fitting, longest)


def tokamax_dot() -> RaggedDot:
    """The product of the tokamax package. Raises InputError where it is missing."""
    try:
        import tokamax
        from absl import flags
    except ImportError as error:
        raise InputError(
            "execution.experts: 'tokamax' needs the package tokamax: pip install 'tars_jax[gpu]', or take 'ragged'"
        ) from error
    if not flags.FLAGS.is_parsed():
        flags.FLAGS.mark_as_parsed()  # else tokamax reads our command line as its own, and ends at the first flag
    dot: RaggedDot = tokamax.ragged_dot
    return dot


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _moved(x: jax.Array, order: jax.Array, places: jax.Array, top_k: int) -> jax.Array:
    """[R / K, D] to [R, D]: row i is row order[i] // K of x. The gradient is a gather, where XLA would scatter.

    order [R] is a permutation, places [R] its inverse.
    """
    return x[order // top_k]


def _moved_for_gradient(x: jax.Array, order: jax.Array, places: jax.Array, top_k: int) -> tuple[jax.Array, jax.Array]:
    return _moved(x, order, places, top_k), places


def _moved_backward(top_k: int, places: jax.Array, gradient: jax.Array) -> tuple[jax.Array, None, None]:
    return gradient[places].reshape(-1, top_k, gradient.shape[-1]).sum(1), None, None


_moved.defvjp(_moved_for_gradient, _moved_backward)
