"""Names of games and tasks of benchmarks that can be trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tars_jax.tasks.games.catalog import game_names
from tars_jax.tasks.library import COLLECTIONS, SUITES, load_playable, members, playable_names


def is_game(name: str) -> bool:
    """Whether it is one of ours, or the folder of one: with levels, a reference player and an instruction for all."""
    return name in game_names() or Path(name, "game.json").is_file()


def game_members(names: Sequence[str]) -> tuple[str, ...]:
    """Games and tasks of benchmarks that names stand for, of which some may be collections."""
    return tuple(each for name in names for each in members(name))


def can_be_trained_on(names: Sequence[str]) -> bool:
    """Whether they are known, and told apart by the names under which a run keeps what it measures: two folders may
    hold games of one name."""
    found = game_members(names)
    known = {name for collection in COLLECTIONS for name in playable_names(collection)}
    if not all(name in known or is_game(name) for name in found):
        return False
    return len({load_playable(name).name for name in found}) == len(found)


TRAINED_ON = (
    f"different ones of {', '.join(game_names())}, folders of synthesized games, tasks of benchmarks such as "
    f"miniwob/click-button and lmgame/sokoban, and whole ones, {', '.join(SUITES)}, no two of one name"
)
