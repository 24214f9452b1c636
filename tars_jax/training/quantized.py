"""Quantized weights on disk, two int4 a byte; and how far a quantized policy is from its original."""

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
from tars_jax.model.quantization import pack, quantize, quantized_forward, unpack
from tars_jax.model.sharding import mesh_of, parameter_shardings
from tars_jax.training.atomic_directory import read_manifest
from tars_jax.training.checkpoint import load_parameters, save_parameters
from tars_jax.training.packing import Rows
from tars_jax.training.state import placed

Path = str | os.PathLike[str]


def save_quantized(path: Path, parameters: Parameters, *, parent: Path | None = None) -> None:
    """Export what `quantize` returned, as `save_parameters` does."""
    save_parameters(path, pack(parameters), parent=parent)


def load_quantized(path: Path, model: ModelConfig, template: Any) -> Parameters:
    """Loads the weights that `save_quantized` wrote; `template` is a tree like the model's own parameters, of arrays
    or shapes.

    Which kernels are quantized is read from the checkpoint. On the mesh of the template's leaves, if they lie on one,
    integers and scales are laid out as the rules say. Raises InputError for a checkpoint that is damaged, not quantized
    or of another model.
    """
    names = read_manifest(pathlib.Path(path).absolute())["leaves"]
    if not _are_quantized(names):
        raise InputError(f"{path} must be a checkpoint that save_quantized wrote; got weights that are not quantized")
    kept = [f"^{re.escape(name)}$" for name in names]
    shapes = jax.eval_shape(lambda parameters: pack(quantize(model, parameters, kept)), template)
    mesh = mesh_of(template)
    if mesh is None:
        return unpack(load_parameters(path, shapes))
    packed = load_parameters(path, jax.tree.map(placed, shapes, parameter_shardings(mesh, shapes)))
    shardings = parameter_shardings(mesh, jax.eval_shape(unpack, packed))
    parameters: Parameters = jax.jit(unpack, out_shardings=shardings)(packed)
    return parameters


def load_for_engine(path: Path, model: ModelConfig, template: Any, weights: str) -> Parameters:
    """Loads the weights that `save_parameters` or `save_quantized` wrote, for an engine whose `weights` are "float" or
    "w4a8".

    Raises InputError as both loaders do, and for quantized weights where the engine computes in floating point.
    """
    if not _are_quantized(read_manifest(pathlib.Path(path).absolute())["leaves"]):
        loaded: Parameters = load_parameters(path, template)
        return loaded
    if weights != "w4a8":
        raise InputError(f"engine.weights must be w4a8 for the quantized weights of {path}; got {weights!r}")
    return load_quantized(path, model, template)


def _are_quantized(names: Iterable[str]) -> bool:
    return any(name.endswith("/int4") for name in names)


def bytes_on_disk(path: Path) -> int:
    """Bytes of all files of an export."""
    return sum(file.stat().st_size for file in pathlib.Path(path).rglob("*") if file.is_file())


def divergence(model: ModelConfig, parameters: Parameters, quantized: Parameters, rows: Rows) -> tuple[float, float]:
    """KL(original || quantized) in nats at the sampled tokens of `rows`, and how often both prefer the same token."""

    @jax.jit
    def compare(parameters: Parameters, quantized: Parameters, rows: Rows) -> tuple[jax.Array, jax.Array]:
        ours = jax.nn.log_softmax(forward(model, parameters, rows.inputs).logits[:, :-1])
        theirs = jax.nn.log_softmax(quantized_forward(model, quantized, rows.inputs).logits[:, :-1])
        sampled = rows.action_mask[:, 1:]
        kl = (jnp.exp(ours) * (ours - theirs)).sum(-1)
        same = ours.argmax(-1) == theirs.argmax(-1)
        return jnp.where(sampled, kl, 0).sum() / sampled.sum(), (same & sampled).sum() / sampled.sum()

    kl, agreement = compare(parameters, quantized, rows)
    return float(kl), float(agreement)
