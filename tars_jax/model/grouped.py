"""Tokens through their own experts: one function, and a backend for each platform that computes it.

Axes: G tokens, K experts of a token, D width, E experts.
"""

from __future__ import annotations

import jax

from tars_jax.model.assignments import Weights, by_expert
from tars_jax.model.bucketed import bucketed
from tars_jax.model.hopper import hopper_dot
from tars_jax.model.ragged import RaggedDot, megablox_dot, ragged, tokamax_dot

BUCKETS = (16, 512)  # rows: smallest and largest


def grouped(
    x: jax.Array, gates: jax.Array, chosen: jax.Array, weights: Weights, backend: str, *, sparse: bool = False
) -> jax.Array:
    """x [G, D], gates [G, K], chosen [G, K] -> [G, D], the weighted sum over a token's experts.

    An expert beyond the last stands for nobody and gives 0; `sparse` says that many may be. Raises InputError where the
    backend's package is missing.
    """
    runs = by_expert(chosen, weights.gate.shape[0])
    if backend == "buckets":
        return bucketed(x, gates, runs, weights, bucket_sizes(chosen.size // weights.gate.shape[0]))
    dots: dict[str, RaggedDot] = {"ragged": jax.lax.ragged_dot, "megablox": megablox_dot, "hopper": hopper_dot}
    return ragged(x, gates, runs, weights, tokamax_dot() if backend == "tokamax" else dots[backend], sparse=sparse)


def bucket_sizes(mean_load: int) -> tuple[int, ...]:
    """Half of an expert's even share, a product of many rows, a quarter of that, and a quarter of it again, of which
    little stays empty; powers of 2, the largest first.
    """
    smallest, largest = BUCKETS
    sizes = {min(max(1 << (mean_load // part - 1).bit_length(), smallest), largest) for part in (2, 8, 32)}
    return tuple(sorted(sizes, reverse=True))
