"""T18: reinforcement learning makes several calls in one turn more frequent, and episodes shorter by it.

Not the report's: CUA-Gym saw its agents learn to put several actions into one turn. Here an answer may hold up to three
clicks; one in ten of the demonstrations' does. Nothing in the reward asks for few turns, but the step budget is as many
turns as the longest list has clicks.
"""

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late_minus_early

GAME = "checklist_several"
TESTS = (
    Test("checklist: share of turns with two calls or more in the last fifth of the updates minus that in the first"),
    Test("checklist: turns an episode in the first fifth of the updates minus those in the last"),
)


def measure(bench: Bench) -> Measured:
    chosen, curves = apart({"checklist": bench.tuned(GAME)})
    found = curves["checklist"]
    effects = [late_minus_early(found["several_calls"]), -late_minus_early(found["episode_steps"])]
    return Measured(judged(TESTS, effects), curves, chosen)


TREND = Trend(
    "T18",
    "Several calls in one turn emerge, and shorten episodes",
    "CUA-Gym, arXiv 2605.25624",
    TESTS,
    measure,
    ("several_calls", "episode_steps", "success"),
)
