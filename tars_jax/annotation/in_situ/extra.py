"""What takes the extra `record` says so by name."""

from __future__ import annotations

import importlib

from tars_jax import InputError


def require(module: str, what_for: str) -> None:
    """Raises InputError where a library of the extra is not installed."""
    try:
        importlib.import_module(module)
    except ImportError as missing:
        raise InputError(
            f"recording must have {missing.name} for {what_for}, which the extra record brings: "
            "pip install 'tars_jax[record]'"
        ) from missing
