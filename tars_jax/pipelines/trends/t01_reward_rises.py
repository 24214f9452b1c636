"""T1: the training reward rises, in GUI tasks as in games."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, rise

GAMES = ("checklist", "maze", "game_2048")
TESTS = tuple(Test(f"{game}: rise of the reward over the run (least squares)") for game in GAMES)


def measure(bench: Bench) -> Measured:
    chosen, curves = apart({game: bench.tuned(game) for game in GAMES})
    return Measured(judged(TESTS, [rise(curves[game]["reward"]) for game in GAMES]), curves, chosen)


TREND = Trend("T1", "Training reward rises in GUI tasks and games", "UI-TARS-2, figure 7", TESTS, measure, ("reward",))
