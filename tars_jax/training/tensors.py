"""The tensors of a checkpoint one piece at a time, for trees that no memory holds: orbax's files by way of tensorstore.

A piece is what one device of the mesh that wrote the checkpoint held of a tensor; on one device it is the whole tensor.
"""

from __future__ import annotations

import itertools
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorstore

from tars_jax import InputError
from tars_jax.training.checkpoint import ARRAYS, read_manifest, require_undamaged, write_checkpoint

Piece = tuple[slice, ...]
_DATA = ("d", "manifest.ocdbt", "ocdbt.process_*")  # the tensors themselves; what else lies there describes them


class StoredTensors:
    """A checkpoint to read from, which was found whole and undamaged."""

    def __init__(self, path: pathlib.Path) -> None:
        """Raises InputError if the checkpoint is missing or damaged; the message names the file."""
        self.path = path.absolute()
        content = read_manifest(self.path)
        require_undamaged(self.path, content)
        self.leaves: dict[str, str] = content["leaves"]  # path -> type and shape, like float32[2,3]

    def pieces(self, leaf: str) -> Iterator[Piece]:
        """The pieces that the tensor at path `leaf` is stored in; none overlap, together they are all of it."""
        stored = self.open(leaf)
        steps = stored.chunk_layout.write_chunk.shape or ()  # None for a scalar
        ranges = [
            [slice(start, min(start + (step or size), size)) for start in range(0, size, step or size)]
            for size, step in zip(stored.shape, steps, strict=True)
        ]
        return itertools.product(*ranges)

    def read(self, leaf: str, piece: Piece) -> np.ndarray:
        return self.open(leaf)[piece].read().result()

    def open(self, leaf: str) -> tensorstore.TensorStore:
        try:
            return tensorstore.open(_spec(self.path / ARRAYS, leaf), read=True).result()
        except ValueError as error:
            raise InputError(f"{self.path}: the tensor {leaf} cannot be read: {error}") from error


def write_like(
    model: StoredTensors,
    target: pathlib.Path,
    compute: Callable[[str, Piece], np.ndarray],
    extra: dict[str, Any],
    on_tensor: Callable[[int], None] = lambda done: None,
) -> None:
    """Writes the checkpoint `target`, whole or not at all, with the structure, types and pieces of `model`.

    `compute(leaf, piece)` is called once for each piece, and its result written before the next. `on_tensor` hears how
    many tensors are done. Raises OSError if the disk refuses.
    """

    def fill(arrays: pathlib.Path) -> None:
        shutil.copytree(model.path / ARRAYS, arrays, ignore=shutil.ignore_patterns(*_DATA))
        for done, leaf in enumerate(model.leaves, start=1):
            metadata = model.open(leaf).spec().to_json()["metadata"]
            spec = {**_spec(arrays, leaf), "metadata": metadata, "store_data_equal_to_fill_value": True}
            stored = tensorstore.open(spec, create=True).result()
            for piece in model.pieces(leaf):
                stored[piece].write(compute(leaf, piece)).result()
            on_tensor(done)

    write_checkpoint(target, model.leaves, extra, fill)


def _spec(arrays: pathlib.Path, leaf: str) -> dict[str, Any]:
    folder = {"driver": "file", "path": f"{arrays}/state/"}
    return {"driver": "zarr3", "kvstore": {"driver": "ocdbt", "base": folder, "path": f"{leaf.replace('/', '.')}/"}}
