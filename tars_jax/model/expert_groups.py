"""Expert groups: the tokens' choices sorted by expert, and the parameters of all experts.

Axes: G tokens, K experts of a token, R = G * K assignments, D width, E experts, F expert width.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class ExpertWeights(NamedTuple):
    """Parameters of all experts."""

    gate: jax.Array  # [E, D, F]
    up: jax.Array  # [E, D, F]
    down: jax.Array  # [E, F, D]


class ExpertGroups(NamedTuple):
    """Assignments by expert. Assignment r is choice r % K of token r // K."""

    order: jax.Array  # [R] assignments: the run of expert 0, that of expert 1, ..., last those of nobody
    sizes: jax.Array  # [E] int32, length of each run


def group_by_expert(chosen: jax.Array, num_experts: int) -> ExpertGroups:
    """Groups assignments by expert: `chosen` [G, K], less than 2^31 / (E + 1) of them; an expert beyond the last stands
    for nobody."""
    expert = jnp.minimum(chosen.ravel(), num_experts)
    sizes = jnp.bincount(expert, length=num_experts + 1)[:-1]
    # Expert and place in one number: sorting pairs, as argsort does, takes twice as long.
    order = jnp.sort(expert * expert.size + jnp.arange(expert.size)) % expert.size
    return ExpertGroups(order, sizes.astype(jnp.int32))
