"""The decode step, lowered for shapes alone.

Axes: L layers, S slots, M cache length, K key-value heads, H head dimension.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tars_jax.inference.slots import SlotState, make_slot_functions
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import init_parameters
from tars_jax.model.sharding import AXIS_RULES, batch_sharding, parameter_shardings


def lower_decode(
    model: ModelConfig, slots: int, cache_length: int, mesh: Mesh
) -> tuple[jax.stages.Lowered, dict[str, Any], SlotState]:
    """One decode step of all slots, with the parameters in the dtype of the activations, and the state.

    Slots lie over the data axes and heads of the cache over the tensor axis, if they divide.
    """
    model = dataclasses.replace(model, scalar_head=False, vocabulary_head=True)
    shapes = jax.eval_shape(lambda: init_parameters(model, jax.random.key(0)))
    parameters = jax.tree.map(
        lambda shape, sharding: jax.ShapeDtypeStruct(shape.shape, model.dtype, sharding=sharding),
        shapes,
        parameter_shardings(mesh, shapes),
    )
    heads = AXIS_RULES["heads"] if model.kv_heads % mesh.shape["tensor"] == 0 else None
    cache = NamedSharding(mesh, PartitionSpec(None, AXIS_RULES["batch"], None, heads))

    def placed(shape: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
        sharding = cache if len(shape.shape) == 5 else batch_sharding(mesh)
        return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)

    state = jax.tree.map(placed, jax.eval_shape(lambda: SlotState.empty(model, slots, cache_length)))
    functions = make_slot_functions(model, stop=0, temperature=1.0, chunk=1, base_seed=0)
    jitted: Any = functions.decode
    return jitted.lower(parameters, state), parameters, state
