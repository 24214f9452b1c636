"""T3: with an SDK the training score rises while the entropy falls, which in GUI tasks it does not (T2)."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late_minus_early, rise

GAME = "encyclopedia_sdk"
TESTS = (
    Test("searching: rise of the reward over the run (least squares)"),
    Test("searching: entropy in the first fifth of the updates minus that in the last, nats"),
)


def measure(bench: Bench) -> Measured:
    chosen, curves = apart({"sdk": bench.tuned(GAME)})
    effects = [rise(curves["sdk"]["reward"]), -late_minus_early(curves["sdk"]["entropy"])]
    return Measured(judged(TESTS, effects), curves, chosen)


TREND = Trend(
    "T3",
    "With an SDK the score rises while entropy falls",
    "UI-TARS-2, figure 14",
    TESTS,
    measure,
    ("reward", "entropy"),
)
