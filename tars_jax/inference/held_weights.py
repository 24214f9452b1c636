"""A learner's weights as an engine holds them: a copy of its own, in the engine's order and place, and all finite."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

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
def make_hold_fn(groups: tuple[int, ...], mesh: Mesh | None) -> Callable[[Parameters], Parameters]:
    """Jitted: a copy of a learner's parameters, with the layers in groups like the cache's.

    On a mesh it lies where SERVING_RULES say.
    """

    @jax.jit
    def hold(parameters: Parameters) -> Parameters:
        held = grouped_layers(jax.tree.map(jnp.copy, parameters), groups)
        if mesh is None:
            return held
        where = parameter_shardings(mesh, held, SERVING_RULES)
        placed: Parameters = jax.lax.with_sharding_constraint(held, where)
        return placed

    return hold


@jax.jit
def _count_not_finite(leaves: Sequence[jax.Array]) -> jax.Array:
    """[P] int32."""
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
