"""New games for training: from the embedded templates, or written by a model; each is played before it is admitted.

Commands:
  ./launch/local.sh synthesize_games
  ./launch/local.sh synthesize_games --config.author=https://somewhere/v1 --config.model=NAME --config.api_key_file=KEY
  ./launch/local.sh games --config.games=RUN/games/NAME,maze_path_of_light      # trains on one
"""

from ml_collections import ConfigDict

from configs import quickstart


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "author": "templates",  # or the address of an OpenAI-compatible endpoint
            "model": "",  # its name there
            "api_key_file": "",  # a file that holds the key alone
            "max_tokens": 12_000,  # of a model's answer
            "games": 8,
            "attempts": 3,  # at each game; a model hears what was wrong with the last one
            "inspection": {
                "levels": 3,  # the first so many are played by all, the others by the reference player alone
                "seeds": 4,  # of each of the first
                "most_random": 0.5,  # share of the hardest of them that legal moves at random may win
                "most_chance": 0.5,  # share of all that clicks, drags and keys anywhere may win
                "most_lost": 0.5,  # share that legal moves at random may lose within three steps
            },
            "screen": 96,  # pixels on a side
            **quickstart.places(pages=4),
            "seed": 0,
            "run": "",
        }
    )
