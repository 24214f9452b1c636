"""A Ray cluster: the extra that it takes, and how a process joins one."""

from __future__ import annotations

import importlib
import os
from typing import Any

from tars_jax import InputError


def require_ray() -> Any:
    """The module ray. Raises InputError that names the extra where it is not installed."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise InputError(f"a fleet takes Ray, which is not installed ({error}): pip install 'tars_jax[ray]'") from error


def connect(address: str | None = None) -> None:
    """Joins the cluster at `address`, unless this process has joined one. Without an address it starts its own, which
    reports no usage to Ray's makers unless RAY_USAGE_STATS_ENABLED says 1.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = require_ray()
    if not ray.is_initialized():
        ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
