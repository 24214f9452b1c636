"""Environments: games and other tasks in real sandboxes. Importing this registers them with gymnasium."""

from tars_jax.envs.action_space import action_space, action_to_space, space_to_action
from tars_jax.envs.browser_game import BrowserGame, BrowserGameSettings
from tars_jax.envs.gui import to_events
from tars_jax.envs.gym import GameEnv
from tars_jax.envs.gym_any import RegisteredEnv
from tars_jax.envs.kept_pages import KeptPages
from tars_jax.envs.registration import environment_id, environment_names, register_all
from tars_jax.envs.registry import installed_environments

__all__ = [
    "BrowserGame",
    "BrowserGameSettings",
    "GameEnv",
    "KeptPages",
    "RegisteredEnv",
    "action_space",
    "action_to_space",
    "environment_id",
    "environment_names",
    "space_to_action",
    "to_events",
]

register_all(installed_environments())
