"""New games for training: from the embedded templates, or written by a model; each is played before it is admitted.

Commands:
  ./launch/local.sh synthesize_games
  ./launch/local.sh synthesize_games --config.author=https://somewhere/v1 --config.model=NAME --config.api_key_file=KEY
  ./launch/local.sh games --config.games=RUN/games/NAME,maze_path_of_light      # trains on one
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.data.config import InspectionConfig
from tars_jax.pipelines.command_fields import HelperFields, address_or
from tars_jax.pipelines.run_sections import places
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field, field_of


@dataclasses.dataclass(frozen=True)
class SynthesizeGames(RunFields):
    """The games to synthesize, and their author."""

    author: str = field(
        "templates",
        "author of the games: templates, or the address of an OpenAI-compatible endpoint",
        address_or("templates"),
    )
    model: str = field_of(HelperFields, "model")
    api_key_file: str = field_of(HelperFields, "api_key_file")
    max_tokens: int = field_of(HelperFields, "max_tokens", default=12_000)
    games: int = field(8, "number of games to synthesize", at_least(1))
    attempts: int = field(3, "attempts at each game; the model is told what was wrong with the last one", at_least(1))
    screen: int = field(96, "side of a game's screen in pixels", at_least(96))


def get_config() -> ConfigDict:
    return section(SynthesizeGames, inspection=section(InspectionConfig), **places(pages=4, browsers=1))
