"""Checkpoints: trees of arrays by orbax, and a JSON file that says what they hold.

    FOLDER/00000012/arrays/          orbax's files, each tensor in pieces of at most PIECE_BYTES
    FOLDER/00000012/beside/          files that go with exported weights: the tokenizer of an imported policy
    FOLDER/00000012/checkpoint.json  name, shape and type of every leaf; size and SHA-256 of every file; the extra data

The folder is written whole or not at all (`atomic_directory.py`). Exported weights also say what they came from
(`Lineage`) and of which model they are, and pass both on to what is trained from them.

Where a run has several processes, all of them call what writes and what reads: each writes the arrays' parts that it
holds, to a file system that all share, and the leader does the rest.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
from orbax.checkpoint import v1 as ocp

from tars_jax import InputError
from tars_jax.model.config import ModelConfig, config_from_json, config_to_json
from tars_jax.model.sharding import leaf_name
from tars_jax.training.atomic_directory import (
    ARRAYS,
    EXTRA_FILES,
    MANIFEST,
    copy_checkpoint,
    digest_of,
    is_complete,
    read_manifest,
    remove,
    require_undamaged,
    tidy,
    write_checkpoint,
)
from tars_jax.training.processes import broadcast, is_main_process, run_on_main_process

PIECE_BYTES = 16 * 2**20  # so that whoever goes through a checkpoint need never hold a tensor
IN_FLIGHT_BYTES = 2**30  # of what a process writes or reads at a time, beside the tree itself
_ANCESTORS, _MODEL, _NOTES = "ancestors", "model", "notes"


class Checkpoints:
    """The newest checkpoints of a run, numbered by step. One process writes at a time."""

    def __init__(self, folder: pathlib.Path, keep: int = 2) -> None:
        """Opens `folder`, which need not exist; removes what a killed process left half written."""
        if keep < 1:
            raise InputError(f"keep must be at least 1 checkpoint; got {keep}")
        self.folder = folder
        self.keep = keep
        run_on_main_process(lambda: tidy(folder))

    def save(self, step: int, tree: Any, extra: dict[str, Any]) -> None:
        """Write checkpoint `step`, whole or not at all, then remove all but the newest `keep`.

        `tree` is any pytree of arrays, `extra` anything that JSON can hold. Replaces a checkpoint of the same step.
        Raises OSError if it cannot be written; the earlier checkpoints are then untouched.
        """
        _write(self._path(step), tree, extra)
        run_on_main_process(self._forget)

    def _forget(self) -> None:
        kept = self.steps()[-self.keep :]
        for path in self.folder.iterdir():
            if path.name.isdecimal() and int(path.name) < kept[0]:
                remove(path)

    def steps(self) -> list[int]:
        """The steps of the complete checkpoints, ascending."""
        names = [path.name for path in self.folder.iterdir() if path.name.isdecimal()]
        return sorted(int(name) for name in names if is_complete(self.folder / name))

    def latest(self) -> int | None:
        """The step of the newest complete checkpoint."""
        return broadcast(max(self.steps(), default=None))

    def restore(self, step: int, template: Any) -> tuple[Any, dict[str, Any]]:
        """(tree, extra) of checkpoint `step`, straight into the template's shardings, whichever mesh wrote it.

        `template` is a pytree of arrays or `jax.ShapeDtypeStruct`s; a leaf without a sharding goes to the first device.
        Raises InputError if the checkpoint is missing or damaged, or if its leaves are not the template's; the
        message names the file or the leaves, and nothing is loaded.
        """
        return _read(self._path(step), template)

    def _path(self, step: int) -> pathlib.Path:
        return self.folder / f"{step:08d}"


@dataclasses.dataclass(frozen=True)
class Lineage:
    """The ancestors of a checkpoint. An id is the checksum of a checkpoint's manifest, so copies keep it."""

    id: str
    ancestors: tuple[str, ...]  # ids of the checkpoints that led to it, the first start first


