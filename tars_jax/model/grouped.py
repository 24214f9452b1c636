"""Tokens through their own experts: one function, and a backend for each platform that computes it.

Axes: G tokens, K experts of a token, D width, E experts.
"""

from __future__ import annotations

import jax

from tars_jax.model.bucketed import bucket_sizes, bucketed_experts
from tars_jax.model.expert_groups import ExpertWeights, group_by_expert
from tars_jax.model.hopper import hopper_dot
from tars_jax.model.ragged import RaggedDot, megablox_dot, ragged_experts, tokamax_dot


def grouped_experts(
    x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: ExpertWeights, backend: str, *, sparse: bool = False
) -> jax.Array:
    """x [G, D], gates [G, K], chosen [G, K] -> [G, D], the weighted sum over a token's experts.

    An expert beyond the last stands for nobody and gives 0; `sparse` says that many may be. Raises InputError where the
    backend's package is missing.
    """
    runs = group_by_expert(chosen, weights.gate.shape[0])
    if backend == "buckets":
        return bucketed_experts(x, gates, runs, weights, bucket_sizes(chosen.size // weights.gate.shape[0]))
    dots: dict[str, RaggedDot] = {"ragged": jax.lax.ragged_dot, "megablox": megablox_dot, "hopper": hopper_dot}
    return ragged_experts(
        x, gates, runs, weights, tokamax_dot() if backend == "tokamax" else dots[backend], sparse=sparse
    )
