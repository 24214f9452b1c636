"""T11: an agent that is trained by clicks in one half of every batch and by searches in the other beats, by clicks
alone, the agent that was trained by clicks alone with whole batches.

All begin with one policy that has seen demonstrations of both kinds. Beside them stands the report's other way, the
average of two specialists, at the same cost: each of the two was trained for half of the updates.
"""

from tars_jax.model.merging import interpolate
from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, judged
from tars_jax.pipelines.trends.verdicts import Test

GAMES = {"gui": "encyclopedia_gui", "sdk": "encyclopedia_sdk", "hybrid": "encyclopedia"}
INTERFACES, EPISODES = ("gui", "sdk"), 512
TESTS = (Test("success by clicks alone, hybrid training minus training by clicks alone, the same batches"),)


def measure(bench: Bench) -> Measured:
    chosen = {side: bench.tune(game) for side, game in GAMES.items()}
    trained = {side: bench.train(game, chosen[side]) for side, game in GAMES.items()}
    half = bench.updates(GAMES["hybrid"]) // 2
    halves = [bench.train(GAMES[side], {**chosen[side], "ppo.updates": half}).policy for side in INTERFACES]
    agents = {"start": bench.start(GAMES["hybrid"]), **{side: each.policy for side, each in trained.items()}}
    agents["merged at equal cost"] = interpolate(halves, (0.5, 0.5))
    setups = {side: bench.setup(GAMES[side]) for side in INTERFACES}
    score = {
        name: {side: setup.evaluate(policy, bench.seeds, EPISODES)["success"].mean(1) for side, setup in setups.items()}
        for name, policy in agents.items()
    }
    notes = {name: {side: found.tolist() for side, found in each.items()} for name, each in score.items()}
    curves = {side: each.curves for side, each in trained.items()}
    return Measured(judged(TESTS, [score["hybrid"]["gui"] - score["gui"]["gui"]]), curves, chosen, notes)


TREND = Trend("T11", "Hybrid training beats training by clicks alone on clicks", "UI-TARS-2, figure 15", TESTS, measure)
