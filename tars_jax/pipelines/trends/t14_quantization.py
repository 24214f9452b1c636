"""T14, its numerical part: with weights of 4 bits and activations of 8 the score falls by a few percent."""

import numpy as np

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, judged
from tars_jax.pipelines.trends.verdicts import Test

GAMES, EPISODES = ("checklist", "maze"), 512
TESTS = tuple(Test(f"{game}: success with W4A8 over success in float, minus 1", above=-0.1) for game in GAMES)


def measure(bench: Bench) -> Measured:
    effects, notes, chosen = list[np.ndarray](), {}, {}
    for game in GAMES:
        chosen[game], trained = bench.tuned(game)
        setup = bench.setup(game)
        score = {
            weights: setup.evaluate(trained.policy, bench.seeds, EPISODES, weights=weights)["success"].mean(1)
            for weights in ("float", "w4a8")
        }
        effects.append(score["w4a8"] / score["float"] - 1)
        notes[game] = {weights: found.tolist() for weights, found in score.items()}
    return Measured(judged(TESTS, effects), {}, chosen, notes)


TREND = Trend("T14", "W4A8 costs little score", "UI-TARS-2, section on quantization", TESTS, measure, ())
