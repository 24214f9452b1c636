"""T6: in GUI tasks the reward rises while the steps of an episode fall. Nothing in the reward asks for few steps."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late_minus_early, rise

TESTS = (
    Test("checklist: rise of the reward over the run (least squares)"),
    Test("checklist: steps an episode in the first fifth of the updates minus those in the last"),
)


def measure(bench: Bench) -> Measured:
    chosen, curves = apart({"checklist": bench.tuned("checklist")})
    effects = [rise(curves["checklist"]["reward"]), -late_minus_early(curves["checklist"]["episode_steps"])]
    return Measured(judged(TESTS, effects), curves, chosen)


TREND = Trend(
    "T6",
    "Reward rises while steps a task fall",
    "UI-TARS-2, figure 10(a)",
    TESTS,
    measure,
    ("reward", "episode_steps"),
)
