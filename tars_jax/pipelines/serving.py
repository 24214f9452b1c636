"""Inputs of a policy server besides the engine: screenshot sizes, the chat template, and secrets in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.inference.chat_template import RoleFormat, Template, TurnFormat
from tars_jax.inference.data_urls import Fit
from tars_jax.model.config import ModelConfig
from tars_jax.model.preprocessing import fit_image
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.pictures import opaque
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.starting_weights import run_config
from tars_jax.web.credentials import Certificate


def screenshot_size(checkpoint: Path) -> tuple[int, int] | None:
    """(height, width) of the run's screenshots, where the checkpoint lies in a run; None: of any size."""
    size = (run_config(checkpoint).get("browser") or {}).get("size")
    return None if size is None else (size, size)


def template(model: ModelConfig, tokenizer: Tokenizer) -> Template:
    """Chat template: as in our agent's prompts (tars_jax/agent/prompts.py), or Qwen's."""

    def image_tokens(height: int, width: int) -> int:
        rows, columns = model.vision.token_grid(height, width)
        return rows * columns

    formats = RoleFormat if tokenizer.knows(RoleFormat.start) else TurnFormat
    return formats(tokenizer, image_tokens)


def fit_to(model: ModelConfig, size: tuple[int, int] | None) -> Fit:
    """Images of chat messages to the one size that the policy knows, or each to its own smart size.

    Raises InputError for a size that the model does not read.
    """
    if size is None:
        return lambda image: fit_image(image, model.vision)
    model.vision.token_grid(*size)
    height, width = size

    def resize(image: Image.Image) -> np.ndarray:
        image = opaque(image)
        same = image.size == (width, height)
        return np.asarray(image if same else image.resize((width, height), Image.Resampling.BICUBIC))

    return resize


def read_key(file: str, field: str = "api_key_file") -> str:
    """Raises InputError that names the config's `field`."""
    if not file:
        return ""
    try:
        key = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"config.{field} must be a file that can be read; got {file!r}: {error}") from error
    if not key:
        raise InputError(f"config.{field} must be a file that holds the key; got {file!r}, which is empty")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"config.{field} must hold a key of printable ASCII without spaces; got {file!r}")
    return key


def read_certificate(chain: str, key: str) -> Certificate | None:
    if not chain and not key:
        return None
    if not chain or not key:
        missing = "certificate_key_file" if chain else "certificate_file"
        raise InputError(f"config.{missing} must be given, as TLS needs a certificate and its key; got ''")
    with naming("config.certificate_file and config.certificate_key_file", "server: certificate and key"):
        return Certificate(Path(chain), Path(key))
