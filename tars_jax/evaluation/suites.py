"""The benchmark suites: which tasks an evaluation plays."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.envs.registry import load_environment
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.games.catalog import Game
from tars_jax.tasks.games.succession import NEXT_LEVELS, STEPS
from tars_jax.tasks.library import SUITES, has_levels, load_playable, playable_names
from tars_jax.tasks.lmgame.catalog import BOARD_TEXT, ROM_GAMES, RUNS, LMGame
from tars_jax.tasks.sampling import sample_task

EPISODES = 6  # of each game or task, where nobody says how many


def suite_names(suite: str, chosen: Sequence[str], with_rom: Collection[str] = ()) -> tuple[str, ...]:
    """The names in a suite, or those of them that are chosen; games may also be folders that hold one.

    Those of `with_rom`, whose ROMs are given, may be chosen, and are added by `with_rom_games`. Raises `InputError` for
    a name that is not in it, and says so where one of it takes a ROM.
    """
    names = playable_names(SUITES[suite])
    others = [name for name in chosen if name not in with_rom]
    for name in others:
        if name in unplayed_names(suite):
            load_playable(name)
        if name not in names and not _is_folder(suite, name):
            raise InputError(f"config.names must be of {suite}, {', '.join(names)}; got {name!r}")
    folders = tuple(name for name in others if name not in names)
    return tuple(name for name in names if name in others) + folders if chosen else names


def _is_folder(suite: str, name: str) -> bool:
    return SUITES[suite] == "games" and Path(name, "game.json").is_file()


def unplayed_names(suite: str) -> tuple[str, ...]:
    """Names that belong to a suite and are not played here, as they need a ROM."""
    return tuple(ROM_GAMES) if suite == "lmgame" else ()


def roms_given(suite: str, fields: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """The games of LMGame-Bench whose ROMs these fields of a config name, with the options of their tasks.

    Raises `InputError` for a field of a game that is not played.
    """
    given = {}
    for name, game in ROM_GAMES.items():
        options = {option: fields[field] for option, field in game.options.items()}
        if options["rom"] and suite == "lmgame":
            given[name] = options
        elif unused := [field for field in game.options.values() if fields[field]]:
            raise InputError(f"config.{unused[0]} must be empty where {name} is not played; got {fields[unused[0]]!r}")
    return given


def with_rom_games(
    tasks: Mapping[str, Sequence[Task]],
    given: Mapping[str, Mapping[str, str]],
    episodes: int,
    seed: int,
    max_steps: int,
) -> Mapping[str, Sequence[Task]]:
    """The tasks and LMGame-Bench's runs of its games from a user's ROM, those of `roms_given`.

    Raises `InputError` for a file that is none of it, and where the emulator is not installed.
    """
    added = {}
    for name, options in given.items():
        load_environment(name, options).make(EnvironmentResources())  # starts nothing, and refuses what cannot be
        game, short = ROM_GAMES[name], name.rpartition("/")[2]
        added[name] = [
            Task(f"{short}-benchmark-{run}", name, game.seed + run, options, max_steps or game.max_steps)
            for run in range(seed, seed + (episodes or game.runs))
        ]
    return {**tasks, **added}


def with_lmgame_harness(tasks: Mapping[str, Sequence[Task]], suite: str, harness: str) -> Mapping[str, Sequence[Task]]:
    """Tasks of LMGame-Bench with text beside their screenshots, where `harness`, one of `LMGAME_HARNESSES`, says so.

    Raises `InputError` for one that another suite has none of, and for the benchmark's own, which cannot be had.
    """
    if harness == "none":
        return tasks
    if suite != "lmgame":
        raise InputError(f"config.lmgame_harness must be none but for lmgame; got {harness!r} with {suite}")
    if harness == "gamingagent":
        raise InputError(
            "config.lmgame_harness must be none or text: gamingagent is the package of lmgame-org/GamingAgent, which "
            "stands in no registry and pins numpy 1.24.4, so tars_jax has no extra for it; its own runner plays "
            "against the policy server (./launch/local.sh serve) by lmgame-bench/run.py --harness_mode true; "
            "got 'gamingagent'"
        )
    return {
        name: [dataclasses.replace(task, options={**task.options, BOARD_TEXT: True}) for task in some]
        if name not in ROM_GAMES  # of one the benchmark has no text either, the other has always some
        else some
        for name, some in tasks.items()
    }


def suite_tasks(
    name: str, episodes: int, levels: Sequence[int], seed: int, max_steps: int, *, next_levels: bool = False
) -> list[Task]:
    """`episodes` held-out tasks of one name; levels take turns where it has levels, and are where an episode begins
    that goes on with the next ones.

    Of LMGame-Bench they are the runs that it plays, from number `seed` on: where a seed deals, it deals the same there.
    The budget is `max_steps` on every level: what a policy does with more steps is part of what is measured. 0 of
    either: as many as the suite has (`EPISODES`, LMGame-Bench's `RUNS`; `STEPS`, its games' and its tasks' own).
    """
    playable = load_playable(name)
    if isinstance(playable, LMGame):
        runs = (playable.benchmark_task(seed + index) for index in range(episodes or RUNS))
        return [dataclasses.replace(task, max_steps=max_steps or task.max_steps) for task in runs]
    turns = itertools.cycle([{"level": level} for level in levels] if has_levels(name) else [{}])
    several = {NEXT_LEVELS: True} if next_levels and isinstance(playable, Game) else {}
    steps = max_steps or (STEPS if isinstance(playable, Game) else None)
    return [
        sample_task(name, "eval", index, seed, {**options, **several}, steps)
        for index, options in zip(range(episodes or EPISODES), turns, strict=False)
    ]
