"""What the infos of our gymnasium environments hold for verification, so that vectors can carry it."""

from __future__ import annotations

import copy
from collections import UserDict
from typing import Any

from tars_jax.environment import Observation


class Facts(UserDict[str, Any]):
    """A state or verdict as a whole. Vectors of gymnasium take a dictionary apart into arrays, which fails where an
    entry is a number in one environment and null in another."""


def facts_of(observation: Observation) -> dict[str, Any]:
    """A copy of what an observation has for verification: whoever gets it may change it."""
    kept = copy.deepcopy(dict(observation.info))
    return {name: Facts(value) if isinstance(value, dict) else value for name, value in kept.items()}
