"""The gymnasium ids of everything that can be played: TarsJax/MazePathOfLight-v0, TarsJax/MiniWoB-click-button-v0."""

from __future__ import annotations

import gymnasium

from tars_jax.tasks.library import COLLECTIONS, playable_names


def environment_id(name: str) -> str:
    """The id of a game or a benchmark's task, by the name that `load_playable` takes."""
    return f"TarsJax/{''.join(part.title() for part in name.split('_'))}-v0"


def register_all() -> None:
    """Registers every member of every collection; what one of them needs is asked for when it is made."""
    for collection in COLLECTIONS:
        for name in playable_names(collection):
            gymnasium.register(environment_id(name), entry_point="tars_jax.envs.gym:GameEnv", kwargs={"game": name})
