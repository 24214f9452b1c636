"""OSWorld's tasks on desktops of ours, scored by desktop-env's own getters and metrics."""

from tars_jax.envs.benchmarks.osworld.environment import OSWorldEnvironment

__all__ = ["OSWorldEnvironment"]
