"""Trends of interfaces: clicks, searches, several calls at once, and memory: T11, T16, T18, T19."""

from __future__ import annotations

from tars_jax.model.merging import interpolate
from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, late_minus_early

T11_GAMES = {"gui": "encyclopedia_gui", "sdk": "encyclopedia_sdk", "hybrid": "encyclopedia"}
T11_INTERFACES, T11_EPISODES = ("gui", "sdk"), 512
T11_TESTS = (Test("success by clicks alone, hybrid training minus training by clicks alone, the same batches"),)


def measure_t11(bench: Bench) -> Measured:
    """T11: an agent that is trained by clicks in one half of every batch and by searches in the other beats, by clicks
    alone, the agent that was trained by clicks alone with whole batches.

    All begin with one policy that has seen demonstrations of both kinds. Beside them stands the report's other way, the
    average of two specialists, at the same cost: each of the two was trained for half of the updates.
    """
    chosen = {side: bench.tune(game) for side, game in T11_GAMES.items()}
    trained = {side: bench.train(game, chosen[side]) for side, game in T11_GAMES.items()}
    half = bench.updates(T11_GAMES["hybrid"]) // 2
    halves = [bench.train(T11_GAMES[side], {**chosen[side], "ppo.updates": half}).policy for side in T11_INTERFACES]
    agents = {"start": bench.start(T11_GAMES["hybrid"]), **{side: each.policy for side, each in trained.items()}}
    agents["merged at equal cost"] = interpolate(halves, (0.5, 0.5))
    setups = {side: bench.setup(T11_GAMES[side]) for side in T11_INTERFACES}
    score = {
        name: {
            side: setup.evaluate(policy, bench.seeds, T11_EPISODES)["success"].mean(1) for side, setup in setups.items()
        }
        for name, policy in agents.items()
    }
    notes = {name: {side: found.tolist() for side, found in each.items()} for name, each in score.items()}
    curves = {side: each.curves for side, each in trained.items()}
    return Measured(judged(T11_TESTS, [score["hybrid"]["gui"] - score["gui"]["gui"]]), curves, chosen, notes)


T11 = Trend(
    "T11", "Hybrid training beats training by clicks alone on clicks", "UI-TARS-2, figure 15", T11_TESTS, measure_t11
)


T16_GAMES, T16_EPISODES = {"gui": "encyclopedia_gui", "sdk": "encyclopedia_sdk"}, 512
T16_TESTS = (Test("success on held-out questions, trained and asked by searches minus trained and asked by clicks"),)


def measure_t16(bench: Bench) -> Measured:
    """T16: on the same questions, after the same training, an agent that searches beats one that clicks."""
    found = {side: bench.tuned(game) for side, game in T16_GAMES.items()}
    chosen, curves = apart(found)
    score = {
        side: bench.setup(T16_GAMES[side]).evaluate(trained.policy, bench.seeds, T16_EPISODES)["success"].mean(1)
        for side, (_, trained) in found.items()
    }
    notes = {f"success of {side}": each.tolist() for side, each in score.items()}
    return Measured(judged(T16_TESTS, [score["sdk"] - score["gui"]]), curves, chosen, notes)


T16 = Trend(
    "T16",
    "On information seeking an SDK beats clicking alone",
    "UI-TARS-2, table 1: BrowseComp",
    T16_TESTS,
    measure_t16,
)


T18_GAME = "checklist_several"
T18_TESTS = (
    Test("checklist: share of turns with two calls or more in the last fifth of the updates minus that in the first"),
    Test("checklist: turns an episode in the first fifth of the updates minus those in the last"),
)


def measure_t18(bench: Bench) -> Measured:
    """T18: reinforcement learning makes several calls in one turn more frequent, and episodes shorter by it.

    Not the report's: CUA-Gym saw its agents learn to put several actions into one turn. Here an answer may hold up to
    three clicks; one in ten of the demonstrations' does. Nothing in the reward asks for few turns, but the step budget
    is as many turns as the longest list has clicks.
    """
    chosen, curves = apart({"checklist": bench.tuned(T18_GAME)})
    found = curves["checklist"]
    effects = [late_minus_early(found["several_calls"]), -late_minus_early(found["episode_steps"])]
    return Measured(judged(T18_TESTS, effects), curves, chosen)


T18 = Trend(
    "T18",
    "Several calls in one turn emerge, and shorten episodes",
    "CUA-Gym, arXiv 2605.25624",
    T18_TESTS,
    measure_t18,
    ("several_calls", "episode_steps", "success"),
)


T19_GAMES = {"memory": "corridor_memory", "window": "corridor_window", "none": "corridor_none"}
T19_EPISODES, T19_CHANCE = 512, 0.25
T19_TESTS = (
    Test("success on held-out corridors, with memory minus with a longer window, the same tokens of a prompt"),
    Test("success on held-out corridors, with memory minus without, the same tokens of a prompt"),
)


def measure_t19(bench: Bench) -> Measured:
    """T19: with as many tokens to read, an agent that has a line of what went before beats one that has more of the
    last steps instead, where what it needs has left both windows.

    Equations 2 and 3 of the report say what memory is, and give no ablation. Here each prompt has the same tokens,
    padding included: one observation with eight summaries of a few words, three observations with the answers between
    them, or one observation alone. All three are shown the same demonstrations, which say what the sign says where it
    stands. Nothing keeps an agent from saying it again at every step, so that it never leaves the window; nobody shows
    it that.
    """
    found = {side: bench.tuned(game) for side, game in T19_GAMES.items()}
    chosen, curves = apart(found)
    score = {
        side: bench.setup(T19_GAMES[side]).evaluate(trained.policy, bench.seeds, T19_EPISODES)["success"].mean(1)
        for side, (_, trained) in found.items()
    }
    notes = {f"success of {side}": each.tolist() for side, each in score.items()} | {"chance": T19_CHANCE}
    effects = [score["memory"] - score[side] for side in ("window", "none")]
    return Measured(judged(T19_TESTS, effects), curves, chosen, notes)


T19 = Trend(
    "T19",
    "Memory beats a longer window at equal tokens of context",
    "UI-TARS-2, equations 2 and 3; the comparison is ours",
    T19_TESTS,
    measure_t19,
)
