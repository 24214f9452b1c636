"""T15: reinforcement learning also raises the score on levels such as neither training has seen.

The levels are harder ones of the same games, under the training's step budget: pages with more boxes, and exits that
are farther away than any of the training's, so that every move must be right.
"""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, judged
from tars_jax.pipelines.trends.verdicts import Test

HARDER, EPISODES = {"checklist": ("most=5",), "maze": ("nearest=6", "farthest=6")}, 512
TESTS = tuple(
    Test(f"{game} with {', '.join(options)}: success after RL minus that of its supervised start")
    for game, options in HARDER.items()
)


def measure(bench: Bench) -> Measured:
    effects, notes, chosen = [], {}, {}
    for game, options in HARDER.items():
        chosen[game], trained = bench.tuned(game)
        harder = bench.setup(game, {"game.options": options})
        agents = {"RL": trained.policy, "supervised": bench.start(game)}
        score = {
            name: harder.evaluate(policy, bench.seeds, EPISODES)["success"].mean(1) for name, policy in agents.items()
        }
        effects.append(score["RL"] - score["supervised"])
        notes[game] = {name: found.tolist() for name, found in score.items()}
    return Measured(judged(TESTS, effects), {}, chosen, notes)


TREND = Trend("T15", "RL beats SFT out of domain", "UI-TARS-2, OOD generalization", TESTS, measure, ())
