"""A learner's weights on their way to what samples: to the engine here, as a finite copy in its order and place; to
servers, in a folder under the same path.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from tars_jax import InputError
from tars_jax.model.decoder import grouped_layers
from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import SERVING_RULES, leaf_name, parameter_shardings

NAMED = 6  # of the leaves with NaN, in an error


@functools.cache
def make_copy_fn(groups: tuple[int, ...], mesh: Mesh | None) -> Callable[[Parameters], Parameters]:
    """Jitted: a copy of a learner's parameters, with the layers in groups like the cache's.

    On a mesh it lies where SERVING_RULES say.
    """

    @jax.jit
    def copy(parameters: Parameters) -> Parameters:
        copied = grouped_layers(jax.tree.map(jnp.copy, parameters), groups)
        if mesh is None:
            return copied
        where = parameter_shardings(mesh, copied, SERVING_RULES)
        placed: Parameters = jax.lax.with_sharding_constraint(copied, where)
        return placed

    return copy


@jax.jit
def _count_not_finite(leaves: Sequence[jax.Array]) -> jax.Array:
    """Number of values that are not finite, in each leaf: [P] int32."""
    return jnp.stack([jnp.sum(~jnp.isfinite(leaf), dtype=jnp.int32) for leaf in leaves])


def check_finite(parameters: Parameters) -> None:
    """Raises InputError that names the leaves with NaN or infinity, and how many each has."""
    found = [
        (leaf_name(path), leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(parameters)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    counts = np.asarray(_count_not_finite([leaf for _, leaf in found]))
    bad = [f"{name} has {count} of {leaf.size}" for (name, leaf), count in zip(found, counts, strict=True) if count]
    if bad:
        more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
        raise InputError(f"weights: values must be finite; got NaN or infinity: {'; '.join(bad[:NAMED])}{more}")


KEPT = 2  # those in use, and those before, which a server may just be reading


class WeightFolders:
    """Numbered folders below one, the oldest of which go."""

    def __init__(self, folder: Path, write: Callable[[Path, Parameters], object]) -> None:
        self._folder, self._write = folder.absolute(), write
        self._written: list[Path] = []

    def written(self, parameters: Parameters) -> Path:
        """Writes the weights of a policy and returns their folder; a value head is left out."""
        number = 0 if not self._written else int(self._written[-1].name.rpartition("-")[2]) + 1
        target = self._folder / f"weights-{number}"
        shutil.rmtree(target, ignore_errors=True)
        self._write(target, without_values(parameters))
        self._written.append(target)
        return target

    def forget(self) -> None:
        """Deletes the folders that no server reads any more."""
        while len(self._written) > KEPT:
            shutil.rmtree(self._written.pop(0), ignore_errors=True)


def without_values(parameters: Parameters) -> Parameters:
    return {name: leaf for name, leaf in parameters.items() if name != "scalar_head"}
