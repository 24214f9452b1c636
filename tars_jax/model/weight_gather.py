"""Experts on several devices by all-gather of their kernels (weight_gather): no token moves, unlike in `dispatch`.

Axes: G tokens of one device, K experts of a token, D width, E experts, F expert width.

Each device gathers the kernels of a layer, uses them on its own tokens and forgets them; gradients are summed and
scattered in the backward pass. A layer's kernels are 3 E D F numbers, its tokens K G D, there and back: with 32768
tokens a device and 128 experts of 1536, kernels are less, and they need no capacity. The gathers are written out, one
mesh axis after the other: left to the compiler, they become all-reduces of whole kernels, twice the bytes.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
from jax.sharding import PartitionSpec

from tars_jax.model.expert_groups import ExpertWeights
from tars_jax.model.grouped import grouped_experts
from tars_jax.model.sharding import AXIS_RULES

BATCH, EXPERT, FSDP, TENSOR = AXIS_RULES["batch"], "expert", "fsdp", "tensor"


def can_gather(num_tokens: int, weights: ExpertWeights) -> bool:
    """Whether there is a mesh of several devices, and its axes divide what lies on them. Not for quantized kernels,
    whose scales are not gathered as they are."""
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty or mesh.size == 1 or not isinstance(weights.gate, jax.Array):
        return False
    num_experts, depth, width = weights.gate.shape
    holders = mesh.shape["data"] * mesh.shape[FSDP] * mesh.shape[EXPERT]
    return not (
        num_tokens % holders
        or num_experts % mesh.shape[EXPERT]
        or depth % mesh.shape[FSDP]
        or width % mesh.shape[TENSOR]
    )


def weight_gather_experts(
    x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: ExpertWeights, backend: str
) -> jax.Array:
    """x [G, D], gates [G, K], chosen [G, K] of all devices -> [G, D]; an expert beyond the last stands for none."""
    tokens = PartitionSpec(BATCH, None)
    wide: Any = PartitionSpec(EXPERT, FSDP, TENSOR)
    narrow: Any = PartitionSpec(EXPERT, TENSOR, FSDP)
    return jax.shard_map(
        functools.partial(_on_one_device, backend=backend),
        in_specs=(tokens, tokens, tokens, ExpertWeights(wide, wide, narrow)),
        out_specs=tokens,
        check_vma=False,
    )(x, gates, chosen, weights)


def _on_one_device(
    x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: ExpertWeights, backend: str
) -> jax.Array:
    whole = ExpertWeights(*(_whole(kernel, axis) for kernel, axis in zip(weights, (1, 1, 2), strict=True)))
    y = grouped_experts(x, gates, chosen, whole, backend)
    return jax.lax.psum(y, TENSOR) if jax.lax.axis_size(TENSOR) > 1 else y


def _whole(kernel: jax.Array, depth_axis: int) -> jax.Array:
    """[E, D, F] or [E, F, D] over fsdp and expert to all of it; the longer way, over the experts, last."""
    for name, axis in ((FSDP, depth_axis), (EXPERT, 0)):
        if jax.lax.axis_size(name) > 1:
            kernel = jax.lax.all_gather(kernel, name, axis=axis, tiled=True)
    return kernel
