"""A checkpoint directory of safetensors whose tensors are those of its config.json, found so before any is read."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax.traverse_util import flatten_dict
from safetensors import SafetensorError, safe_open

from tars_jax import InputError
from tars_jax.json_fields import read_object
from tars_jax.model.config import ModelConfig
from tars_jax.model.huggingface import fp8
from tars_jax.model.huggingface.configuration import CONFIG_FILE, read_config
from tars_jax.model.huggingface.names import EMBEDDING, EXPERTS, HEAD, Tensor, current_name, tensors
from tars_jax.model.policy import parameter_shapes

INDEX_FILE, SINGLE_FILE = "model.safetensors.index.json", "model.safetensors"
FLOATS = ("F32", "BF16", "F16")
NAMED = 6  # tensors of a kind that an error lists
ROWS = 4096  # of two matrices that are compared at a time


@dataclasses.dataclass(frozen=True)
class Header:
    """A file's header of a tensor, before it is read."""

    file: Path
    name: str  # in the file
    shape: tuple[int, ...]
    kind: str
    start: int = 0  # byte of the file; known of FP8 alone


class OpenWeights:
    """The policy in a checkpoint directory, to be read tensor by tensor."""

    def __init__(self, directory: Path) -> None:
        """Raises InputError when a file is missing or damaged, the config is none of the families, or tensors are
        missing, unexpected or of another shape or type; the message names them."""
        self.config: ModelConfig = read_config(directory)
        self._blocks = fp8.read_blocks(directory / CONFIG_FILE, read_object(directory / CONFIG_FILE))
        self.files = _shard_files(directory)
        self.shapes: dict[str, jax.ShapeDtypeStruct] = flatten_dict(parameter_shapes(self.config), sep="/")
        self._headers = _headers(directory, self.files)
        if self.config.tied_embeddings and HEAD in self._headers:
            _require_same(directory, self._headers.pop(HEAD), self._headers.get(EMBEDDING))
        self._table = _matching_table(directory, self.config, self.shapes, self._headers, self._blocks)
        self._last: tuple[str, list[np.ndarray]] = ("", [])

    def by_file(self) -> Iterator[tuple[Tensor, list[np.ndarray]]]:
        """Every tensor with its parts, one for each path of `tensor.ours`, one file after another."""
        for path in self.files:
            with opened(path) as file:
                for name in sorted(file.keys()):
                    # Not a head that is tied, and no scales.
                    if (tensor := self._table.get(current_name(name))) is not None:
                        yield tensor, tensor.to_ours(self._whole(file, self._headers[tensor.theirs]))

    def read(self, path: str, piece: tuple[slice, ...]) -> np.ndarray:
        """A piece of the parameter at `path`, in the type of the file; in float32 where its layers are of several, and
        for FP8.

        One tensor is kept for the next call.
        """
        parts = [tensor for tensor in self._table.values() if path in tensor.ours]
        mixed = len({self._headers[tensor.theirs].kind for tensor in parts}) > 1
        if not parts[0].index:
            return self._part(parts[0], path)[piece]
        shape = tuple(len(range(size)[each]) for each, size in zip(piece, self.shapes[path].shape, strict=True))
        whole: np.ndarray | None = None
        for tensor in parts:
            stacked = len(tensor.index)
            at = tuple(i - each.start for i, each in zip(tensor.index, piece, strict=False))
            if all(0 <= i < size for i, size in zip(at, shape, strict=False)):
                part = self._part(tensor, path)[piece[stacked:]]
                whole = np.empty(shape, np.float32 if mixed else part.dtype) if whole is None else whole
                whole[at] = part
        assert whole is not None
        return whole

    def _part(self, tensor: Tensor, path: str) -> np.ndarray:
        if self._last[0] != tensor.theirs:
            self._last = "", []  # the old one is gone before the new one comes
            header = self._headers[tensor.theirs]
            with opened(header.file) as file:
                self._last = tensor.theirs, tensor.to_ours(self._whole(file, header))
        return self._last[1][tensor.ours.index(path)]

    def _whole(self, file: Any, header: Header) -> np.ndarray:
        """A tensor of an open file; FP8 in float32, with scales from whatever file they are in.

        Raises InputError for numbers that are not finite: nothing could be told from what such a policy says.
        """
        whole: np.ndarray = file.get_tensor(header.name) if header.kind != fp8.KIND else self._dequantized(file, header)
        if not np.isfinite(whole).all():
            raise InputError(f"{header.file}: {header.name} must be finite; got NaN or infinity")
        return whole

    def _dequantized(self, file: Any, header: Header) -> np.ndarray:
        assert self._blocks is not None
        scales = self._headers[current_name(header.name) + fp8.SCALE]
        with contextlib.nullcontext(file) if scales.file == header.file else opened(scales.file) as beside:
            factors = beside.get_tensor(scales.name)
        stored = np.fromfile(header.file, np.uint8, math.prod(header.shape), offset=header.start)
        return self._blocks.dequantized(stored.reshape(header.shape), factors)


