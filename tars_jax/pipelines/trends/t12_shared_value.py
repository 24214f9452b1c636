"""T12: in hybrid training one value model of both interfaces explains more of the returns than one for each."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test

GAME = "encyclopedia"
TESTS = (Test("mean explained variance over all updates, one value model minus one for each interface"),)


def measure(bench: Bench) -> Measured:
    chosen, sides = apart({name: bench.tuned(GAME, {"ppo.value_models": name}) for name in ("shared", "part")})
    explained = {name: curves["explained_variance"].mean(1) for name, curves in sides.items()}
    notes = {
        f"explained variance after pretraining, {name}": bench.value(
            GAME, settings=chosen[name]
        ).explained_variance.tolist()
        for name in sides
    }
    return Measured(judged(TESTS, [explained["shared"] - explained["part"]]), sides, chosen, notes)


TREND = Trend(
    "T12",
    "A shared value model explains more than interface-specific ones",
    "UI-TARS-2, figure 15",
    TESTS,
    measure,
    ("explained_variance", "success"),
)
