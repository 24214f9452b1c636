"""The gymnasium ids of everything that can be played: TarsJax/MazePathOfLight-v0, TarsJax/MiniWoB-click-button-v0."""

from __future__ import annotations

import gymnasium

from tars_jax.tasks.library import COLLECTIONS, playable_names
from tars_jax.tasks.lmgame.catalog import ROM_GAMES

_PREFIXES = {"": "", "miniwob": "MiniWoB-", "lmgame": "LMGame-"}


def environment_names() -> tuple[str, ...]:
    """What has an environment, by the names that `load_playable` takes, or refuses for want of a ROM."""
    return (*(name for collection in COLLECTIONS for name in playable_names(collection)), *ROM_GAMES)


def environment_id(name: str) -> str:
    """The gymnasium id of one of `environment_names`; MiniWoB++ keeps the spelling of its tasks."""
    collection, _, member = name.rpartition("/")
    if collection != "miniwob":
        member = "".join(part.title() for part in member.split("_"))
    return f"TarsJax/{_PREFIXES[collection]}{member}-v0"


def register_all() -> None:
    """Registers every environment; what one of them needs is asked for when it is made."""
    for name in environment_names():
        gymnasium.register(environment_id(name), entry_point="tars_jax.envs.gym:GameEnv", kwargs={"game": name})
