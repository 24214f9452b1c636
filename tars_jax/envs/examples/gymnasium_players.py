"""Players of gymnasium environments, a few lines each, who show how it is done (`demonstrations.player`)."""

from __future__ import annotations

import functools
import random
from typing import Any

import gymnasium
import numpy as np

from tars_jax.environment import Observation
from tars_jax.tasks.games.moves import Move


@functools.cache
def plan(id: str) -> Any:
    """The best action in each state [S] of an environment that tells its transitions as `P[state][action]`, a list of
    (probability, next state, reward, ended): by value iteration, a step being worth 0.99 of the one before."""
    transitions: Any = gymnasium.make(id).unwrapped
    values = np.zeros(len(transitions.P))
    for _ in range(200):
        worth = np.array([
            [sum(p * (reward + 0.99 * values[then] * (not ended)) for p, then, reward, ended in outcomes)
             for outcomes in actions.values()]
            for actions in transitions.P.values()
        ])  # fmt: skip
        values = worth.max(1)
    return worth.argmax(1)


def taxi(observation: Observation, rng: random.Random, skill: float) -> Move:
    """Goes the shortest way; a share of 1 - `skill` of its actions are any."""
    best = int(plan("Taxi-v4")[observation.info["state"]["observation"]])
    return Move("", "act", {"action": best if rng.random() < skill else rng.randrange(6)})


def mountain_car(observation: Observation, rng: random.Random, skill: float) -> Move:
    """Pushes the way that the car goes already; a share of 1 - `skill` of its forces are any."""
    _, velocity = observation.info["state"]["observation"]
    force = 0.8 if velocity >= 0 else -0.8
    return Move("", "act", {"action": [force if rng.random() < skill else round(rng.uniform(-1, 1), 1)]})
