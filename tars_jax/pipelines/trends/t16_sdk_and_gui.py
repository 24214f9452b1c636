"""T16: on the same questions, after the same training, an agent that searches beats one that clicks."""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test

GAMES, EPISODES = {"gui": "encyclopedia_gui", "sdk": "encyclopedia_sdk"}, 512
TESTS = (Test("success on held-out questions, trained and asked by searches minus trained and asked by clicks"),)


def measure(bench: Bench) -> Measured:
    found = {side: bench.tuned(game) for side, game in GAMES.items()}
    chosen, curves = apart(found)
    score = {
        side: bench.setup(GAMES[side]).evaluate(trained.policy, bench.seeds, EPISODES)["success"].mean(1)
        for side, (_, trained) in found.items()
    }
    notes = {f"success of {side}": each.tolist() for side, each in score.items()}
    return Measured(judged(TESTS, [score["sdk"] - score["gui"]]), curves, chosen, notes)


TREND = Trend(
    "T16",
    "On information seeking an SDK beats clicking alone",
    "UI-TARS-2, table 1: BrowseComp",
    TESTS,
    measure,
)
