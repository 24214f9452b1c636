"""Everything that a task can name: our games, and benchmarks that others made, as pages behind one interface."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.tasks.games.catalog import ReferencePlayer, game_names, load_game, load_game_at
from tars_jax.tasks.games.succession import Succession
from tars_jax.tasks.lmgame.board_text import BoardText
from tars_jax.tasks.lmgame.catalog import GAMES, load_lmgame
from tars_jax.tasks.miniwob.catalog import load_miniwob, miniwob_names

COLLECTIONS = ("games", "miniwob", "lmgame")
SUITES = {"games15": "games", "miniwob": "miniwob", "lmgame": "lmgame"}  # benchmark -> collection of its tasks
LMGAME_HARNESSES = ("none", "text", "gamingagent")  # what LMGame-Bench adds to its screenshots


class Playable(Protocol):
    """A page that shows one kind of task, how it is asked for, and what its episodes earn.

    Every page has `game.start(options)`, which begins an episode from its seed, `game.state()`, and `window.verify()`,
    which gives {score, level, lives, done, success}. An environment's `info` holds what the latter two gave as "state"
    and "verdict".
    """

    @property
    def name(self) -> str: ...  # as tasks say it

    @property
    def title(self) -> str: ...

    @property
    def site_root(self) -> Path: ...  # the folder that the page is served from

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]: ...  # further folders, by the first part of their path

    @property
    def index(self) -> str: ...  # the page, below `site_root`; may carry a query

    @property
    def page_size(self) -> tuple[int, int] | None: ...  # the only (width, height) that it can be played at, in pixels

    @property
    def single_canvas(self) -> bool: ...  # game.canvas covers the viewport

    @property
    def settle_ms(self) -> int: ...  # virtual milliseconds after an action

    @property
    def reference(self) -> ReferencePlayer: ...  # InputError where nobody wrote one

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raises `InputError` for an option of `game.start` that is unknown or impossible."""
        ...

    def steps_for(self, options: Mapping[str, Any]) -> int:
        """The agent's step budget."""
        ...

    def succession(self, task: Task) -> Succession | None:
        """The succession of levels of the task's episode; None: it has one level."""
        ...

    def board_text(self, task: Task) -> BoardText | None:
        """The writer of text beside the screenshots of the task's episode; None: there is none."""
        ...

    def start_expression(self, task: Task) -> str:
        """The JavaScript that begins a task's episode in the page."""
        ...

    def instruction_for(self, info: Mapping[str, Any]) -> str:
        """Instruction of the episode that began with `info`."""
        ...

    def reward(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
        """Reward between one verdict and a later one of the same episode."""
        ...


def playable_names(collection: str) -> tuple[str, ...]:
    """The names of all members of a collection, as tasks say them. Raises `InputError` for an unknown one."""
    match collection:
        case "games":
            return game_names()
        case "miniwob":
            return miniwob_names()
        case "lmgame":
            return tuple(GAMES)
    raise InputError(f"collection must be one of {', '.join(COLLECTIONS)}; got {collection!r}")


def members(name: str) -> tuple[str, ...]:
    """Members of a collection or a benchmark, as tasks name them; of any other name itself."""
    collection = SUITES.get(name, name)
    return playable_names(collection) if collection in COLLECTIONS else (name,)


def has_levels(name: str) -> bool:
    """Whether tasks of that name take the option `level`. Raises InputError as `load_playable` does."""
    playable = load_playable(name)
    try:
        playable.check_options({"level": 1})
    except InputError:
        return False
    return True


def load_playable(name: str) -> Playable:
    """Loads what a task's `game` names: a game of ours, COLLECTION/MEMBER, or the folder of a game that stands
    elsewhere.

    Raises:
      InputError: there is no such thing, or what it needs is not installed.
    """
    collection, slash, _ = name.partition("/")
    if name in game_names():
        return load_game(name)
    if Path(name, "game.json").is_file():
        return load_game_at(name)
    if not slash:
        return load_game(name)
    if collection == "miniwob":
        return load_miniwob(name)
    if collection == "lmgame":
        return load_lmgame(name)
    raise InputError(
        f"a task's collection must be one of {', '.join(COLLECTIONS)}, or a folder with game.json; "
        f"got {collection!r} in {name!r}"
    )