def save_parameters(
    path: str | os.PathLike[str],
    parameters: Any,
    *,
    parent: str | os.PathLike[str] | None = None,
    model: ModelConfig | None = None,
    notes: Mapping[str, Any] = {},
) -> None:
    """Export weights as the folder `path`, whole or not at all; replaces what `save_parameters` wrote there before.

    `parent` is the export that they were trained from, whose model and files beside it they inherit; `model` says of
    which model they are where that is another, `notes` what else is to be read of them (`recorded_notes`), in JSON.
    Raises InputError if `parent` is no export or `path` is something else.
    """
    require_replaceable(pathlib.Path(path))
    extra = {} if parent is None else {**ancestry_record(ancestors_of_children(parent)), **inherited_record(parent)}
    extra |= {} if model is None else model_record(model)
    extra |= {_NOTES: dict(notes)} if notes else {}
    _write(pathlib.Path(path), parameters, extra, () if parent is None else extra_files_of(parent))


def recorded_notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The notes of exported weights, empty where they have none. Raises InputError where there is no export."""
    notes: dict[str, Any] = read_manifest(pathlib.Path(path).absolute())["extra"].get(_NOTES, {})
    return notes


def recorded_model(path: str | os.PathLike[str]) -> ModelConfig:
    """The model that exported weights are of. Raises InputError if they do not say so."""
    path = pathlib.Path(path).absolute()
    extra = read_manifest(path)["extra"]
    if _MODEL not in extra:
        raise InputError(f"{path} must record its model, as import_weights and later runs do; got a checkpoint without")
    return config_from_json(extra[_MODEL], f"{path}: model")


def model_record(model: ModelConfig) -> dict[str, Any]:
    """Extra data by which a checkpoint names its model."""
    return {_MODEL: config_to_json(model)}


def inherited_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Extra data that exported weights pass on to what is made of them: their model, if they say."""
    extra = read_manifest(pathlib.Path(path).absolute())["extra"]
    return {_MODEL: extra[_MODEL]} if _MODEL in extra else {}


def extra_files_of(path: str | os.PathLike[str]) -> tuple[pathlib.Path, ...]:
    """The files that go with exported weights, such as tokenizer.json."""
    folder = pathlib.Path(path).absolute() / EXTRA_FILES
    return tuple(sorted(folder.iterdir())) if folder.is_dir() else ()


def require_replaceable(output: pathlib.Path, sources: Sequence[pathlib.Path] = ()) -> None:
    """Raises InputError unless weights can be exported there: to a new folder, or in place of a checkpoint.

    None of `sources`, which they are made of, may be that checkpoint or hold it.
    """
    real = pathlib.Path(os.path.realpath(output))
    if any(pathlib.Path(os.path.realpath(source)) in (real, *real.parents) for source in sources):
        raise InputError(f"output must be outside of the checkpoints; got {output}")
    # A link that leads nowhere and a device are something else, too. No name that is too long is there.
    there = os.path.lexists(output)
    if there and not (output.is_dir() and ((output / MANIFEST).is_file() or not any(output.iterdir()))):
        raise InputError(
            f"output must be a new folder, or a checkpoint to replace; got {output}, which is something else"
        )
    if not (above := next(folder for folder in output.absolute().parents if os.path.exists(folder))).is_dir():
        raise InputError(f"output must be below a folder; got {output}, and {above} is a file")


def load_parameters(path: str | os.PathLike[str], template: Any) -> Any:
    """Weights that `save_parameters` wrote, into the template's shardings. Raises InputError as `restore` does.

    A policy that was trained with a value head in it is a policy: where the template has no such head, it stays behind.
    """
    wanted = leaf_types(template)
    return _read(pathlib.Path(path), template, spares_head=without_value_head(wanted) == wanted)[0]


def without_value_head(leaves: Mapping[str, str]) -> dict[str, str]:
    """Leaves by path, but for those of a value head."""
    return {name: kind for name, kind in leaves.items() if not name.startswith("scalar_head/")}


