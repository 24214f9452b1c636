"""T8: the score rises with the inference step budget, nearly monotonically; an untrained baseline's flattens."""

import numpy as np

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, judged
from tars_jax.pipelines.trends.verdicts import Test

GAME, BUDGETS, EPISODES = "maze", (2, 4, 6, 12, 24), 512
TESTS = (
    Test("success at the largest budget minus that at the budget of training, trained agent"),
    Test("the largest fall of success from one budget to the next, trained agent (a fall is below 0)", above=-0.05),
    Test("what the trained agent gains beyond the budget of training minus what the supervised start gains there"),
)


def measure(bench: Bench) -> Measured:
    setup = bench.setup(GAME)
    own = setup.steps
    chosen, trained = bench.tuned(GAME)
    agents = {"trained": trained.policy, "supervised start": bench.start(GAME)}
    score = {
        name: np.stack(
            [setup.evaluate(policy, bench.seeds, EPISODES, steps)["success"].mean(1) for steps in BUDGETS], axis=1
        )
        for name, policy in agents.items()
    }
    beyond = {name: curve[:, -1] - curve[:, BUDGETS.index(own)] for name, curve in score.items()}
    worst = np.diff(score["trained"], axis=1).min(1)
    effects = [beyond["trained"], worst, beyond["trained"] - beyond["supervised start"]]
    curves = {name: {"success": curve} for name, curve in score.items()}
    notes = {"x": list(BUDGETS), "x_label": "step budget"}
    return Measured(judged(TESTS, effects), curves, {"trained": chosen}, notes)


TREND = Trend(
    "T8", "The score rises with the step budget at inference", "UI-TARS-2, figure 11", TESTS, measure, ("success",)
)
