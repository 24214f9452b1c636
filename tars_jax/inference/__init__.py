"""Inference: the decode engine."""

from tars_jax.inference.config import EngineConfig, EngineStatistics
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Busy, Sampled, Sampling, until_text
from tars_jax.inference.session import Session

__all__ = [
    "Busy",
    "Engine",
    "EngineConfig",
    "EngineStatistics",
    "Sampled",
    "Sampling",
    "Session",
    "until_text",
]
