"""The tensors of a checkpoint one piece at a time, for trees that no memory holds: orbax's files by way of tensorstore.

A piece is a block of a tensor that is stored as one chunk, of `PIECE_BYTES` at most; what was saved before there was
such a bound has larger ones, of what one device held of a tensor.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import pathlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorstore
from flax.traverse_util import unflatten_dict
from orbax.checkpoint import v1 as ocp

from tars_jax import InputError
from tars_jax.training.atomic_directory import ARRAYS, read_manifest, require_undamaged, write_checkpoint
from tars_jax.training.checkpoint import PIECE_BYTES, leaf_types

Piece = tuple[slice, ...]
Compute = Callable[[str, Piece], np.ndarray]
_DATA = ("d", "manifest.ocdbt", "ocdbt.process_*")  # the tensors themselves; what else lies there describes them
_CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3}}]


class StoredTensors:
    """A checkpoint to read from, which was found whole and undamaged."""

    def __init__(self, path: pathlib.Path) -> None:
        """Raises InputError if the checkpoint is missing or damaged; the message names the file."""
        self.path = path.absolute()
        content = read_manifest(self.path)
        require_undamaged(self.path, content)
        self.leaves: dict[str, str] = content["leaves"]  # path -> type and shape, like float32[2,3]
        self._opened: dict[str, tensorstore.TensorStore] = {}

    def pieces(self, leaf: str) -> Iterator[Piece]:
        """The pieces that the tensor at path `leaf` is stored in; none overlap, together they are all of it."""
        stored = self.open(leaf)
        return pieces(stored.shape, stored.chunk_layout.write_chunk.shape or ())  # None for a scalar

    def read(self, leaf: str, piece: Piece) -> np.ndarray:
        return self.open(leaf)[piece].read().result()

    def open(self, leaf: str) -> tensorstore.TensorStore:
        if leaf not in self._opened:
            try:
                self._opened[leaf] = tensorstore.open(_spec(self.path / ARRAYS, leaf), read=True).result()
            except ValueError as error:
                raise InputError(f"{self.path}: the tensor {leaf} cannot be read: {error}") from error
        return self._opened[leaf]

    def lazily(self) -> dict[str, LazyTensor]:
        """Every tensor by its path, to be read when it is indexed."""
        return {leaf: LazyTensor(self.open(leaf)) for leaf in self.leaves}


@dataclasses.dataclass(frozen=True)
class LazyTensor:
    """A stored tensor that looks like an array and reads what it is asked for."""

    stored: tensorstore.TensorStore

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.stored.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored.dtype.numpy_dtype

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.stored[index].read().result()


def pieces(shape: tuple[int, ...], piece: tuple[int | None, ...]) -> Iterator[Piece]:
    """The blocks of shape `piece` that a tensor is cut into, smaller ones at its end; None is the whole axis."""
    ranges = [
        [slice(start, min(start + (step or size), size)) for start in range(0, size, step or size)]
        for size, step in zip(shape, piece, strict=True)
    ]
    return itertools.product(*ranges)


def write_like(
    model: StoredTensors,
    target: pathlib.Path,
    compute: Compute,
    extra: dict[str, Any],
    extra_files: Sequence[pathlib.Path] = (),
    on_tensor: Callable[[int], None] = lambda done: None,
) -> None:
    """Writes the checkpoint `target`, whole or not at all, with the structure, types and pieces of `model`.

    `compute(leaf, piece)` is called once for each piece, and its result written before the next. `extra_files` go
    with it. `on_tensor` hears how many tensors are done. Raises OSError if the disk refuses.
    """

    def fill(arrays: pathlib.Path) -> None:
        shutil.copytree(model.path / ARRAYS, arrays, ignore=shutil.ignore_patterns(*_DATA))
        specs = {leaf: model.open(leaf).spec().to_json()["metadata"] for leaf in model.leaves}
        _write_pieces(arrays, specs, compute, on_tensor)

    write_checkpoint(target, model.leaves, extra, fill, extra_files)


def write_tensors(
    shapes: Mapping[str, jax.ShapeDtypeStruct],
    target: pathlib.Path,
    compute: Compute,
    extra: dict[str, Any],
    extra_files: Sequence[pathlib.Path] = (),
    on_tensor: Callable[[int], None] = lambda done: None,
) -> None:
    """`write_like` for a tree that has never been anywhere: types and shapes by path, in pieces of `PIECE_BYTES`."""

    def fill(arrays: pathlib.Path) -> None:
        _describe(arrays, shapes)
        specs = {leaf: _metadata(shape) for leaf, shape in shapes.items()}
        _write_pieces(arrays, specs, compute, on_tensor)

    write_checkpoint(target, leaf_types(unflatten_dict(dict(shapes), sep="/")), extra, fill, extra_files)


def _write_pieces(
    arrays: pathlib.Path, metadata: Mapping[str, Any], compute: Compute, on_tensor: Callable[[int], None]
) -> None:
    for done, (leaf, described) in enumerate(metadata.items(), start=1):
        spec = {**_spec(arrays, leaf), "metadata": described, "store_data_equal_to_fill_value": True}
        stored = tensorstore.open(spec, create=True).result()
        for piece in pieces(stored.shape, stored.chunk_layout.write_chunk.shape or ()):
            stored[piece].write(compute(leaf, piece).astype(stored.dtype.numpy_dtype, copy=False)).result()
        on_tensor(done)


def _describe(arrays: pathlib.Path, shapes: Mapping[str, jax.ShapeDtypeStruct]) -> None:
    """Writes the files that orbax has beside the tensors of such a tree: it saves numbers in their place, whose shapes
    are corrected."""
    numbers = {leaf: jnp.zeros((), shape.dtype) for leaf, shape in shapes.items()}
    ocp.save(arrays, unflatten_dict(numbers, sep="/"))
    state = arrays / "state"
    for pattern in _DATA:
        for path in state.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    by_name = {leaf.replace("/", "."): list(shape.shape) for leaf, shape in shapes.items()}
    tree = json.loads((state / "_METADATA").read_bytes())
    for node in tree["tree_metadata"].values():
        name = ".".join(key["key"] for key in node["key_metadata"])
        node["value_metadata"]["write_shape"] = by_name[name]
    (state / "_METADATA").write_text(json.dumps(tree))
    (file,) = (state / "array_metadatas").iterdir()
    listed = json.loads(file.read_bytes())
    for each in listed["array_metadatas"]:
        shape = by_name[each["array_metadata"]["param_name"]]
        each["array_metadata"] |= {"write_shape": shape, "chunk_shape": shape}
    file.write_text(json.dumps(listed))


def _metadata(shape: jax.ShapeDtypeStruct) -> dict[str, Any]:
    return {
        "shape": list(shape.shape),
        "data_type": str(shape.dtype),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": piece_shape(shape, PIECE_BYTES)}},
        "codecs": _CODECS,
    }


def piece_shape(shape: jax.ShapeDtypeStruct, limit: int) -> list[int]:
    """A block of at most `limit` bytes along a tensor's first axes; as few blocks as there can be, about even ones."""
    sizes = list(shape.shape)
    for axis, size in enumerate(shape.shape):
        row = math.prod(sizes[axis + 1 :]) * shape.dtype.itemsize
        most = min(size, limit // max(row, 1))
        sizes[axis] = -(-size // -(-size // most)) if most else 1
        if most:
            break
    return sizes


def _spec(arrays: pathlib.Path, leaf: str) -> dict[str, Any]:
    folder = {"driver": "file", "path": f"{arrays}/state/"}
    return {"driver": "zarr3", "kvstore": {"driver": "ocdbt", "base": folder, "path": f"{leaf.replace('/', '.')}/"}}
