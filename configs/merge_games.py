"""Specialists of Maze and Infinity-Loop, trained from one supervised start, and their interpolations.

Command:  ./launch/local.sh merge_games --config.seed=SEED

Success on 150 held-out levels of each game (an interval of 95% is about 8 points to both sides), 5 to 7 minutes a seed:
Infinity-Loop, Maze, and the mean of both.

| agent               | seed 0             | seed 1             | seed 2             |
|---------------------|--------------------|--------------------|--------------------|
| start               | 36.7  77.3    57.0 | 22.0  73.3    47.7 | 18.0  73.3    45.7 |
| of Infinity-Loop    | 58.0  26.0    42.0 | 44.7   3.3    24.0 | 42.7  12.7    27.7 |
| of Maze             | 14.7  78.7    46.7 | 16.0  82.0    49.0 |  1.3  79.3    40.3 |
| merged, 1/4 and 3/4 | 31.3  77.3    54.3 | 10.7  77.3    44.0 | 18.0  78.0    48.0 |
| merged, 1/2 and 1/2 | 42.7  70.7    56.7 | 36.0  72.0    54.0 | 20.0  73.3    46.7 |
| merged, 3/4 and 1/4 | 51.3  62.7    57.0 | 38.7  27.3    33.0 | 32.7  54.7    43.7 |

Each specialist forgets the other's game. With uniform weights a merge is better on both together than the better
specialist, by 10, 5 and 6 points, and about as good as the start (-0, +6, +1); other weights choose between the games.
On its own game a merge loses to the specialist: uniform weights 15, 9 and 23 points of Infinity-Loop, 8, 10 and 6 of
Maze.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.learning_sections import SupervisedSection
from tars_jax.pipelines.run_sections import JobFields, PackingSection, of_runs
from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, at_least, between, each, field


@dataclasses.dataclass(frozen=True)
class MergeGames(JobFields):
    """Specialists of two games, and their merges."""

    merges: tuple[float, ...] = field(
        (0.25, 0.5, 0.75),
        "merges, each given by the weight of the first game's specialist; 0.5 is uniform",
        each(Rule(lambda weight: 0 < weight < 1, "a weight of the first game's specialist between 0 and 1")),
    )
    evaluation_episodes: int = field(150, "evaluation episodes of each agent on each game", at_least(1))


@dataclasses.dataclass(frozen=True)
class Budget:
    """A game's step budget; games come in alphabetical order."""

    max_steps: int = field(5, "step budget of an episode", at_least(1))


@dataclasses.dataclass(frozen=True)
class MazeOptions(Budget):
    """Options of the maze game, as its game.json describes them."""

    distance: tuple[int, ...] = field((1, 4), "moves from start to exit")


@dataclasses.dataclass(frozen=True)
class LoopOptions(Budget):
    """Options of Infinity-Loop, as its game.json describes them."""

    size: int = field(3, "tiles on a side of the board", at_least(1))
    scrambled: int = field(1, "tiles that are turned at the start", at_least(1))


@dataclasses.dataclass(frozen=True)
class Demonstrations:
    """Demonstrations of the reference players, which the agents imitate."""

    start: int = field(700, "demonstrated episodes of each game for the common start", at_least(1))
    specialist: int = field(700, "demonstrated episodes of its game for each specialist", at_least(1))
    skill: float = field(0.8, "share of the reference players' moves that follow their plan", between(0, 1))


def get_config() -> ConfigDict:
    # The longest instruction, a screenshot and an answer.
    sections = of_runs(packing=section(PackingSection, row_length=56))
    return section(
        MergeGames,
        **sections,
        games=ConfigDict({"maze_path_of_light": section(MazeOptions), "infinity_loop": section(LoopOptions)}),
        demonstrations=section(Demonstrations),
        start=section(SupervisedSection, updates=500),
        specialist=section(SupervisedSection, updates=200, learning_rate=1e-3),
    )
