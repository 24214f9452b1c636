"""T2: unlike in reasoning, the policy's entropy is higher late in training than early."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late_minus_early

GAMES = ("checklist", "maze", "game_2048")
TESTS = tuple(Test(f"{game}: entropy in the last fifth of the updates minus that in the first, nats") for game in GAMES)


def measure(bench: Bench) -> Measured:
    chosen, curves = apart({game: bench.tuned(game) for game in GAMES})
    return Measured(judged(TESTS, [late_minus_early(curves[game]["entropy"]) for game in GAMES]), curves, chosen)


TREND = Trend("T2", "Entropy is higher late than early", "UI-TARS-2, figure 8", TESTS, measure, ("entropy",))
