"""Experts on several devices: tokens are sent to the devices that hold their experts, and back (all-to-all).

Axes: G tokens of one device, K experts of a token, A = G * K assignments, D width, E experts of one device, N devices
along the mesh axis `expert`, C rows that one device may send to another.

Tokens lie over the axes of a batch, which `expert` is one of, so no token is held or attended to twice. Experts lie
over `expert`; their kernels are gathered over `fsdp` for the layer and give their part of a sum over `tensor`. Within a
device the rows go through `grouped_experts`.

Shapes are fixed, so C is too. `capacity` None makes it large enough for the worst case, G * min(K, E): nothing is
dropped, and the buffers are up to N times larger than an even routing needs. A number c makes it c times the even
share; what does not fit is dropped, contributes 0, and is counted.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import PartitionSpec

from tars_jax.model.expert_groups import ExpertWeights
from tars_jax.model.grouped import grouped_experts
from tars_jax.model.remat import EXPERTS_OUT
from tars_jax.model.sharding import AXIS_RULES

BATCH, EXPERT, TENSOR = AXIS_RULES["batch"], "expert", "tensor"


def can_dispatch(num_tokens: int, weights: ExpertWeights) -> bool:
    """Whether there is a mesh with an expert axis, and it divides what lies on it."""
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty or mesh.shape[EXPERT] == 1:
        return False
    num_experts, _, width = weights.gate.shape
    holders = mesh.shape["data"] * mesh.shape["fsdp"] * mesh.shape[EXPERT]
    return not (num_tokens % holders or num_experts % mesh.shape[EXPERT] or width % mesh.shape[TENSOR])


def all_to_all_experts(
    x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: ExpertWeights, backend: str, capacity: float | None
) -> tuple[jax.Array, jax.Array]:
    """x [G, D], gates [G, K], chosen [G, K] of all devices -> [G, D] and the number of dropped assignments.

    An expert beyond the last stands for none: such an assignment stays at home, gives 0 and is not counted.
    """
    tokens = PartitionSpec(BATCH, None)
    wide, narrow = (EXPERT, None, TENSOR), (EXPERT, TENSOR, None)
    kernels: Any = ExpertWeights(*(_laid_out(*each) for each in zip(weights, (wide, wide, narrow), strict=True)))
    return jax.shard_map(
        functools.partial(_on_one_device, backend=backend, capacity=capacity),
        in_specs=(tokens, tokens, tokens, kernels),
        out_specs=(tokens, PartitionSpec()),
        check_vma=False,
    )(x, gates, chosen, weights)


def _laid_out(kernel: Any, axes: tuple[str | None, ...]) -> Any:
    """Specs of a kernel, or of the integers and scales of a quantized one, which are 1 along what a scale spans."""

    def leaf(array: jax.Array) -> PartitionSpec:
        return PartitionSpec(*(axis if size > 1 else None for axis, size in zip(axes, array.shape, strict=True)))

    return jax.tree.map(leaf, kernel)


def _on_one_device(
    x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: ExpertWeights, backend: str, capacity: float | None
) -> tuple[jax.Array, jax.Array]:
    devices, mine = jax.lax.axis_size(EXPERT), weights.gate.shape[0]
    (num_tokens, top_k), assignments = chosen.shape, chosen.size
    rows = num_tokens * min(top_k, mine)
    if capacity is not None:
        rows = min(rows, math.ceil(capacity * assignments / devices))

    expert = chosen.ravel()
    device = jnp.minimum(expert // mine, devices)  # `devices` is nobody
    ahead = jnp.cumsum(jax.nn.one_hot(device, devices, dtype=jnp.int32), axis=0)
    rank = jnp.take_along_axis(ahead, jnp.minimum(device, devices - 1)[:, None], axis=1)[:, 0] - 1
    goes = (device < devices) & (rank < rows)
    place = jnp.where(goes, device * rows + rank, devices * rows)
    dropped = jax.lax.psum(((device < devices) & ~goes).sum(), BATCH)

    def exchange(sent: jax.Array) -> jax.Array:
        split = sent.reshape(devices, rows, *sent.shape[1:])
        return jax.lax.all_to_all(split, EXPERT, 0, 0).reshape(sent.shape)

    occupant = jnp.full(devices * rows, assignments, jnp.int32).at[place].set(jnp.arange(assignments), mode="drop")
    arrived = exchange(x.at[occupant // top_k].get(mode="fill", fill_value=0))
    owner = exchange(jnp.full(devices * rows, mine, jnp.int32).at[place].set(expert % mine, mode="drop"))
    one = jnp.ones((devices * rows, 1), x.dtype)  # gates are applied at home
    y = exchange(grouped_experts(arrived, one, owner[:, None], weights, backend, sparse=True))
    returned = y.at[place].get(mode="fill", fill_value=0).reshape(num_tokens, top_k, -1)
    returned = checkpoint_name(returned, EXPERTS_OUT)
    return jax.lax.psum(jnp.einsum("GK,GKD->GD", gates, returned), TENSOR), dropped
