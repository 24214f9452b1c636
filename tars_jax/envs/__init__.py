"""Environments: games and other tasks in real sandboxes. Importing this registers them with gymnasium."""

import gymnasium

from tars_jax.envs.action_space import action_space, action_to_space, space_to_action
from tars_jax.envs.browser_game import BrowserGame, BrowserGameSettings, Frame, Transition
from tars_jax.envs.gui import to_events
from tars_jax.envs.gym import GameEnv

__all__ = [
    "BrowserGame",
    "BrowserGameSettings",
    "Frame",
    "GameEnv",
    "Transition",
    "action_space",
    "action_to_space",
    "space_to_action",
    "to_events",
]

for _id, _game in (
    ("MazePathOfLight", "maze_path_of_light"),
    ("Game2048", "game_2048"),
    ("InfinityLoop", "infinity_loop"),
):
    gymnasium.register(f"TarsJax/{_id}-v0", entry_point="tars_jax.envs.gym:GameEnv", kwargs={"game": _game})
