"""Trends of algorithms: value pretraining, PPO beside GRPO, a shared value model and an imperfect verifier: T7, T9,
T12, T17."""

from __future__ import annotations

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, early, late, volatility

T7_GAME = "checklist"
T7_TESTS = (
    Test("mean reward over all updates, with value pretraining minus without"),
    Test("minus the correlation of value and return over the first fifth of the updates, without value pretraining"),
)


def measure_t7(bench: Bench) -> Measured:
    """T7: with value pretraining the reward is higher all along; without it values go against the return at first."""
    chosen, sides = apart({name: bench.tuned(T7_GAME, pretrained=name == "with") for name in ("with", "without")})
    reward = {name: curves["reward"].mean(1) for name, curves in sides.items()}
    correlation = early(sides["without"]["value_correlation"])
    pretrained = bench.value(T7_GAME)
    notes = {
        "explained variance after pretraining": pretrained.explained_variance.tolist(),
        "correlation after pretraining": pretrained.correlation.tolist(),
    }
    return Measured(judged(T7_TESTS, [reward["with"] - reward["without"], -correlation]), sides, chosen, notes)


T7 = Trend(
    "T7",
    "Value pretraining raises the reward throughout",
    "UI-TARS-2, figure 10(b)",
    T7_TESTS,
    measure_t7,
    ("reward", "value_correlation"),
)


T9_GAME = "checklist"
T9_SIDES = {"PPO": {}, "GRPO": {"ppo.advantages": "group", "ppo.group_size": 8, "ppo.aggregation": "sequence"}}
T9_TESTS = (
    Test("success in the last fifth of the updates, PPO minus GRPO"),
    Test("volatility of the training reward, GRPO minus PPO"),
)


def measure_t9(bench: Bench) -> Measured:
    """T9: PPO beats GRPO at matched samples, and its reward jumps less from one update to the next."""
    chosen, sides = apart({name: bench.tuned(T9_GAME, side) for name, side in T9_SIDES.items()})
    end = {name: late(curves["success"]) for name, curves in sides.items()}
    jumps = {name: volatility(curves["reward"]) for name, curves in sides.items()}
    return Measured(judged(T9_TESTS, [end["PPO"] - end["GRPO"], jumps["GRPO"] - jumps["PPO"]]), sides, chosen)


T9 = Trend(
    "T9",
    "PPO beats GRPO at matched samples, and is steadier",
    "UI-TARS-2, figure 12",
    T9_TESTS,
    measure_t9,
    ("success",),
)


T12_GAME = "encyclopedia"
T12_TESTS = (Test("mean explained variance over all updates, one value model minus one for each interface"),)


def measure_t12(bench: Bench) -> Measured:
    """T12: in hybrid training one value model of both interfaces explains more of the returns than one for each."""
    chosen, sides = apart({name: bench.tuned(T12_GAME, {"ppo.value_models": name}) for name in ("shared", "part")})
    explained = {name: curves["explained_variance"].mean(1) for name, curves in sides.items()}
    notes = {
        f"explained variance after pretraining, {name}": bench.value(
            T12_GAME, settings=chosen[name]
        ).explained_variance.tolist()
        for name in sides
    }
    return Measured(judged(T12_TESTS, [explained["shared"] - explained["part"]]), sides, chosen, notes)


T12 = Trend(
    "T12",
    "A shared value model explains more than interface-specific ones",
    "UI-TARS-2, figure 15",
    T12_TESTS,
    measure_t12,
    ("explained_variance", "success"),
)


T17_GAME, T17_F1 = "checklist", 0.838
T17_FALSE_NEGATIVE = 0.05
T17_TESTS = (Test("true success in the last fifth of the updates minus that of the first update, erring verifier"),)


def false_positive(base: float) -> float:
    """The share of failures to be taken for successes, so that the verdicts have the report's F1 at a success rate.

    F1 = 2 TP / (2 TP + FP + FN), with TP = base (1 - FN rate).
    """
    right, missed = base * (1 - T17_FALSE_NEGATIVE), base * T17_FALSE_NEGATIVE
    return (2 * right / T17_F1 - 2 * right - missed) / (1 - base)


def measure_t17(bench: Bench) -> Measured:
    """T17: a verifier that errs, mostly by taking failures for successes, still raises true success."""
    exact = bench.tuned(T17_GAME)
    rate = false_positive(float(exact[1].curves["success"][:, :1].mean()))
    erring = bench.tuned(T17_GAME, {"verifier.false_positive": rate, "verifier.false_negative": T17_FALSE_NEGATIVE})
    chosen, sides = apart({"exact verifier": exact, "erring verifier": erring})
    gain = {name: late(curves["success"]) - curves["success"][:, 0] for name, curves in sides.items()}
    notes = {"false positives": rate, "gain with the exact verifier": gain["exact verifier"].tolist()}
    return Measured(judged(T17_TESTS, [gain["erring verifier"]]), sides, chosen, notes)


T17 = Trend(
    "T17",
    "An imperfect reward model (F1 .838) still raises true success",
    "UI-TARS-2, section on reward models",
    T17_TESTS,
    measure_t17,
    ("success", "reward"),
)
