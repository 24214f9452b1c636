"""Quantised weights on disk, two int4 a byte; and how far a quantised policy is from its original."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward
from tars_jax.model.quantisation import pack, quantise, quantised_forward, unpack
from tars_jax.model.sharding import mesh_of, parameter_shardings
from tars_jax.training.checkpoint import load_parameters, save_parameters
from tars_jax.training.packing import Rows
from tars_jax.training.sealed import read_manifest
from tars_jax.training.state import placed

Path = str | os.PathLike[str]


def save_quantised(path: Path, parameters: Parameters, *, parent: Path | None = None) -> None:
    """Export what `quantise` returned, as `save_parameters` does."""
    save_parameters(path, pack(parameters), parent=parent)


def load_quantised(path: Path, model: ModelConfig, template: Any) -> Parameters:
    """What `save_quantised` wrote; `template` is a tree like the model's own parameters, of arrays or shapes.

    Which kernels are quantised is read from the checkpoint. On the mesh of the template's leaves, if they lie on one,
    integers and scales are laid out as the rules say. Raises InputError for a checkpoint that is damaged, not quantised
    or of another model.
    """
    names = read_manifest(pathlib.Path(path).absolute())["leaves"]
    if not _are_quantised(names):
        raise InputError(f"{path}: its weights are not quantised; it takes what save_quantised wrote.")
    kept = [f"^{re.escape(name)}$" for name in names]
    shapes = jax.eval_shape(lambda parameters: pack(quantise(model, parameters, kept)), template)
    mesh = mesh_of(template)
    if mesh is None:
        return unpack(load_parameters(path, shapes))
    packed = load_parameters(path, jax.tree.map(placed, shapes, parameter_shardings(mesh, shapes)))
    shardings = parameter_shardings(mesh, jax.eval_shape(unpack, packed))
    parameters: Parameters = jax.jit(unpack, out_shardings=shardings)(packed)
    return parameters


def load_for_engine(path: Path, model: ModelConfig, template: Any, weights: str) -> Parameters:
    """What `save_parameters` or `save_quantised` wrote, for an engine whose `weights` are "float" or "w4a8".

    Raises InputError as both loaders do, and for quantised weights where the engine computes in floating point.
    """
    if not _are_quantised(read_manifest(pathlib.Path(path).absolute())["leaves"]):
        loaded: Parameters = load_parameters(path, template)
        return loaded
    if weights != "w4a8":
        raise InputError(f"{path}: its weights are W4A8; engine.weights takes w4a8 for them, got {weights!r}.")
    return load_quantised(path, model, template)


def _are_quantised(names: Iterable[str]) -> bool:
    return any(name.endswith("/int4") for name in names)


def bytes_on_disk(path: Path) -> int:
    """Of all files of an export."""
    return sum(file.stat().st_size for file in pathlib.Path(path).rglob("*") if file.is_file())


def divergence(model: ModelConfig, parameters: Parameters, quantised: Parameters, rows: Rows) -> tuple[float, float]:
    """KL(original || quantised) in nats at the sampled tokens of `rows`, and how often both prefer the same token."""

    @jax.jit
    def compare(parameters: Parameters, quantised: Parameters, rows: Rows) -> tuple[jax.Array, jax.Array]:
        ours = jax.nn.log_softmax(forward(model, parameters, rows.inputs).logits[:, :-1])
        theirs = jax.nn.log_softmax(quantised_forward(model, quantised, rows.inputs).logits[:, :-1])
        sampled = rows.action_mask[:, 1:]
        kl = (jnp.exp(ours) * (ours - theirs)).sum(-1)
        same = ours.argmax(-1) == theirs.argmax(-1)
        return jnp.where(sampled, kl, 0).sum() / sampled.sum(), (same & sampled).sum() / sampled.sum()

    kl, agreement = compare(parameters, quantised, rows)
    return float(kl), float(agreement)
