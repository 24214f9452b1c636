"""T19: with as many tokens to read, an agent that has a line of what went before beats one that has more of the last
steps instead, where what it needs has left both windows.

Equations 2 and 3 of the report say what memory is, and give no ablation. Here each prompt has the same tokens, padding
included: one observation with eight summaries of a few words, three observations with the answers between them, or one
observation alone. All three are shown the same demonstrations, which say what the sign says where it stands. Nothing
keeps an agent from saying it again at every step, so that it never leaves the window; nobody shows it that.
"""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test

GAMES = {"memory": "corridor_memory", "window": "corridor_window", "none": "corridor_none"}
EPISODES, CHANCE = 512, 0.25
TESTS = (
    Test("success on held-out corridors, with memory minus with a longer window, the same tokens of a prompt"),
    Test("success on held-out corridors, with memory minus without, the same tokens of a prompt"),
)


def measure(bench: Bench) -> Measured:
    found = {side: bench.tuned(game) for side, game in GAMES.items()}
    chosen, curves = apart(found)
    score = {
        side: bench.setup(GAMES[side]).evaluate(trained.policy, bench.seeds, EPISODES)["success"].mean(1)
        for side, (_, trained) in found.items()
    }
    notes = {f"success of {side}": each.tolist() for side, each in score.items()} | {"chance": CHANCE}
    effects = [score["memory"] - score[side] for side in ("window", "none")]
    return Measured(judged(TESTS, effects), curves, chosen, notes)


TREND = Trend(
    "T19",
    "Memory beats a longer window at equal tokens of context",
    "UI-TARS-2, equations 2 and 3; the comparison is ours",
    TESTS,
    measure,
)
