"""The benchmark suites: which tasks an evaluation plays."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.tasks.library import load_playable, playable_names
from tars_jax.tasks.lmgame.catalog import ROM_GAMES, LMGame
from tars_jax.tasks.sampling import sample_task
from tars_jax.tasks.task import Task

SUITES = {"games15": "games", "miniwob": "miniwob", "lmgame": "lmgame"}  # suite -> collection of tasks


def suite_names(suite: str, chosen: Sequence[str]) -> tuple[str, ...]:
    """The names in a suite, or those of them that are chosen.

    Raises `InputError` for a name that is not in it, and says so where one of it takes a ROM.
    """
    names = playable_names(SUITES[suite])
    for name in chosen:
        if name in unplayed_names(suite):
            load_playable(name)
        if name not in names:
            raise InputError(f"config.names got {name!r}; {suite} has {', '.join(names)}")
    return tuple(name for name in names if name in chosen) if chosen else names


def unplayed_names(suite: str) -> tuple[str, ...]:
    """What belongs to a suite and is not played here, as it takes a ROM."""
    return tuple(ROM_GAMES) if suite == "lmgame" else ()


def suite_tasks(name: str, episodes: int, levels: Sequence[int], seed: int, max_steps: int) -> list[Task]:
    """`episodes` held-out tasks of one name; levels take turns where it has levels.

    Of LMGame-Bench they are the runs that it plays, from number `seed` on: where a seed deals, it deals the same there.
    The budget is `max_steps` on every level: what a policy does with more steps is part of what is measured.
    """
    playable = load_playable(name)
    if isinstance(playable, LMGame):
        runs = (playable.benchmark_task(seed + index) for index in range(episodes))
        return [dataclasses.replace(task, max_steps=max_steps) for task in runs]
    turns = itertools.cycle([{"level": level} for level in levels] if _has_levels(name) else [{}])
    return [
        sample_task(name, "eval", index, seed, options, max_steps)
        for index, options in zip(range(episodes), turns, strict=False)
    ]


def _has_levels(name: str) -> bool:
    try:
        load_playable(name).check_options({"level": 1})
    except InputError:
        return False
    return True
