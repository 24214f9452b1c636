"""T4: in GUI tasks the agent thinks less and less at each step. Nothing in the reward asks for it."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late_minus_early

TESTS = (Test("checklist: think tokens a step in the first fifth of the updates minus those in the last"),)


def measure(bench: Bench) -> Measured:
    chosen, curves = apart({"checklist": bench.tuned("checklist")})
    return Measured(judged(TESTS, [-late_minus_early(curves["checklist"]["think_tokens"])]), curves, chosen)


TREND = Trend(
    "T4", "Think tokens a step fall in GUI tasks", "UI-TARS-2, figure 9", TESTS, measure, ("think_tokens", "success")
)