def copy_export(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies exported weights to a new folder, whole or not at all; their id stays. Raises InputError as `restore`."""
    run_on_main_process(lambda: copy_checkpoint(source.absolute(), target.absolute()))


def lineage(path: str | os.PathLike[str]) -> Lineage:
    """Reads the ancestors of exported weights. Raises InputError if there are none."""
    content = read_manifest(pathlib.Path(path).absolute())
    return Lineage(digest_of(content), tuple(content["extra"].get(_ANCESTORS, ())))


def common_ancestors(lineages: Sequence[Lineage]) -> tuple[str, ...]:
    """Ids of the checkpoints that all have in common, the first start first; a checkpoint counts as its own."""
    shared = set.intersection(*(set(_all_of(each)) for each in lineages))
    return tuple(ancestor for ancestor in _all_of(lineages[0]) if ancestor in shared)


def ancestors_of_children(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Ids of the checkpoints that lead to what is made of exported weights, these among them. Raises as `lineage`."""
    return _all_of(lineage(path))


def ancestry_record(ancestors: Sequence[str]) -> dict[str, Any]:
    """Extra data by which a checkpoint names its ancestors."""
    return {_ANCESTORS: list(ancestors)}


def _all_of(each: Lineage) -> tuple[str, ...]:
    return (*each.ancestors, each.id)


def _write(target: pathlib.Path, tree: Any, extra: dict[str, Any], extra_files: Sequence[pathlib.Path] = ()) -> None:
    def fill(arrays: pathlib.Path) -> None:
        with _context(largest=max(map(_shard_bytes, jax.tree.leaves(tree)), default=0)):
            ocp.save(arrays, tree)
        if is_main_process():  # it says the place, for file systems that cannot rename; weights go to other people
            (arrays / "commit_success.txt").unlink(missing_ok=True)

    write_checkpoint(target, leaf_types(tree), extra, fill, extra_files)


def _context(largest: int) -> ocp.Context:
    """Orbax left to itself moves the whole tree at once, and so holds it twice.

    `largest` is the number of bytes that must pass at a time, as nothing takes them apart.
    """
    context = ocp.Context()
    context.array.saving.storage_options.chunk_byte_size = PIECE_BYTES
    limit = max(IN_FLIGHT_BYTES, largest + 1)
    context.memory.read_concurrent_bytes = context.memory.write_concurrent_bytes = limit
    context.memory.transfer_concurrent_bytes = limit
    context.memory.is_prioritized_key_fn = lambda path: False  # else all is transferred before anything is written
    return context


def _shard_bytes(leaf: Any) -> int:
    """Bytes of a leaf that one device holds."""
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    shape = leaf.sharding.shard_shape(leaf.shape) if isinstance(leaf, jax.Array) else leaf.shape
    return math.prod(shape) * leaf.dtype.itemsize


def _read(path: pathlib.Path, template: Any, *, spares_head: bool = False) -> tuple[Any, dict[str, Any]]:
    path = path.absolute()
    content = read_manifest(path)
    run_on_main_process(lambda: require_undamaged(path, content))
    stored = without_value_head(content["leaves"]) if spares_head else content["leaves"]
    _require_same(path, stored, leaf_types(template))
    leaves = jax.tree.leaves(template)
    # A shard may lie in all pieces of its tensor, which then pass together.
    context = _context(largest=max((math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves), default=0))
    context.pytree.loading.partial_load = len(stored) < len(content["leaves"])
    with context:
        return ocp.load(path / ARRAYS, jax.tree.map(_abstract, template)), content["extra"]


def _require_same(path: pathlib.Path, stored: dict[str, str], wanted: dict[str, str]) -> None:
    """Raises InputError that names the leaves in which a checkpoint and a template differ."""
    differences = [
        *[f"{name} is missing" for name in wanted if name not in stored],
        *[f"{name} is not expected" for name in stored if name not in wanted],
        *[
            f"{name} is {stored[name]}, wanted {wanted[name]}"
            for name in wanted
            if name in stored and stored[name] != wanted[name]
        ],
    ]
    if differences:
        more = f" and {len(differences) - 8} more" if len(differences) > 8 else ""
        raise InputError(f"{path}: does not fit: {'; '.join(differences[:8])}{more}.")


def leaf_types(tree: Any) -> dict[str, str]:
    """For each leaf its path and, like float32[2,3], its type and shape."""
    return {
        leaf_name(path): f"{leaf.dtype}{list(leaf.shape)}".replace(" ", "")
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    sharding = getattr(leaf, "sharding", None) or jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
