"""A cache of trained weights, a file each, so that nothing is trained twice."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax.traverse_util import flatten_dict, unflatten_dict

from tars_jax.files import write_atomic


def store(path: Path, tree: Mapping[str, Any]) -> None:
    """Nested mappings of arrays, whole or not at all; names without a slash."""
    buffer = io.BytesIO()
    np.savez(buffer, **jax.device_get(flatten_dict(tree, sep="/")))
    write_atomic(path, buffer.getvalue())


def load(path: Path) -> dict[str, Any]:
    """The inverse of `store`."""
    with np.load(path, allow_pickle=False) as file:
        return unflatten_dict(dict(file), sep="/")
