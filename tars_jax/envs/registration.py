"""The gymnasium ids of everything that can be played: TarsJax/MazePathOfLight-v0, TarsJax/MiniWoB-click-button-v0.

What others made is TarsJax/NAME-v0 where it is registered or an entry point, and of whatever name
`gymnasium.make("TarsJax/Environment-v0", name="package.module:attribute", options={...})`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import gymnasium

from tars_jax.tasks.library import COLLECTIONS, playable_names
from tars_jax.tasks.lmgame.catalog import ROM_GAMES

ANY_ID = "TarsJax/Environment-v0"
IDS = {  # of ours that are no pages
    "computer": "TarsJax/Computer-v0",
    "browsing": "TarsJax/Browsing-v0",
    "corridor": "TarsJax/Corridor-v0",
    "phone": "TarsJax/Phone-v0",
    "website_app": "TarsJax/WebsiteApp-v0",
}
_PREFIXES = {"": "", "miniwob": "MiniWoB-", "lmgame": "LMGame-"}


@functools.cache
def environment_names() -> tuple[str, ...]:
    """Names of our environments that `load_playable` takes, or refuses for want of a ROM."""
    return (*(name for collection in COLLECTIONS for name in playable_names(collection)), *ROM_GAMES)


def environment_id(name: str) -> str:
    """The gymnasium id of one of `environment_names`, in which MiniWoB++ keeps the spelling of its tasks; of another
    name that itself, with a dash for what no id may hold."""
    if name in IDS:
        return IDS[name]
    if name not in environment_names():
        return f"TarsJax/{re.sub(r'[^a-zA-Z0-9_.-]', '-', name)}-v0"
    collection, _, member = name.rpartition("/")
    if collection != "miniwob":
        member = "".join(part.title() for part in member.split("_"))
    return f"TarsJax/{_PREFIXES[collection]}{member}-v0"


def register_with_gymnasium(name: str) -> None:
    """Registers an environment, once; what it needs is asked for when it is made."""
    ours, id = name in environment_names(), environment_id(name)
    entry_point = "tars_jax.envs.gym:GameEnv" if ours else "tars_jax.envs.gym_any:RegisteredEnv"
    if id not in gymnasium.registry:
        gymnasium.register(id, entry_point=entry_point, kwargs={"game" if ours else "name": name})


def register_all(others: Iterable[str]) -> None:
    """Registers every environment of ours, `others`, and the id that takes any name."""
    gymnasium.register(ANY_ID, entry_point="tars_jax.envs.gym_any:RegisteredEnv")
    for name in (*environment_names(), *IDS, *others):
        register_with_gymnasium(name)
