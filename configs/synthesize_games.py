"""New games for training: from the embedded templates, or written by a model; each is played before it is admitted.

Commands:
  ./launch/local.sh synthesize_games
  ./launch/local.sh synthesize_games --config.author=https://somewhere/v1 --config.model=NAME --config.api_key_file=KEY
  ./launch/local.sh games --config.games=RUN/games/NAME,maze_path_of_light      # trains on one
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import address_or
from tars_jax.pipelines.run_sections import places
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, between, field


@dataclasses.dataclass(frozen=True)
class SynthesizeGames(RunFields):
    author: str = field("templates", "or the address of an OpenAI-compatible endpoint", address_or("templates"))
    model: str = field("", "its name there")
    api_key_file: str = field("", "a file that holds the key alone")
    max_tokens: int = field(12_000, "of a model's answer", at_least(1))
    games: int = field(8, "how many", at_least(1))
    attempts: int = field(3, "at each game; a model hears what was wrong with the last one", at_least(1))
    screen: int = field(96, "pixels on a side", at_least(96))


@dataclasses.dataclass(frozen=True)
class Inspection:
    """How a game is played before it is admitted."""

    levels: int = field(3, "the first so many are played by all, the others by the reference player alone", at_least(1))
    seeds: int = field(4, "of each of the first", at_least(1))
    most_random: float = field(0.5, "share of the hardest of them that legal moves at random may win", between(0, 1))
    most_chance: float = field(0.5, "share of all that clicks, drags and keys anywhere may win", between(0, 1))
    most_lost: float = field(0.5, "share that legal moves at random may lose within three steps", between(0, 1))


def get_config() -> ConfigDict:
    return section(SynthesizeGames, inspection=section(Inspection), **places(pages=4, browsers=1))
