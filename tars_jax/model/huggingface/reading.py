"""Import: a directory of safetensors and config.json straight into shardings.

The files' headers are compared with the config's table of tensors first; nothing is loaded unless all agree. Then one
file at a time is read, one tensor of it at a time, and each device gets its own slice: neither a device nor the host
ever holds more than one tensor besides the parameters' shards.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from safetensors import SafetensorError, safe_open

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.huggingface.configuration import read_config, read_json
from tars_jax.model.huggingface.names import Tensor, current_name, tensors
from tars_jax.model.policy import Parameters, parameter_shapes
from tars_jax.model.sharding import parameter_shardings

INDEX_FILE, SINGLE_FILE = "model.safetensors.index.json", "model.safetensors"
FLOATS = ("F32", "BF16", "F16")
NAMED = 6  # tensors of a kind that an error lists


def import_checkpoint(directory: Path, mesh: Mesh, dtype: str = "float32") -> tuple[ModelConfig, Parameters]:
    """The policy in a checkpoint directory: its config, and its parameters of type `dtype` as the sharding table says.

    Raises:
        InputError: a file is missing or damaged, the config is none of the families, or tensors are missing,
            unexpected or of another shape or type; the message names them, and nothing is loaded.
    """
    config, files = read_config(directory), _shard_files(directory)
    found = _headers(directory, files)
    shapes = parameter_shapes(config)
    flat_shapes = flatten_dict(shapes, sep="/")
    table = _matching_table(directory, config, flat_shapes, found)

    shardings = flatten_dict(parameter_shardings(mesh, shapes), sep="/")
    parameters: dict[str, jax.Array] = {}
    for path in files:
        with _opened(path) as file:
            for name in sorted(file.keys()):
                _load(table[current_name(name)], file.get_tensor(name), parameters, flat_shapes, shardings, dtype)
    tree: Parameters = unflatten_dict(parameters, sep="/")
    return config, tree


def _load(
    tensor: Tensor,
    array: np.ndarray,
    parameters: dict[str, jax.Array],
    shapes: Mapping[str, jax.ShapeDtypeStruct],
    shardings: Mapping[str, NamedSharding],
    dtype: str,
) -> None:
    for path, part in zip(tensor.ours, tensor.to_ours(array), strict=True):
        sharding = shardings[path]
        if tensor.layer is None:
            parameters[path] = _spread(part, sharding, dtype)
        else:
            stack = parameters.pop(path, None)
            if stack is None:
                stack = _zeros(shapes[path].shape, dtype, sharding)()
            one = NamedSharding(sharding.mesh, PartitionSpec(*sharding.spec[1:]))
            parameters[path] = _stacker(sharding)(stack, _spread(part, one, dtype), tensor.layer)


def _spread(array: np.ndarray, sharding: NamedSharding, dtype: str) -> jax.Array:
    """To each device its own slice only, in several processes too."""
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index].astype(jnp.dtype(dtype)))


@functools.cache
def _zeros(shape: tuple[int, ...], dtype: str, sharding: NamedSharding) -> Any:
    """Jitted () -> an array of zeros that is never whole on one device."""
    return jax.jit(lambda: jnp.zeros(shape, dtype), out_shardings=sharding)


@functools.cache
def _stacker(sharding: NamedSharding) -> Any:
    """Jitted (stack [L, ...], one [...], layer) -> stack with that layer; the stack is updated in place."""
    return jax.jit(lambda stack, one, layer: stack.at[layer].set(one), donate_argnums=0, out_shardings=sharding)


def _shard_files(directory: Path) -> list[Path]:
    index = directory / INDEX_FILE
    if index.exists():
        weight_map = read_json(index).get("weight_map")
        if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
            raise InputError(f"{index}: weight_map must map tensors to files, got {type(weight_map).__name__}")
        names = sorted(set(weight_map.values()))
    else:
        names = [SINGLE_FILE]
    if missing := [name for name in names if not (directory / name).is_file()]:
        raise InputError(f"{directory}: there is no file {', '.join(missing[:NAMED])}")
    return [directory / name for name in names]


def _headers(directory: Path, files: list[Path]) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and type of every tensor by its current name."""
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for path in files:
        with _opened(path) as file:
            for name in sorted(file.keys()):
                if current_name(name) in found:
                    raise InputError(f"{directory}: tensor {name} is there twice, the second time in {path.name}")
                header = file.get_slice(name)
                found[current_name(name)] = (tuple(header.get_shape()), header.get_dtype())
    return found


def _matching_table(
    directory: Path,
    config: ModelConfig,
    shapes: Mapping[str, jax.ShapeDtypeStruct],
    found: Mapping[str, tuple[tuple[int, ...], str]],
) -> dict[str, Tensor]:
    """The table, in the layout of experts that fits; raises InputError when a tensor does not."""

    def differing(table: Mapping[str, Tensor]) -> list[str]:
        expected = {name: tensor.shape(shapes) for name, tensor in table.items()}
        return [
            f"{name} is {kind} {list(shape)} instead of {list(expected[name])}"
            for name, (shape, kind) in found.items()
            if name in expected and (shape != expected[name] or kind not in FLOATS)
        ]

    tables = [{tensor.theirs: tensor for tensor in tensors(config, layout)} for layout in (False, True)]
    table = min(tables, key=lambda each: len(differing(each)))
    wrong = {
        "missing": sorted(table.keys() - found.keys()),
        "unexpected": sorted(found.keys() - table.keys()),
        "of another shape or type": differing(table),
    }
    if any(wrong.values()):
        told = "; ".join(f"{len(names)} {kind}: {_listed(names)}" for kind, names in wrong.items() if names)
        raise InputError(f"{directory}: the tensors are not those of its config.json: {told}")
    return table


def _listed(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, "numpy") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is not a whole safetensors file: {error}") from error
