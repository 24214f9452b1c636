"""The decode step, lowered for shapes alone.

Axes: L layers, S slots, M cache length, K key-value heads, H head dimension.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.slots import SlotState, make_slot_functions, state_shardings
from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import grouped_layers
from tars_jax.model.policy import parameter_shapes
from tars_jax.model.sharding import SERVING_RULES, parameter_shardings


def lower_decode(
    model: ModelConfig, slots: int, cache_length: int, mesh: Mesh
) -> tuple[jax.stages.Lowered, dict[str, Any], SlotState]:
    """One decode step of all slots, with the parameters in the dtype of the activations, and the state.

    Both are held as the engine holds them by default: layers apart where they are few, dense kernels split over `fsdp`
    and `tensor` alone, slots over the batch's axes, heads of the cache over the tensor axis.
    """
    model = dataclasses.replace(model, scalar_head=False, vocabulary_head=True)
    groups = EngineConfig().groups(model.depth)
    shapes = jax.eval_shape(lambda parameters: grouped_layers(parameters, groups), parameter_shapes(model))
    parameters = jax.tree.map(
        lambda shape, sharding: jax.ShapeDtypeStruct(shape.shape, model.dtype, sharding=sharding),
        shapes,
        parameter_shardings(mesh, shapes, SERVING_RULES),
    )

    def placed(shape: jax.ShapeDtypeStruct, sharding: NamedSharding) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)

    empty = jax.eval_shape(lambda: SlotState.empty(model, slots, cache_length, None, groups))
    state = jax.tree.map(placed, empty, state_shardings(mesh, empty))
    functions = make_slot_functions(model, stop=0, chunk=1, base_seed=0)
    jitted: Any = functions.decode
    return jitted.lower(parameters, state, jax.ShapeDtypeStruct((slots,), "int32")), parameters, state
