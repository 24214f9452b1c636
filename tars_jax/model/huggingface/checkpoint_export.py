"""Export: our parameters as a directory that `transformers` loads."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax.traverse_util import flatten_dict
from safetensors.numpy import save_file

from tars_jax import InputError
from tars_jax.json_fields import read_object
from tars_jax.model.config import ModelConfig, require_dtype
from tars_jax.model.huggingface.configuration import CONFIG_FILE, config_files, family
from tars_jax.model.huggingface.files import INDEX_FILE, SINGLE_FILE
from tars_jax.model.huggingface.names import Tensor, file_name, tensors
from tars_jax.model.policy import Parameters, parameter_shapes

SHARD_BYTES = 4 * 2**30


def export_checkpoint(
    directory: Path,
    config: ModelConfig,
    parameters: Parameters,
    shard_bytes: int = SHARD_BYTES,
    *,
    dtype: str | None = None,
    extra_files: Sequence[Path] = (),
    further: Mapping[str, Any] = {},
    on_file: Callable[[int, int], None] = lambda done, files: None,
) -> None:
    """Writes config.json, preprocessor_config.json and safetensors files of at most `shard_bytes`, unless one tensor
    is larger. The directory appears when it is whole. One process must address all shards; the host holds one file's
    tensors at a time.

    Args:
        parameters: arrays, or what has a shape and a dtype and gives arrays when it is indexed. A value head among
            them stays behind.
        dtype: of the tensors; None keeps that of each parameter, and the wider where two make one tensor.
        extra_files: to copy, such as a tokenizer. A config.json among them is the one that the weights came with: the
            new one keeps the fields of it that are not the model's.
        further: JSON by the name of its file, of whoever exports.
        on_file: hears how many files of tensors are written, and of how many.

    Raises:
        InputError: the directory exists, the parameters are not those of the config, or `transformers` has no
            architecture for it.
    """
    if dtype is not None:
        require_dtype(dtype)
    if os.path.lexists(directory):
        raise InputError(f"an export must go to a new directory; got {directory}, which exists")
    if not (above := next(folder for folder in directory.absolute().parents if os.path.exists(folder))).is_dir():
        raise InputError(f"an export must go below a folder; got {directory}, and {above} is a file")
    if not config.vocabulary_head:
        raise InputError("transformers has no value models of these families; only policies can be exported")
    leaves = flatten_dict(parameters, sep="/")
    shapes = {path: jax.ShapeDtypeStruct(leaf.shape, dtype or leaf.dtype) for path, leaf in leaves.items()}
    kind = family(config)
    require_weights_of(config, shapes, "parameters")
    # Transformers 5 tells the two layouts of experts apart by shape, and takes a square tensor for its own layout.
    square = config.width in (config.expert_width, 2 * config.expert_width)
    shards = _shards(tensors(config, "out_in" if square else "in_out"), shapes, shard_bytes)
    partial = directory.with_name(f".{directory.name}.saving")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{directory} cannot be made: {error.strerror}") from error
    try:
        weight_map: dict[str, str] = {}
        for number, shard in enumerate(shards, start=1):
            name = f"model-{number:05d}-of-{len(shards):05d}.safetensors" if len(shards) > 1 else SINGLE_FILE
            arrays = {file_name(tensor.theirs, kind): _gather(tensor, leaves, shapes) for tensor in shard}
            save_file(arrays, partial / name, metadata={"format": "pt"})
            weight_map |= dict.fromkeys(arrays, name)
            del arrays  # before the next file's are read
            on_file(number, len(shards))
        before = next((read_object(file) for file in extra_files if file.name == CONFIG_FILE), None)
        contents = {**config_files(config, str(_widest(shapes, shapes)), before), **further}
        if len(shards) > 1:
            total = sum(_bytes(tensor, shapes) for shard in shards for tensor in shard)
            contents[INDEX_FILE] = {"metadata": {"total_size": total}, "weight_map": weight_map}
        for name, content in contents.items():
            (partial / name).write_text(json.dumps(content, indent=2))
        for file in extra_files:
            if file.name not in (CONFIG_FILE, INDEX_FILE):
                shutil.copy(file, partial / file.name)
        for path in (*partial.iterdir(), partial):
            _sync(path)
        partial.rename(directory)
        _sync(directory.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def require_weights_of(config: ModelConfig, leaves: Mapping[str, Any], where: str) -> None:
    """Raises InputError that begins with `where` unless leaves by path, of some shape and dtype, are a config's.

    A value head may be among them.
    """
    wanted = flatten_dict(parameter_shapes(dataclasses.replace(config, scalar_head=False)), sep="/")
    found = {path: leaf for path, leaf in leaves.items() if not path.startswith("scalar_head/")}

    def fits(path: str) -> bool:
        same = path in wanted and path in found and wanted[path].shape == found[path].shape
        return same and bool(jax.numpy.issubdtype(found[path].dtype, jax.numpy.floating))

    if wrong := [path for path in {**wanted, **found} if not fits(path)]:
        first = found.get(wrong[0])
        told = "missing" if first is None else f"{first.dtype}{list(first.shape)}".replace(" ", "")
        raise InputError(
            f"{where}: {len(wrong)} tensors are not the floating-point weights of its model, the first {wrong[0]}: "
            f"{told}"
        )


def _shards(table: list[Tensor], shapes: dict[str, jax.ShapeDtypeStruct], shard_bytes: int) -> list[list[Tensor]]:
    """The tensors in order, cut where a file would become larger than `shard_bytes`."""
    shards: list[list[Tensor]] = [[]]
    filled = 0
    for tensor in table:
        size = _bytes(tensor, shapes)
        if shards[-1] and filled + size > shard_bytes:
            shards.append([])
            filled = 0
        shards[-1].append(tensor)
        filled += size
    return shards


def _widest(shapes: Mapping[str, jax.ShapeDtypeStruct], paths: Iterable[str]) -> np.dtype[Any]:
    """The type that holds every value of the parameters at `paths`."""
    return np.dtype(functools.reduce(jax.numpy.promote_types, [shapes[path].dtype for path in paths]))


def _bytes(tensor: Tensor, shapes: Mapping[str, jax.ShapeDtypeStruct]) -> int:
    return math.prod(tensor.shape(shapes)) * _widest(shapes, tensor.ours).itemsize


def _gather(tensor: Tensor, leaves: Mapping[str, Any], shapes: Mapping[str, jax.ShapeDtypeStruct]) -> np.ndarray:
    dtype = _widest(shapes, tensor.ours)
    parts = [np.asarray(leaves[path][tensor.index]).astype(dtype, copy=False) for path in tensor.ours]
    return np.ascontiguousarray(tensor.to_theirs(parts))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
