"""Merging checkpoints on disk: `tars_jax.model.merging`, piece by piece, so that nothing is ever whole in memory."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tars_jax import InputError
from tars_jax.model.config import config_to_json
from tars_jax.model.merging import merge_weights, require_mergeable
from tars_jax.training.checkpoint import (
    ancestry_record,
    common_ancestors,
    extra_files_of,
    inherited_record,
    lineage,
    recorded_model,
    require_replaceable,
)
from tars_jax.training.tensors import Piece, StoredTensors, write_like

Path = str | os.PathLike[str]


def merge_checkpoints(
    checkpoints: Sequence[Path],
    output: Path,
    weights: Sequence[float] = (),
    groups: Mapping[str, Sequence[float]] | None = None,
    *,
    unrelated: bool = False,
    on_tensor: Callable[[int, int], None] = lambda done, tensors: None,
) -> None:
    """Equation 5 on exported weights (`save_parameters`): `output` is their interpolation, whole or not at all.

    Memory holds the piece that is being summed, in fp32, and one that is being added (as stored and as read), however
    many checkpoints there are and however large a tensor is. A checkpoint of weight 0 is not read.

    Args:
        checkpoints: two or more, with equal tensors and models, finite, with a common ancestor.
        output: a new folder, or a checkpoint to replace, which must not be one of `checkpoints`.
        weights: one for each checkpoint; none means uniform.
        groups: weights of their own for groups of `tars_jax.model.merging.GROUPS`.
        unrelated: merge also what has no common ancestor.
        on_tensor: hears how many tensors are done, and of how many.

    Raises InputError that names the checkpoint or weights that cannot be used, OSError if the disk refuses.
    """
    paths = [pathlib.Path(path) for path in checkpoints]
    chosen = merge_weights(len(paths), weights, groups)
    target = pathlib.Path(output)
    require_replaceable(target, paths)
    sources = [StoredTensors(path) for path in paths]
    require_mergeable([str(path) for path in paths], [source.leaves for source in sources], chosen)
    _require_one_model(paths)
    lineages = [lineage(path) for path in paths]
    ancestors = common_ancestors(lineages)
    if not ancestors and not unrelated:
        raise InputError(
            "checkpoints must have been trained from one start (config.unrelated=True merges others too); "
            f"got {paths[0]} and others without a common ancestor"
        )

    def compute(leaf: str, piece: Piece) -> np.ndarray:
        counted = [(source, weight) for source, weight in zip(sources, chosen.of(leaf), strict=True) if weight]
        total = _scaled(*counted[0], leaf, piece)
        for source, weight in counted[1:]:
            total += _scaled(source, weight, leaf, piece)
        return total

    parents = [{"path": str(path), "id": each.id} for path, each in zip(paths, lineages, strict=True)]
    merged = {"parents": parents, "weights": chosen.common, "groups": dict(chosen.groups)}
    total = len(sources[0].leaves)
    extra = {**ancestry_record(ancestors), **inherited_record(paths[0]), "merged": merged}
    write_like(sources[0], target, compute, extra, extra_files_of(paths[0]), lambda done: on_tensor(done, total))


def _scaled(source: StoredTensors, weight: float, leaf: str, piece: Piece) -> np.ndarray:
    """A piece times its weight, fp32; nothing but the result outlives the call."""
    read = source.read(leaf, piece).astype(np.float32, copy=False)
    if not np.isfinite(read).all():
        raise InputError(f"{source.path}: {leaf} must be finite to be merged; got NaN or infinity")
    return np.multiply(read, np.float32(weight), out=read)


def _require_one_model(checkpoints: Sequence[pathlib.Path]) -> None:
    """Raises InputError where two record models that compute differently from equal tensors."""
    recording = [path for path in checkpoints if inherited_record(path)]
    first, *others = [config_to_json(recorded_model(path)) for path in recording] or [{}]
    for path, model in zip(recording[1:], others, strict=True):
        # The type of activations is a matter of where it ran.
        if differing := [name for name in model if name != "dtype" and model[name] != first[name]]:
            raise InputError(
                f"{path}: the model must be that of {recording[0]} to be merged; got another {', '.join(differing)}"
            )
