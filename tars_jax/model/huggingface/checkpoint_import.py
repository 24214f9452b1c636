"""Import: a directory of safetensors and config.json straight into shardings.

The files' headers are compared with the config's table of tensors first; nothing is loaded unless all agree. Then one
file at a time is read, one tensor of it at a time, and each device gets its own slice: neither a device nor the host
ever holds more than one tensor besides the parameters' shards (one of FP8 in float32).
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tars_jax.model.config import ModelConfig, require_dtype
from tars_jax.model.huggingface.files import OpenWeights
from tars_jax.model.policy import Parameters, parameter_shapes
from tars_jax.model.sharding import parameter_shardings


def import_checkpoint(directory: Path, mesh: Mesh, dtype: str = "float32") -> tuple[ModelConfig, Parameters]:
    """The policy in a checkpoint directory: its config, and its parameters of type `dtype` as the sharding table says.

    Raises:
        InputError: as `OpenWeights`, and for another type than float32 or bfloat16; nothing is loaded then.
    """
    require_dtype(dtype)
    weights = OpenWeights(directory)
    shardings = flatten_dict(parameter_shardings(mesh, parameter_shapes(weights.config)), sep="/")
    parameters: dict[str, jax.Array] = {}
    for tensor, parts in weights.by_file():
        for path, part in zip(tensor.ours, parts, strict=True):
            sharding = shardings[path]
            if not tensor.index:
                parameters[path] = spread(part, sharding, dtype)
                continue
            stack = parameters.pop(path, None)
            if stack is None:
                stack = _zeros(weights.shapes[path].shape, dtype, sharding)()
            one = NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[len(tensor.index) :]))
            parameters[path] = _stacker(sharding)(stack, spread(part, one, dtype), tensor.index)
    tree: Parameters = unflatten_dict(parameters, sep="/")
    return weights.config, tree


def spread(array: np.ndarray, sharding: NamedSharding, dtype: str) -> jax.Array:
    """Sends each device its own slice of a tensor alone, in several processes too."""
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index].astype(jnp.dtype(dtype)))


@functools.cache
def _zeros(shape: tuple[int, ...], dtype: str, sharding: NamedSharding) -> Any:
    """Jitted () -> an array of zeros that is never whole on one device."""
    return jax.jit(lambda: jnp.zeros(shape, dtype), out_shardings=sharding)


@functools.cache
def _stacker(sharding: NamedSharding) -> Any:
    """Jitted (stack [L, ...], one [...], index) -> stack with that layer; the stack is updated in place."""
    return jax.jit(lambda stack, one, index: stack.at[index].set(one), donate_argnums=0, out_shardings=sharding)
