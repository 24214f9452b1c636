"""The games by name. Those with jumanji's rules are imported when they are asked for: it is the extra `on_device`."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tars_jax import InputError

if TYPE_CHECKING:
    from tars_jax.envs.on_device.game import DeviceGame  # needs jax, for which whoever asks for names need not wait

GAMES = {  # module and class
    "2048": ("game_2048", "Game2048"),
    "checklist": ("checklist", "Checklist"),
    "corridor": ("corridor", "Corridor"),
    "encyclopedia": ("encyclopedia", "EncyclopediaGame"),
    "maze": ("maze", "Maze"),
    "snake": ("snake", "Snake"),
    "sokoban": ("sokoban", "Sokoban"),
}


def make_game(name: str, options: Mapping[str, Any]) -> DeviceGame:
    """The game of this name; raises InputError for an unknown name or option, an option of another type, and where
    the game's rules are not installed."""
    if name not in GAMES:
        raise InputError(f"game.name must be one of {', '.join(sorted(GAMES))}; got {name!r}")
    module, kind_name = GAMES[name]
    with _importing(name):
        kind: Any = getattr(importlib.import_module(f"{__package__}.{module}"), kind_name)
    known = {field.name: field.default for field in dataclasses.fields(kind) if field.init}
    for option, value in options.items():
        if option not in known:
            raise InputError(f"an option of game {name} must be one of {', '.join(known)}; got {option!r}")
        if type(value) is not type(known[option]):
            raise InputError(f"game {name}: {option} must be {type(known[option]).__name__}; got {value!r}")
    game: DeviceGame = kind(**options)
    return game


@contextlib.contextmanager
def _importing(name: str) -> Iterator[None]:
    """jumanji, once imported in a notebook, asks it for matplotlib's backend ipympl, and fails where there is none."""
    in_notebook = builtins.__dict__.pop("__IPYTHON__", None)
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "jumanji":
            raise
        raise InputError(f"game {name} needs jumanji: pip install 'tars_jax[on_device]'") from error
    finally:
        if in_notebook is not None:
            builtins.__dict__["__IPYTHON__"] = in_notebook