def _shard_files(directory: Path) -> list[Path]:
    """The one file where there is one, as transformers has it: an index beside it is of the weights before."""
    index = directory / INDEX_FILE
    if not index.exists() or (directory / SINGLE_FILE).exists():
        if not os.path.isfile(directory / SINGLE_FILE):
            raise InputError(f"{directory}: there is no file {SINGLE_FILE}")
        return [directory / SINGLE_FILE]
    weight_map = read_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise InputError(f"{index}: weight_map must map tensors to files; got {type(weight_map).__name__}")
    names = sorted(set(weight_map.values()))
    # An index from elsewhere opens no file but those beside it; `os.path.isfile` knows of no name that is too long.
    if wrong := [name for name in names if not _lies_below(name) or not os.path.isfile(directory / name)]:
        told = [f"{name!a:.60}" for name in wrong]
        raise InputError(f"{index}: weight_map must name files of that folder, and there is no {_listed(told)}")
    return [directory / name for name in names]


def _lies_below(name: str) -> bool:
    return not os.path.isabs(name) and ".." not in Path(name).parts


def _headers(directory: Path, files: list[Path]) -> dict[str, Header]:
    """By the tensors' current names."""
    found: dict[str, Header] = {}
    for path in files:
        with opened(path) as file:
            starts: dict[str, int] = {}
            for name in sorted(file.keys()):
                if current_name(name) in found:
                    raise InputError(f"{directory}: tensor {name} is there twice, the second time in {path.name}")
                said = file.get_slice(name)
                header = Header(path, name, tuple(said.get_shape()), said.get_dtype())
                if header.kind == fp8.KIND:
                    starts = starts or fp8.first_bytes(path)
                    header = dataclasses.replace(header, start=starts[name])
                found[current_name(name)] = header
    return found


def _require_same(directory: Path, head: Header, embedding: Header | None) -> None:
    """Raises InputError unless a head that config.json ties to the embedding is the embedding."""
    same = embedding is not None and (head.shape, head.kind) == (embedding.shape, embedding.kind)
    same = same and head.kind in FLOATS
    if embedding is not None and same:
        with opened(head.file) as ours, opened(embedding.file) as theirs:
            first, second = ours.get_slice(head.name), theirs.get_slice(embedding.name)
            blocks = [slice(row, min(row + ROWS, head.shape[0])) for row in range(0, head.shape[0], ROWS)]
            same = all(np.array_equal(first[rows], second[rows]) for rows in blocks)
    if not same:
        raise InputError(
            f"{directory}: {head.name} must be the embedding, or be left out, where config.json says "
            "tie_word_embeddings; got other weights"
        )


def _matching_table(
    directory: Path,
    config: ModelConfig,
    shapes: Mapping[str, jax.ShapeDtypeStruct],
    found: Mapping[str, Header],
    blocks: fp8.Blocks | None,
) -> dict[str, Tensor]:
    """The table, in the layout of experts that fits best; raises InputError when a tensor does not."""

    def wrong(table: Mapping[str, Tensor]) -> dict[str, list[str]]:
        expected = {name: tensor.shape(shapes) for name, tensor in table.items()}
        scales = {} if blocks is None else _scales(expected, found, blocks)
        expected |= scales
        badly_typed = {
            name for name, header in found.items() if header.kind not in FLOATS and name + fp8.SCALE not in scales
        }
        return {
            "missing": sorted(expected.keys() - found.keys()),
            "unexpected": sorted(found.keys() - expected.keys()),
            "of another shape or type": [
                f"{name} is {header.kind} {list(header.shape)} instead of "
                f"{'/'.join(FLOATS) + ' ' if name in badly_typed else ''}{list(expected[name])}"
                for name, header in found.items()
                if name in expected and (header.shape != expected[name] or name in badly_typed)
            ],
        }

    layouts = EXPERTS if config.experts else EXPERTS[:1]
    tables = [{tensor.theirs: tensor for tensor in tensors(config, layout)} for layout in layouts]
    judged = [(wrong(table), table) for table in tables]
    faults, table = min(judged, key=lambda each: sum(map(len, each[0].values())))
    if any(faults.values()):
        told = "; ".join(f"{len(names)} {kind}: {_listed(names)}" for kind, names in faults.items() if names)
        raise InputError(f"{directory}: the tensors are not those of its config.json: {told}")
    return table


def _scales(
    expected: Mapping[str, tuple[int, ...]], found: Mapping[str, Header], blocks: fp8.Blocks
) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the scales that belong to what is found in FP8."""
    quantized = {name: shape for name, shape in expected.items() if name in found and found[name].kind == fp8.KIND}
    return {name + fp8.SCALE: blocks.scales(shape) for name, shape in quantized.items() if len(shape) > 1}


def _listed(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A safetensors file; raises InputError when it is not a whole one."""
    try:
        with safe_open(path, "numpy") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is not a whole safetensors file: {error}") from error
