"""T17: a verifier that errs, mostly by taking failures for successes, still raises true success."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late

GAME, F1 = "checklist", 0.838
FALSE_NEGATIVE = 0.05
TESTS = (Test("true success in the last fifth of the updates minus that of the first update, erring verifier"),)


def false_positive(base: float) -> float:
    """The share of failures to be taken for successes, so that the verdicts have the report's F1 at a success rate.

    F1 = 2 TP / (2 TP + FP + FN), with TP = base (1 - FN rate).
    """
    right, missed = base * (1 - FALSE_NEGATIVE), base * FALSE_NEGATIVE
    return (2 * right / F1 - 2 * right - missed) / (1 - base)


def measure(bench: Bench) -> Measured:
    exact = bench.tuned(GAME)
    rate = false_positive(float(exact[1].curves["success"][:, :1].mean()))
    erring = bench.tuned(GAME, {"verifier.false_positive": rate, "verifier.false_negative": FALSE_NEGATIVE})
    chosen, sides = apart({"exact verifier": exact, "erring verifier": erring})
    gain = {name: late(curves["success"]) - curves["success"][:, 0] for name, curves in sides.items()}
    notes = {"false positives": rate, "gain with the exact verifier": gain["exact verifier"].tolist()}
    return Measured(judged(TESTS, [gain["erring verifier"]]), sides, chosen, notes)


TREND = Trend(
    "T17",
    "An imperfect reward model (F1 .838) still raises true success",
    "UI-TARS-2, section on reward models",
    TESTS,
    measure,
    ("success", "reward"),
)
