"""The games that there are: their metadata, read and checked against the files beside it."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast

import jsonschema

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.tasks.games import page_player
from tars_jax.tasks.games.moves import Move
from tars_jax.tasks.games.succession import (
    FOLLOWS,
    LEVEL_REWARDS,
    NEXT_LEVELS,
    OPTIONS,
    STEPS,
    Counts,
    Succession,
    counts_of,
)

GAMES_FOLDER = Path(__file__).parent
PAGE_SUFFIXES = (".html", ".js", ".css")


class ReferencePlayer(Protocol):
    """Plays one move from what `game.state()` returned; `skill` is the probability of a good move."""

    def __call__(self, state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move: ...


@dataclasses.dataclass(frozen=True)
class Level:
    """One step of a game's difficulty."""

    level: int
    summary: str
    max_steps: int


@dataclasses.dataclass(frozen=True)
class Game:
    """A game's metadata, from its game.json."""

    name: str
    title: str
    version: str
    instruction: str  # what the agent is asked to do
    index: str  # the page, relative to `site_root`
    single_canvas: bool  # game.canvas covers the viewport
    settle_ms: int  # virtual milliseconds after an action until the frame rests
    max_steps: int  # step budget where no level says another
    levels: tuple[Level, ...]
    options: dict[str, Any]  # a JSON schema for each option of game.start besides the seed
    picture: dict[str, Any]  # what picture.png shows: "options" of game.start, and "moves" of the reference player
    checksums: dict[str, str]  # sha256 by path relative to `site_root`
    folder: Path

    @property
    def site_root(self) -> Path:
        """The folder to serve: the games and the kit that they share."""
        return self.folder.parent

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        return ()

    @property
    def page_size(self) -> None:
        """Games are played at any size."""
        return None

    @property
    def reference(self) -> ReferencePlayer:
        """Raises `InputError` where there is none."""
        if (self.folder / "reference.js").exists():
            return page_player.play
        if not (self.folder / "reference.py").exists() or self.folder.parent != GAMES_FOLDER:
            raise InputError(
                f"{self.name}: it has no reference player, which a game of its own folder must bring as "
                f"{self.folder / 'reference.js'}"
            )
        module = importlib.import_module(f"tars_jax.tasks.games.{self.name}.reference")
        return cast(ReferencePlayer, module.play)

    @property
    def counts(self) -> Counts:
        """Counts of an episode of several levels."""
        return counts_of(self.name if self.folder.parent == GAMES_FOLDER else "")

    def steps_of_level(self, level: int) -> int:
        """The step budget of a level; beyond the last level the last one's."""
        return self.levels[min(level, len(self.levels)) - 1].max_steps

    def steps_for(self, options: Mapping[str, Any]) -> int:
        """The step budget of an episode with these options: its level's, or `STEPS` for several levels."""
        return STEPS if options.get(NEXT_LEVELS) else self.steps_of_level(options.get("level", 1))

    def start_expression(self, task: Task) -> str:
        endless = self.counts.endless if task.options.get(NEXT_LEVELS) else {}
        options = {name: value for name, value in task.options.items() if name not in OPTIONS}
        return f"game.start({json.dumps({**endless, **options, 'seed': task.seed}, sort_keys=True)})"

    def succession(self, task: Task) -> Succession | None:
        """The succession of levels of a task's episode; None: it has one level."""
        if not task.options.get(NEXT_LEVELS):
            return None
        return Succession(self.counts, bool(task.options.get(LEVEL_REWARDS)), "level" in self.options)

    def board_text(self, task: Task) -> None:
        """No text stands beside its screenshots."""

    def instruction_for(self, info: Mapping[str, Any]) -> str:
        if "solved" not in info.get("verdict", {}):
            return self.instruction
        return self.counts.instruction or f"{self.instruction} {FOLLOWS}"

    def reward(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
        """1 on the step that first succeeds, else 0."""
        return float(after["success"] and not before["success"])

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raises `InputError` for an option that the game does not know or a value that it does not take."""
        known = self.options | OPTIONS
        for name, value in options.items():
            if name not in known:
                raise InputError(f"{self.name}: an option must be one of {', '.join(known)}; got {name}")
            try:
                jsonschema.validate(value, known[name])
            except jsonschema.ValidationError as error:
                about = known[name]["description"]
                raise InputError(
                    f"{self.name}: option {name} ({about}) must fit its schema; got {value!r}: {error.message}"
                ) from None
            if known[name].get("ascending") and list(value) != sorted(value):
                raise InputError(f"{self.name}: option {name} must begin with the lesser number; got {value!r}")


def game_names() -> tuple[str, ...]:
    """The names of all games, sorted."""
    return tuple(sorted(path.parent.name for path in GAMES_FOLDER.glob("*/game.json")))


def page_checksums(folder: Path) -> dict[str, str]:
    """The sha256 of every file of a game's page and of the kit, by path relative to the folder of all games."""
    places = [place for place in (folder, folder.parent / "kit") if place.is_dir()]  # a page may need no kit
    files = [path for place in places for path in place.iterdir() if path.suffix in PAGE_SUFFIXES]
    return {
        path.relative_to(folder.parent).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(files)
    }


def read_metadata(path: Path) -> dict[str, Any]:
    """A game.json that follows game.schema.json. Raises `InputError` naming the file and the field."""
    schema = json.loads((GAMES_FOLDER / "game.schema.json").read_text(encoding="utf-8"))
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(record, schema)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    except jsonschema.ValidationError as error:
        raise InputError(f"{path}: field {error.json_path}: {error.message}") from None
    if record["name"] != path.parent.name:
        raise InputError(f"{path}: field name must be {path.parent.name!r}, as the folder is; got {record['name']!r}")
    return cast(dict[str, Any], record)


def load_game_folder(folder: Path) -> Game:
    """The game in `folder`. Raises `InputError` for bad metadata or a file that is not the one it was recorded for."""
    path = folder / "game.json"
    record = read_metadata(path)
    found = page_checksums(folder)
    for name in sorted({*found, *record["checksums"]}):
        if found.get(name) != record["checksums"].get(name):
            raise InputError(
                f"{folder.parent / name}: its sha256 is {found.get(name, 'none (no such file)')}, but {path} records "
                f"{record['checksums'].get(name, 'none')}; run python -m tars_jax.tasks.games.checksums after a change"
            )
    if not (page := folder.parent / record["index"]).is_file():
        raise InputError(
            f"{path}: field index must be a page of the game; got {record['index']!r}, and there is no {page}"
        )
    levels = tuple(Level(**level) for level in record.pop("levels"))
    return Game(**record, levels=levels, folder=folder)


@functools.cache
def load_game_at(path: str) -> Game:
    """The game in a folder that is not one of ours, such as a synthesized one. Its tasks call it by this path."""
    return load_game_folder(Path(path).absolute())


@functools.cache
def load_game(name: str) -> Game:
    """The game called `name`, its checksums verified. Raises `InputError` for an unknown name or a changed file."""
    if name not in game_names():
        raise InputError(f"a game must be one of {', '.join(game_names())}; got {name!r}")
    return load_game_folder(GAMES_FOLDER / name)
