"""Prefill and decode step, lowered for shapes alone (ahead-of-time compilation).

Axes: L layers, S slots, T new tokens of a slot, M cache length, K key-value heads, H head dimension, P image tokens in
the bank of images, D width, F features of an image token that are added after the first layers.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding

from tars_jax.inference.config import EngineConfig
from tars_jax.inference.sampling_state import SamplingState
from tars_jax.inference.slot_state import SlotState, state_shardings
from tars_jax.inference.slots import Prefill, SlotFunctions, make_slot_functions
from tars_jax.model.config import ModelConfig
from tars_jax.model.decoder import grouped_layers
from tars_jax.model.policy import Inputs, parameter_shapes
from tars_jax.model.sharding import SERVING_RULES, array_sharding, parameter_shardings


def lower_decode(
    model: ModelConfig, slots: int, cache_length: int, mesh: Mesh
) -> tuple[jax.stages.Lowered, dict[str, Any], SlotState]:
    """One decode step of all slots, with the parameters in the dtype of the activations, and the state.

    Both are held as the engine holds them by default: layers apart where they are few, dense kernels split over `fsdp`
    and `tensor` alone, slots over the batch's axes, heads of the cache, or else its length, over the tensor axis.
    """
    functions, parameters, state = _held(model, slots, cache_length, mesh)
    jitted: Any = functions.decode
    return jitted.lower(parameters, state, jax.ShapeDtypeStruct((slots,), "int32")), parameters, state


def lower_prefill(
    model: ModelConfig, slots: int, cache_length: int, tokens: int, mesh: Mesh
) -> tuple[jax.stages.Lowered, dict[str, Any], SlotState]:
    """All slots read T = `tokens` new tokens each, of text or of screenshots that have been seen; else `lower_decode`.

    The bank has room for as many image tokens as one slot reads.
    """
    functions, parameters, state = _held(model, slots, cache_length, mesh)

    def new_tokens() -> Prefill:
        def zeros(*shape: int) -> jax.Array:
            return jnp.zeros(shape, jnp.int32)

        read = (slots, tokens)
        inputs = Inputs(
            tokens=zeros(*read),
            positions=zeros(3, *read),
            segments=zeros(*read),
            images=(),
            image_tokens=zeros(*read),
            image_features=jnp.zeros((1 + len(model.vision.deepstack), tokens, model.width), model.dtype),
        )
        sampling = jax.tree.map(jnp.asarray, SamplingState.fresh(slots))
        rows = zeros(slots)
        return Prefill(rows, inputs, zeros(*read), rows, rows, rows, rows, sampling)

    whole = jax.tree.map(lambda leaf: _placed(leaf, array_sharding(mesh, leaf.shape)), jax.eval_shape(new_tokens))
    jitted: Any = functions.prefill
    return jitted.lower(parameters, state, whole), parameters, state


def _held(
    model: ModelConfig, slots: int, cache_length: int, mesh: Mesh
) -> tuple[SlotFunctions, dict[str, Any], SlotState]:
    """The functions of an engine, and what it holds on the mesh."""
    model = dataclasses.replace(model, scalar_head=False, vocabulary_head=True)
    groups = EngineConfig().groups(model)
    shapes = jax.eval_shape(lambda parameters: grouped_layers(parameters, groups), parameter_shapes(model))
    parameters = jax.tree.map(
        lambda shape, sharding: jax.ShapeDtypeStruct(shape.shape, model.dtype, sharding=sharding),
        shapes,
        parameter_shardings(mesh, shapes, SERVING_RULES),
    )
    empty = jax.eval_shape(lambda: SlotState.empty(model, slots, cache_length, None, groups))
    state = jax.tree.map(_placed, empty, state_shardings(mesh, empty))
    return make_slot_functions(model, stop=0, chunk=1, base_seed=0), parameters, state


def _placed(shape: jax.ShapeDtypeStruct, sharding: NamedSharding) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)
