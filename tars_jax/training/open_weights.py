"""Open weights to checkpoints of ours and back, tensor by tensor: no device is needed, and no memory holds a model."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax.traverse_util import unflatten_dict

from tars_jax import InputError
from tars_jax.json_fields import read_object
from tars_jax.model.config import ModelConfig, require_dtype
from tars_jax.model.huggingface import export_checkpoint
from tars_jax.model.huggingface.checkpoint_export import SHARD_BYTES, require_weights_of
from tars_jax.model.huggingface.files import OpenWeights
from tars_jax.training.checkpoint import (
    ancestors_of_children,
    ancestry_record,
    extra_files_of,
    model_record,
    recorded_model,
    require_replaceable,
)
from tars_jax.training.tensors import Piece, StoredTensors, write_tensors

Path = str | os.PathLike[str]
# What goes with weights that are published: the tokenizer, how images are read, how answers are sampled, and of the
# config what the model itself does not read.
EXTRA_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "added_tokens.json",
    "special_tokens_map.json",
    "chat_template.json",
    "chat_template.jinja",
    "generation_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "processor_config.json",
)


LINEAGE_FILE = "tars_jax_lineage.json"  # of an export: what its weights come from, for when they come back


def import_weights(
    source: Path,
    output: Path,
    dtype: str = "float32",
    on_tensor: Callable[[int, int], None] = lambda done, tensors: None,
) -> ModelConfig:
    """Makes the checkpoint `output` of a directory of safetensors and config.json, whole or not at all.

    The checkpoint records its model, `EXTRA_FILES` go with it, and what `export_weights` has made descends from what it
    was made of. Memory holds one tensor of the directory and one piece of the checkpoint.

    Args:
        source: a checkpoint of `transformers`.
        output: a new folder, or a checkpoint to replace.
        dtype: of the parameters.
        on_tensor: hears how many parameters are done, and of how many.

    Raises InputError that names the file, field or tensors which cannot be used, OSError if the disk refuses.
    """
    directory, target = pathlib.Path(source), pathlib.Path(output)
    require_dtype(dtype)
    require_replaceable(target)
    weights = OpenWeights(directory)
    kept = jnp.dtype(dtype)
    shapes = {path: jax.ShapeDtypeStruct(shape.shape, kept) for path, shape in weights.shapes.items()}

    def compute(leaf: str, piece: Piece) -> np.ndarray:
        return weights.read(leaf, piece)

    files = [directory / name for name in EXTRA_FILES if (directory / name).is_file()]
    origin = {"from": str(directory), "files": [file.name for file in weights.files]}
    extra = {**model_record(weights.config), **_descent_of(directory / LINEAGE_FILE), "imported": origin}
    write_tensors(shapes, target, compute, extra, files, lambda done: on_tensor(done, len(shapes)))
    return weights.config


def export_weights(
    checkpoint: Path,
    output: Path,
    *,
    dtype: str | None = None,
    shard_bytes: int = SHARD_BYTES,
    on_file: Callable[[int, int], None] = lambda done, files: None,
) -> ModelConfig:
    """Makes a directory that `transformers` loads of a checkpoint that records its model; the inverse of the import.

    Memory holds the tensors of one file, of `shard_bytes` at most unless one tensor is larger. `dtype` None keeps that
    of the checkpoint. A value head that the policy was trained with stays behind.

    Raises InputError when the output exists or the checkpoint is damaged, quantized, of another model than it records
    or of one that `transformers` has not; OSError if the disk refuses.
    """
    path = pathlib.Path(checkpoint)
    if pathlib.Path(output).absolute().is_relative_to(path.absolute()):
        raise InputError(f"output must be outside the checkpoint {path}; got {output}")
    model, stored = recorded_model(path), StoredTensors(path)
    leaves = stored.lazily()
    require_weights_of(model, leaves, str(path))
    tree = unflatten_dict(leaves, sep="/")
    extra_files = extra_files_of(path)
    export_checkpoint(
        pathlib.Path(output),
        model,
        tree,
        shard_bytes,
        dtype=dtype,
        extra_files=extra_files,
        further={LINEAGE_FILE: {"ancestors": list(ancestors_of_children(path))}},
        on_file=on_file,
    )
    return model


def _descent_of(file: pathlib.Path) -> dict[str, Any]:
    """The ancestors that an export of ours names, for the checkpoint that is made of it; empty for weights of
    others."""
    if not file.is_file():
        return {}
    ancestors = read_object(file).get("ancestors")
    if not isinstance(ancestors, list) or not all(isinstance(each, str) for each in ancestors):
        raise InputError(f"{file}: field ancestors must be a list of texts; got {ancestors!r:.60}")
    return ancestry_record(ancestors)
