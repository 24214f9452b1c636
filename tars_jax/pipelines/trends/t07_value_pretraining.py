"""T7: with value pretraining the reward is higher all along; without it values go against the return at first."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, early

GAME = "checklist"
TESTS = (
    Test("mean reward over all updates, with value pretraining minus without"),
    Test("minus the correlation of value and return over the first fifth of the updates, without value pretraining"),
)


def measure(bench: Bench) -> Measured:
    chosen, sides = apart({name: bench.tuned(GAME, pretrained=name == "with") for name in ("with", "without")})
    reward = {name: curves["reward"].mean(1) for name, curves in sides.items()}
    correlation = early(sides["without"]["value_correlation"])
    pretrained = bench.value(GAME)
    notes = {
        "explained variance after pretraining": pretrained.explained_variance.tolist(),
        "correlation after pretraining": pretrained.correlation.tolist(),
    }
    return Measured(judged(TESTS, [reward["with"] - reward["without"], -correlation]), sides, chosen, notes)


TREND = Trend(
    "T7",
    "Value pretraining raises the reward throughout",
    "UI-TARS-2, figure 10(b)",
    TESTS,
    measure,
    ("reward", "value_correlation"),
)
