"""One nano agent learns several games together, supervised and then by PPO.

Command:  ./launch/local.sh games --config.seed=SEED [--config.games=maze_path_of_light,infinity_loop,...]

Any of our games, folders of synthesized ones, tasks of benchmarks (miniwob/click-test) and whole benchmarks (lmgame),
for which windows need room: --config.packing.row_length=0 --config.engine.max_length=0.

Held-out success of two seeds, 200 episodes a game, before and after PPO, the difference in points with its 95%
interval; docs/games.png has the curves of seed 0:

| game          | seed 0         | points          | seed 1         | points          |
|---------------|----------------|-----------------|----------------|-----------------|
| Maze          | 84.5% -> 84.0% | -0.5 [-8, +7]   | 72.0% -> 75.5% | +3.5 [-5, +12]  |
| Infinity-Loop | 2.0% -> 6.0%   | +4.0 [0, +8]    | 9.0% -> 24.5%  | +15.5 [+8, +23] |
| 2048          | 35.5% -> 54.5% | +19.0 [+9, +28] | 42.0% -> 59.0% | +17.0 [+7, +26] |
| Tiles Master  | 86.5% -> 94.0% | +7.5 [+2, +14]  | 88.5% -> 96.0% | +7.5 [+2, +13]  |
| all           | 52.1% -> 59.6% | +7.5 [+3, +12]  | 52.9% -> 63.7% | +10.9 [+6, +16] |

59 and 63 minutes, beside other jobs on the two cores; seed 1 is of later code. The value model explains .44 and .43 of
the variance of held-out returns, a table over game, level, score and remaining steps .48 and .43. No improvement of the
maze can be told from none. In a run with 2,400 demonstrations and 9 updates of PPO no game improved by more than 100
episodes can tell.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.game_names import TRAINED_ON, can_be_trained_on
from tars_jax.pipelines.learning_sections import (
    DemonstrationsSection,
    MixtureSection,
    PPOSection,
    ReinforcedFields,
    SupervisedSection,
    ValueSection,
)
from tars_jax.pipelines.run_sections import LearnedEngineSection, PackingSection, of_runs
from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, at_least, each, field


@dataclasses.dataclass(frozen=True)
class Games(ReinforcedFields):
    """The games that one agent learns."""

    games: tuple[str, ...] = field(
        ("maze_path_of_light", "infinity_loop", "game_2048", "tiles_master"),
        "games that are learned",
        Rule(lambda names: bool(names) and can_be_trained_on(names), TRAINED_ON),
    )
    levels: tuple[int, ...] = field((1,), "levels of games that have levels", each(at_least(1)))


@dataclasses.dataclass(frozen=True)
class GameTask:
    """An episode of a game, and how games are evaluated."""

    max_steps: int = field(12, "step budget of an episode, where its level sets no lower one", at_least(1))
    next_levels: bool = field(
        False,
        "whether the next level of our games follows a solved one, until max_steps; False: an episode is one level",
    )
    level_rewards: bool = field(
        False, "whether each solved level has reward 1, with next_levels; False: only the first"
    )
    scale_episodes: int = field(
        0, "episodes of each game by scripted players, for the lines in its curve (figure 13); 0: none", at_least(0)
    )
    evaluation_episodes: int = field(
        800, "evaluation episodes of all games together, on levels that training never sees", at_least(1)
    )


def get_config() -> ConfigDict:
    return section(
        Games,
        # A weight for each of `games`, of which a collection is one; empty: games take turns.
        mixture=section(MixtureSection),
        **of_runs(
            # The longest instruction, a screenshot and an answer; two steps of the games with short ones.
            packing=section(PackingSection, row_length=80, images_per_row=2),
            engine=section(LearnedEngineSection, max_length=96, max_new_tokens=28, length_buckets=(48, 96)),
        ),
        task=section(GameTask),
        demonstrations=section(DemonstrationsSection, episodes=6000, skill=0.8),
        supervised=section(SupervisedSection, updates=1500),
        value=section(ValueSection, episodes=1000, max_episodes=2000, max_updates=400),
        ppo=section(PPOSection, updates=40, min_batch=240),
    )
