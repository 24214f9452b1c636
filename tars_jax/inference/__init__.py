"""Inference: the decode engine."""

from tars_jax.inference.engine import Engine, EngineConfig, Sampled, Session

__all__ = ["Engine", "EngineConfig", "Sampled", "Session"]
