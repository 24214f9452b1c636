"""WindowsAgentArena's tasks on machines with Windows, scored by waa-cube's own getters and metrics."""

from tars_jax.envs.benchmarks.windows_agent_arena.environment import WindowsAgentArenaEnvironment

__all__ = ["WindowsAgentArenaEnvironment"]
