"""The weights that a run starts from, and what lies beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import read_object
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.model.presets import PRESETS, preset
from tars_jax.model.tokenizer import COMMITTED, Tokenizer, load_tokenizer
from tars_jax.training import processes
from tars_jax.training.atomic_directory import read_manifest
from tars_jax.training.checkpoint import copy_export, extra_files_of, load_parameters, recorded_model


def starting_point(name: str) -> tuple[ModelConfig, Tokenizer, Path | None]:
    """Model, tokenizer and weights of `model.preset`: a preset's name, with our tokenizer and without weights; or a
    folder of exported weights, with the model that they record and the tokenizer beside them, or else ours.

    Raises InputError when it is neither, and when model and tokenizer do not fit each other.
    """
    if name in PRESETS:
        tokenizer = load_tokenizer()
        return preset(name, tokenizer.vocabulary), tokenizer, None
    model = recorded_model(name)
    tokenizer = load_tokenizer(next((file for file in extra_files_of(name) if file.name == COMMITTED.name), COMMITTED))
    if tokenizer.vocabulary > model.vocabulary or tokenizer.image != model.image_token:
        raise InputError(
            f"{name} must have its own tokenizer.json beside config.json when it is imported: a model of "
            f"{model.vocabulary} tokens with image token {model.image_token}; got a tokenizer of "
            f"{tokenizer.vocabulary} with {tokenizer.image}"
        )
    return model, tokenizer, Path(name)


def run_config(folder: Path) -> Mapping[str, Any]:
    """The config of the run that a folder of weights lies in; empty where it lies in none."""
    file = folder.absolute().parent / "config.json"
    found: Mapping[str, Any] = read_object(file, "config")["config"] if file.exists() else {}
    return found


def start_from(path: Path, fresh: Parameters) -> Parameters:
    """Exported weights, laid out as `fresh`; a value head that they do not have stays fresh."""
    stored = {leaf.partition("/")[0] for leaf in read_manifest(path.absolute())["leaves"]}
    known = {name: leaf for name, leaf in fresh.items() if name != "scalar_head" or name in stored}
    return {**fresh, **load_parameters(path, known)}


def keep_starting_weights(run: Path, weights: Path, name: str) -> Path:
    """Keeps the weights that a run starts from in its folder, by a copy if need be, so that it is whole without other
    runs."""
    if weights.absolute().is_relative_to(run.absolute()):
        return run / weights.absolute().relative_to(run.absolute())
    if not processes.broadcast((run / "start" / name).exists()):
        copy_export(weights, run / "start" / name)
    return run / "start" / name
