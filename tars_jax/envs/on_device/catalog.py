"""The games by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.envs.on_device.checklist import Checklist
from tars_jax.envs.on_device.game import Game
from tars_jax.envs.on_device.game_2048 import Game2048
from tars_jax.envs.on_device.maze import Maze
from tars_jax.envs.on_device.snake import Snake
from tars_jax.envs.on_device.sokoban import Sokoban

GAMES: dict[str, type[Any]] = {
    "2048": Game2048,
    "checklist": Checklist,
    "maze": Maze,
    "snake": Snake,
    "sokoban": Sokoban,
}


def make_game(name: str, options: Mapping[str, Any]) -> Game:
    """The game of this name; raises InputError for an unknown name or option, or an option of another type."""
    if name not in GAMES:
        raise InputError(f"game.name takes one of {', '.join(sorted(GAMES))}, got {name!r}")
    kind = GAMES[name]
    known = {field.name: field.default for field in dataclasses.fields(kind) if field.init}
    for option, value in options.items():
        if option not in known:
            raise InputError(f"game {name} has no option {option!r}; it takes {', '.join(known)}")
        if type(value) is not type(known[option]):
            raise InputError(f"game {name}: {option} takes {type(known[option]).__name__}, got {value!r}")
    return kind(**options)
