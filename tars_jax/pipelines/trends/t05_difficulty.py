"""T5: in games the agent thinks longer when the levels become harder, and then less and less until the next rise.

The curriculum is three distances of the maze's exit, a third of the updates each; what is learned goes on from one to
the next. Nothing in the reward asks for long thoughts or for short ones, but what the agent has imitated names the
whole way, which is longer where the exit is farther.

Axes: N seeds, U updates of a stage.
"""

import itertools

import numpy as np

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, judged
from tars_jax.pipelines.trends.verdicts import Test, early, late

GAME = "maze"
STAGES = (("nearest=2", "farthest=3"), ("nearest=4", "farthest=5"), ("nearest=6", "farthest=6"))
UPDATES = 20  # of a stage
TESTS = (
    Test(
        "think tokens a step in the first fifth of a harder stage minus those in the last fifth before it, mean of two"
    ),
    Test("think tokens a step in the first fifth of a harder stage minus those in its last fifth, mean of two"),
)


def measure(bench: Bench) -> Measured:
    chosen = bench.tune(GAME)
    setups = [
        bench.setup(GAME, {**chosen, "game.options": options, "ppo.updates": UPDATES, "ppo.part": UPDATES})
        for options in STAGES
    ]
    actors = setups[0].actors(bench.start(GAME), bench.value(GAME).parameters, bench.seeds)
    found = []
    for setup in setups:
        actors, curves = setup.improve(actors, bench.seeds)
        found.append(curves)
    think = [curves["think_tokens"] for curves in found]
    rises = [early(harder) - late(easier) for easier, harder in itertools.pairwise(think)]
    falls = [early(harder) - late(harder) for harder in think[1:]]
    whole = {name: np.concatenate([curves[name] for curves in found], axis=1) for name in found[0]}
    effects = [np.mean(rises, axis=0), np.mean(falls, axis=0)]
    return Measured(judged(TESTS, effects), {GAME: whole}, {GAME: chosen}, {"stages": [list(each) for each in STAGES]})


TREND = Trend(
    "T5",
    "In games think length rises with each difficulty and then decays",
    "UI-TARS-2, think length in the game domain",
    TESTS,
    measure,
    ("think_tokens", "success"),
)
