"""LMGame-Bench (https://arxiv.org/abs/2505.15146): its puzzle games as pages of our kit, scored as it scores.

A reward is the gain of score, so an episode's reward is its score. Scores and limits are those of
lmgame-org/GamingAgent, below gamingagent/envs and gamingagent/configs, which plays three runs of each game:

- 2048 (custom_01_2048, `total_score`): the sum of all merged tiles, as in gymnasium-2048. `reported` is 10 log2 of it.
- Candy Crush (custom_03_candy_crush, `total_score`): candies cleared in 50 moves, without special ones; the rules are
  tile-match-gym's, and a seed gives its board and candies. Here two clicks are two steps, so a move may take two.
- Sokoban (custom_02_sokoban, `total_score`): boxes of the levels behind, and boxes that stand on targets now, over six
  levels in a row. The levels are ours; `levels` takes others (`sokoban_levels`). Its limit of 200 steps is for all.
- Tetris (custom_04_tetris, `REWARD_PIECE_PLACED`, `REWARD_PER_LINE_CLEARED`): 1 for a piece, 10 for a full row; a seed
  deals the pieces that numpy's generator deals there.

Its rule that ends an episode after some steps without a change (`patience`) ends none here; scores that stand beside
published ones keep it (`tars_jax.evaluation.scoring`).
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import jsonschema
import numpy as np

from tars_jax import InputError
from tars_jax.environment import Task
from tars_jax.tasks.games.catalog import GAMES_FOLDER, ReferencePlayer
from tars_jax.tasks.lmgame.board_text import BoardText


@dataclasses.dataclass(frozen=True)
class RomGame:
    """A game of the benchmark whose ROM nobody may ship: how it plays it."""

    options: Mapping[str, str]  # of its tasks -> the field of `evaluate` for it
    seed: int  # of the first run
    runs: int
    max_steps: int
    patience: int  # after so many steps in a row that changed nothing, the benchmark ends an episode


SUPER_MARIO_BROS, ACE_ATTORNEY = "lmgame/super_mario_bros", "lmgame/ace_attorney"
ROM_GAMES = {  # as gamingagent/configs/retro_01_super_mario_bros and retro_02_ace_attorney have it
    SUPER_MARIO_BROS: RomGame({"rom": "super_mario_bros_rom"}, 42, 3, 3000, 100),
    # It plays once, without a seed, and looks for a change twice in each step, 30 times.
    ACE_ATTORNEY: RomGame({"rom": "ace_attorney_rom", "gaming_agent": "gaming_agent"}, 0, 1, 300, 15),
}
BOARD_TEXT = "board_text"  # an option of every game: its board and the last moves as text (board_text.py)
RUNS = 3  # of each game, as the benchmark has it
_DEALS = 4096  # far more than an episode of Candy Crush or Tetris uses


@dataclasses.dataclass(frozen=True)
class LMGame:
    """One game, as `lmgame/tetris`; a `tars_jax.tasks.library.Playable`."""

    name: str
    title: str
    instruction: str
    benchmark_seed: int  # of the benchmark's first run; each further one has the next seed
    max_steps: int  # as the benchmark has it
    patience: int  # after so many steps in a row that changed nothing, the benchmark ends an episode
    index: str
    reference_module: str
    site_root: Path = Path(__file__).parent.parent
    settle_ms: int = 170
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # options that every episode has
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # a JSON schema for each one that may be given
    stream: Callable[[int], str] | None = None  # what a seed deals
    reported: Callable[[float], float] = float  # a score -> the figure in the benchmark's tables

    @property
    def mounts(self) -> tuple[tuple[str, Path], ...]:
        return ()

    @property
    def page_size(self) -> None:
        """Played at any size."""
        return None

    @property
    def single_canvas(self) -> bool:
        return True

    @property
    def reference(self) -> ReferencePlayer:
        return cast(ReferencePlayer, importlib.import_module(self.reference_module).play)

    def check_options(self, options: Mapping[str, Any]) -> None:
        known = {**self.options, BOARD_TEXT: {"type": "boolean"}}
        for name, value in options.items():
            if name not in known:
                raise InputError(f"{self.name}: an option must be one of {', '.join(known)}; got {name}")
            try:
                jsonschema.validate(value, known[name])
            except jsonschema.ValidationError as error:
                raise InputError(f"{self.name}: option {name}: {error.message}") from None

    def steps_for(self, options: Mapping[str, Any]) -> int:
        return self.max_steps

    def succession(self, task: Task) -> None:
        """None: its pages go on by themselves."""

    def board_text(self, task: Task) -> BoardText | None:
        """Text beside the screenshots, where the task asks for it."""
        return BoardText() if task.options.get(BOARD_TEXT) else None

    def start_expression(self, task: Task) -> str:
        stream = {} if self.stream is None else {"stream": self.stream(task.seed)}
        given = {name: value for name, value in task.options.items() if name != BOARD_TEXT}
        options = {**self.fixed, **stream, **given, "seed": task.seed}
        return f"game.start({json.dumps(options, sort_keys=True)})"

    def instruction_for(self, info: Mapping[str, Any]) -> str:
        return self.instruction

    def reward(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
        return float(after["score"] - before["score"])

    def benchmark_task(self, run: int = 0) -> Task:
        """The episode that the benchmark plays as its run number `run`, from 0, where a seed says one."""
        return Task(f"{self.name}-benchmark-{run}", self.name, self.benchmark_seed + run, {}, self.max_steps)


def ten_log2(score: float) -> float:
    """10 log2 of a score of 2048; 0 for one without a merge, which is worth 4 at least."""
    return 10 * math.log2(score) if score else 0.0


@functools.lru_cache(maxsize=16)
def candies(seed: int) -> str:
    """The colours that tile-match-gym deals for a seed, as digits 1 to 4 (of four colours numpy rejects no draw)."""
    return "".join(map(str, np.random.default_rng(seed).integers(1, 5, _DEALS)))


@functools.lru_cache(maxsize=16)
def tetrominoes(seed: int) -> str:
    """The pieces that LMGame-Bench deals for a seed, as digits 0 to 6 for I O T S Z J L."""
    generator = np.random.default_rng(seed)

    def bags() -> Iterator[int]:
        while True:
            bag = list(range(7))
            generator.shuffle(bag)
            yield from bag

    return "".join(map(str, itertools.islice(bags(), _DEALS)))


def sokoban_levels(path: Path) -> list[str]:
    """The levels of a text file, as the benchmark's levels.txt has them: each below a line that says "Level N".

    Raises:
      InputError: the file cannot be read or has no such level.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it cannot be read as text: {error}") from None
    levels = [level.strip("\n") for level in re.split(r"^Level +\d+ *$", text, flags=re.MULTILINE)[1:]]
    if not all("@" in level or "+" in level for level in levels) or not levels:
        raise InputError(f'{path} must hold levels below lines of "Level N", each with a worker @; got {len(levels)}')
    return levels


