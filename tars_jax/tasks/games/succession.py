"""An episode of several levels: the next one follows a solved one, until the steps run out or a level is lost.

Nobody who reports such scores says so; the sizes of a person's in 100 steps (UI-TARS-2, table 2: 6.58 of Infinity-Loop,
17.83 of Laser-maze-puzzle) tell that they count levels where a game is a puzzle, and points where it gives points.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from tars_jax.environment import Task

NEXT_LEVELS, LEVEL_REWARDS = "next_levels", "level_rewards"
OPTIONS = {  # of an episode, beside those of `game.start`
    NEXT_LEVELS: {"type": "boolean", "description": "whether the next level follows a solved one"},
    LEVEL_REWARDS: {"type": "boolean", "description": "whether each solved level is worth 1, and not the first alone"},
}
STEPS = 100  # of such an episode, where nobody says another budget
FOLLOWS = "The next level follows a solved one."


@dataclasses.dataclass(frozen=True)
class Counts:
    """Unit of the score of an episode of several levels.

    An `endless` game has one board that goes on: these options of `game.start` take its end away, `instruction` asks
    for points, and `reached(state)` says how many levels' goals the board has passed.
    """

    unit: str  # "levels" or "points"
    words: str
    endless: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    instruction: str = ""
    reached: Callable[[Mapping[str, Any]], int] | None = None


def _doublings(state: Mapping[str, Any]) -> int:
    """Of 2048: level 1 asks for 16, each further one for twice as much."""
    return max(0, int(math.log2(state["largest"])) - (2 + min(state["level"], 8)))


_LEVELS = Counts("levels", "levels solved")
COUNTS = {
    "emoji_sort_master": _LEVELS,
    "energy": _LEVELS,
    "free_the_key": _LEVELS,
    "game_2048": Counts(
        "points",
        "points, the sum of all merged tiles, on one board that goes on",
        {"target": 65536},
        "Slide the tiles and merge equal ones into ever larger numbers. Use the arrow keys.",
        _doublings,
    ),
    "gem_11": Counts("points", "points, the numbers of all merged gems, over all levels"),
    "hex_frvr": Counts("points", "lines cleared, over all levels"),
    "infinity_loop": _LEVELS,
    "laser_maze_puzzle": _LEVELS,
    "maze_path_of_light": _LEVELS,
    "merge_and_double": Counts("points", "points, the numbers that merges made, over all levels"),
    "shapes": _LEVELS,
    "snake_solver": _LEVELS,
    "tiles_master": _LEVELS,
    "wood_blocks_3d": Counts("points", "lines cleared, over all levels"),
    "yarn_untangle": _LEVELS,
}


def counts_of(game: str) -> Counts:
    """Unit of one of our games as the table says; of any other game levels."""
    return COUNTS.get(game, _LEVELS)


@dataclasses.dataclass(frozen=True)
class Succession:
    """Progress of an episode of several levels."""

    counts: Counts
    level_rewards: bool  # 1 for each level; else for the first alone, as in an episode of one level
    has_levels: bool = True
    solved: int = 0  # levels behind
    points: float = 0.0  # that they gave

    def is_solved(self, verdict: Mapping[str, Any]) -> bool:
        """Whether the next level follows a page's verdict."""
        return bool(verdict["success"]) and self.counts.reached is None

    def next_task(self, task: Task) -> Task:
        """The level that follows a solved one: of the same seed, which is another board on another level."""
        if not self.has_levels:  # the next seed of its split, then
            return dataclasses.replace(task, seed=task.seed + 2)
        return dataclasses.replace(task, options={**task.options, "level": task.options.get("level", 1) + 1})

    def after(self, verdict: Mapping[str, Any]) -> Succession:
        """The succession after a level with that verdict of its page."""
        return dataclasses.replace(self, solved=self.solved + 1, points=self.points + verdict["score"])

    def verdict(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """The verdict on the episode so far, from the state and the verdict of the page that is played: `score` as
        `counts` says, `solved` levels, and `success` once there is one."""
        shown = info["verdict"]
        reached = 0 if self.counts.reached is None else self.counts.reached(info["state"])
        solved = self.solved + reached
        score = solved if self.counts.unit == "levels" else self.points + shown["score"]
        return {**shown, "score": score, "solved": solved, "success": solved > 0}

    def reward(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
        """Reward between one verdict on the episode and a later one."""
        if self.level_rewards:
            return float(after["solved"] - before["solved"])
        return float(after["success"] and not before["success"])
