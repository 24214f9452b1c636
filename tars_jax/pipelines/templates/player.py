"""A player of your own: it shows how an environment is played, and an agent imitates it before it learns by itself.

tars-jax try mine:Large --config.player=my_player:play
tars-jax train --config.environment=mine:Large --config.demonstrations.player=my_player:play
"""

import random

from tars_jax.environment import Observation
from tars_jax.tasks.games.moves import Move


def play(observation: Observation, rng: random.Random, skill: float) -> Move:
    """What it does next. `skill` is the probability of a good move, as agents learn from mistakes, too; with a class in
    the place of this function, each episode has an object of its own, made with its task.

    It may read what no policy sees: `observation.info`.
    """
    large = int(observation.text) > 4
    if rng.random() >= skill:
        large = not large
    # A policy imitates the thought, too; it may be empty.
    thought = f"{observation.text} is {'above' if large else 'not above'} 4"
    return Move(thought, "answer", {"yes": large})  # the name of a function or an action, and its parameters


if __name__ == "__main__":
    print(play(Observation(text="7"), random.Random(0), skill=1.0))