GAMES = {
    game.name: game
    for game in (
        LMGame(
            name="lmgame/2048",
            title="2048",
            instruction="Slide the tiles and merge equal ones into ever larger numbers. Use the arrow keys.",
            benchmark_seed=0,
            max_steps=1000,
            patience=10,
            site_root=GAMES_FOLDER,
            index="game_2048/index.html",
            reference_module="tars_jax.tasks.games.game_2048.reference",
            fixed={"level": 8, "target": 65536},
            reported=ten_log2,
        ),
        LMGame(
            name="lmgame/candy_crush",
            title="Candy Crush",
            instruction="Swap two neighbouring candies, by two clicks or a drag, so that three or more of one colour "
            "stand in a line. Clear as many as you can in 50 moves.",
            benchmark_seed=42,
            max_steps=100,  # 50 swaps by two clicks each
            patience=50,
            index="lmgame/candy_crush/index.html",
            reference_module="tars_jax.tasks.lmgame.candy_crush.reference",
            stream=candies,
        ),
        LMGame(
            name="lmgame/sokoban",
            title="Sokoban",
            instruction="Push every box onto a red spot. Use the arrow keys. The next level follows a solved one.",
            benchmark_seed=42,
            max_steps=200,
            patience=5,
            index="lmgame/sokoban/index.html",
            reference_module="tars_jax.tasks.lmgame.sokoban.reference",
            options={"levels": {"type": "array", "minItems": 1, "items": {"type": "string"}}},
        ),
        LMGame(
            name="lmgame/tetris",
            title="Tetris",
            instruction="Fill rows with the falling pieces. Left and right move a piece, up and z turn it, down lowers "
            "it, space drops it. It falls one row with every key.",
            benchmark_seed=42,
            max_steps=2000,
            patience=30,
            index="lmgame/tetris/index.html",
            reference_module="tars_jax.tasks.lmgame.tetris.reference",
            settle_ms=20,
            stream=tetrominoes,
        ),
    )
}


def load_lmgame(name: str) -> LMGame:
    """The game called `name`. Raises `InputError` for an unknown one, and for those whose ROM nobody may ship."""
    if name in ROM_GAMES:
        options = ROM_GAMES[name].options
        flags = " and ".join(f"--config.{field}" for field in options.values())
        raise InputError(
            f"{name} needs a ROM that you own and that nobody may ship: name its file, with {flags} of `evaluate` or "
            f"by {' and '.join(options)} among the options of its tasks"
        )
    if name not in GAMES:
        raise InputError(f"a game of LMGame-Bench must be one of {', '.join([*GAMES, *ROM_GAMES])}; got {name!r}")
    return GAMES[name]
