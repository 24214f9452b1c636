"""Merging: agents that were trained from one start become one agent, by interpolating their parameters.

    theta = sum_i a_i theta_i,   sum_i a_i = 1,   a_i >= 0        (UI-TARS-2, equation 5)

Models that were trained from the same start are roughly linearly connected: on the way from one to the other the loss
stays low. Nothing of the kind holds for models that were not, so whoever merges checks for a common ancestor
(`tars_jax.training.checkpoint.Lineage`).
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tars_jax import InputError
from tars_jax.model.sharding import leaf_name

# Parts of the policy that may have weights of their own: group -> paths of its parameters. The rest has the common.
GROUPS = {"vision": re.compile(r"^vision/"), "experts": re.compile(r"/experts/")}
Listed = Sequence[float] | np.ndarray
TOLERANCE = 1e-6  # how far from 1 a sum of weights may be


@dataclasses.dataclass(frozen=True)
class MergeWeights:
    """Weights of N agents in a merge."""

    common: tuple[float, ...]  # [N]
    groups: Mapping[str, tuple[float, ...]]  # [N] for each group that departs from the common weights

    def of(self, path: str) -> tuple[float, ...]:
        """The weights [N] of the parameter at `path`, like vision/position."""
        return next((weights for group, weights in self.groups.items() if GROUPS[group].search(path)), self.common)


def merge_weights(agents: int, common: Listed = (), groups: Mapping[str, Listed] | None = None) -> MergeWeights:
    """Checked weights of `agents` agents; empty ones are uniform, an empty group takes the common ones.

    Raises InputError that names the weights which are not one for each agent, negative, not finite or do not sum to 1,
    an unknown group, and fewer than two agents.
    """
    if agents < 2:
        raise InputError(f"checkpoints must be two or more; got {agents}")
    checked = _checked("weights", agents, common) if len(common) else (1 / agents,) * agents
    own = {}
    for group, weights in (groups or {}).items():
        if group not in GROUPS:
            raise InputError(f"groups must be of {', '.join(GROUPS)}; got {group!r}")
        if len(weights):
            own[group] = _checked(f"groups.{group}", agents, weights)
    return MergeWeights(checked, own)


def _checked(field: str, agents: int, weights: Listed) -> tuple[float, ...]:
    if len(weights) != agents:
        raise InputError(f"{field} must be {agents} weights, one for each checkpoint; got {len(weights)}")
    if any(isinstance(weight, bool) or not isinstance(weight, numbers.Real) for weight in weights):
        raise InputError(f"{field} must be numbers; got {tuple(weights)}")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights):
        raise InputError(f"{field} must be numbers of 0 or more; got {tuple(weights)}")
    if abs(sum(weights) - 1) > TOLERANCE:
        raise InputError(f"{field} must sum to 1; got {tuple(weights)}, whose sum is {sum(weights):g}")
    return tuple(float(weight) for weight in weights)


def require_mergeable(names: Sequence[str], leaves: Sequence[Mapping[str, str]], weights: MergeWeights) -> None:
    """Raises InputError unless all agents have the same tensors, of floating point, and every group has some.

    Args:
        names: of the agents, for the message.
        leaves: for each agent path -> type and shape, like float32[2,3].
        weights: their groups must each hold a tensor.
    """
    for name, other in zip(names[1:], leaves[1:], strict=True):
        differences = [
            f"{path} is {other.get(path, 'missing')}, and {leaves[0].get(path, 'missing')} in {names[0]}"
            for path in sorted({*leaves[0], *other})
            if leaves[0].get(path) != other.get(path)
        ]
        if differences:
            more = f" and {len(differences) - 4} more" if len(differences) > 4 else ""
            raise InputError(f"{name}: cannot be merged: {'; '.join(differences[:4])}{more}.")
    for path, kind in leaves[0].items():
        if not jnp.issubdtype(kind.partition("[")[0], jnp.floating):
            raise InputError(f"{names[0]}: {path} must be of floating point (merge, then quantize); got {kind}")
    for group in weights.groups:
        if not any(GROUPS[group].search(path) for path in leaves[0]):
            raise InputError(f"groups.{group} must be left out, as {names[0]} has no such parameters; got weights")


def interpolate(
    agents: Sequence[Any], common: Sequence[float] = (), groups: Mapping[str, Sequence[float]] | None = None
) -> Any:
    """Equation 5 on parameter trees in memory; sums in fp32, each leaf in the type and sharding of the first agent's.

    An agent of weight 0 is not read. Raises InputError for weights as `merge_weights` does, and for trees that differ.
    """
    weights = merge_weights(len(agents), common, groups)
    paths = [_paths(agent) for agent in agents]
    kinds = [{path: f"{leaf.dtype}{[*leaf.shape]}".replace(" ", "") for path, leaf in each.items()} for each in paths]
    require_mergeable([f"agent {number}" for number in range(len(agents))], kinds, weights)

    def merged(path: str) -> jax.Array:
        counted = [(each[path], weight) for each, weight in zip(paths, weights.of(path), strict=True) if weight]
        total = sum(leaf.astype(jnp.float32) * weight for leaf, weight in counted)
        first = paths[0][path]
        return jax.device_put(jnp.asarray(total, first.dtype), getattr(first, "sharding", None))

    return jax.tree.unflatten(jax.tree.structure(agents[0]), [merged(path) for path in paths[0]])


def _paths(tree: Any) -> dict[str, Any]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {leaf_name(path): leaf for path, leaf in leaves}
