"""T9: PPO beats GRPO at matched samples, and its reward jumps less from one update to the next."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late, volatility

GAME = "checklist"
SIDES = {"PPO": {}, "GRPO": {"ppo.advantages": "group", "ppo.group_size": 8, "ppo.aggregation": "sequence"}}
TESTS = (
    Test("success in the last fifth of the updates, PPO minus GRPO"),
    Test("volatility of the training reward, GRPO minus PPO"),
)


def measure(bench: Bench) -> Measured:
    chosen, sides = apart({name: bench.tuned(GAME, side) for name, side in SIDES.items()})
    end = {name: late(curves["success"]) for name, curves in sides.items()}
    jumps = {name: volatility(curves["reward"]) for name, curves in sides.items()}
    return Measured(judged(TESTS, [end["PPO"] - end["GRPO"], jumps["GRPO"] - jumps["PPO"]]), sides, chosen)


TREND = Trend(
    "T9", "PPO beats GRPO at matched samples, and is steadier", "UI-TARS-2, figure 12", TESTS, measure, ("success",)
)
