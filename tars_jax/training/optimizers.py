"""Optimizers: a learning rate that warms up and may decay, a clipped global norm, AdamW or Muon below it.

Muon moves a matrix by its momentum with all singular values made equal, so rare directions of the gradient count as
much as frequent ones (Jordan et al. 2024; Moonlight, arXiv:2502.16982). The scale is such that the learning rate is the
root mean square of an update's entries, as it nearly is for AdamW: one rate serves both kinds of parameters.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import optax
from optax.contrib import MuonDimensionNumbers, muon

from tars_jax.model.policy import Parameters
from tars_jax.model.sharding import leaf_name
from tars_jax.training.config import OptimizerConfig

# Path of a matrix that Muon moves -> its (input axes, output axes); further axes count matrices. What no pattern
# matches goes to AdamW: norms, biases, routers, embeddings and heads.
MATRICES: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...] = (
    (r"attention/(query|key|value)/kernel$", (-3,), (-2, -1)),
    (r"attention/out/kernel$", (-3, -2), (-1,)),
    (r"experts/(gate|up|down)$", (-2,), (-1,)),
    (r"^vision/.*kernel$", (-2,), (-1,)),
)


def make_optimizer(config: OptimizerConfig) -> optax.GradientTransformation:
    """Warm-up, clipped global norm, and the algorithm; only matrices decay."""
    first = config.learning_rate / (config.warmup + 1)  # not 0, which would waste an update
    if config.decay:
        schedule = optax.warmup_cosine_decay_schedule(
            first, config.learning_rate, config.warmup, config.decay, 0.05 * config.learning_rate
        )
    else:
        schedule = optax.linear_schedule(first, config.learning_rate, config.warmup)
    if config.algorithm == "muon":
        algorithm = muon(
            schedule,
            weight_decay=config.weight_decay,
            weight_decay_mask=_is_matrix,
            adam_b2=config.beta2,
            adam_weight_decay=config.weight_decay,
            muon_weight_dimension_numbers=_matrix_axes,
            consistent_rms=1.0,
        )
    else:
        algorithm = optax.adamw(schedule, b2=config.beta2, weight_decay=config.weight_decay, mask=_is_matrix)
    return optax.chain(optax.clip_by_global_norm(config.clip_norm), algorithm)


# Equal configs share an optimizer, and so the updates that are compiled with it. Their numbers cannot be traced.
shared_optimizer = functools.lru_cache(maxsize=8)(make_optimizer)


@functools.lru_cache(maxsize=8)
def only_value_head(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """Leaves everything but the value head as it is: a shared trunk is the policy's while values are pretrained."""
    return _frozen(optimizer, lambda name: name != "scalar_head")


@functools.lru_cache(maxsize=8)
def without_vision(optimizer: optax.GradientTransformation) -> optax.GradientTransformation:
    """Leaves the vision encoder as it is."""
    return _frozen(optimizer, lambda name: name == "vision")


def _frozen(optimizer: optax.GradientTransformation, stays: Callable[[str], bool]) -> optax.GradientTransformation:
    """The optimizer without the frozen parameters, which have no moments and no part in the gradient's norm."""

    def where(chosen: Callable[[str], bool]) -> Callable[[Parameters], Parameters]:
        def mask(parameters: Parameters) -> Parameters:
            return {name: jax.tree.map(lambda _, name=name: chosen(name), tree) for name, tree in parameters.items()}

        return mask

    learns = optax.masked(optimizer, where(lambda name: not stays(name)))
    return optax.chain(learns, optax.masked(optax.set_to_zero(), where(stays)))


def _is_matrix(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.ndim > 1, tree)


def _matrix_axes(tree: Any) -> Any:
    def leaf(path: tuple[Any, ...], _: Any) -> MuonDimensionNumbers | None:
        name = leaf_name(path)
        found = (MuonDimensionNumbers(*axes) for pattern, *axes in MATRICES if re.search(pattern, name))
        return next(found, None)

    return jax.tree_util.tree_map_with_path(leaf, tree)
