"""Trends of training curves: reward, entropy, thoughts and steps: T1 to T6.

Axes: N seeds, U updates of a stage.
"""

from __future__ import annotations

import itertools

import numpy as np

from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, early, late, late_minus_early, rise

T1_GAMES = ("checklist", "maze", "game_2048")
T1_TESTS = tuple(Test(f"{game}: rise of the reward over the run (least squares)") for game in T1_GAMES)


def measure_t1(bench: Bench) -> Measured:
    """T1: the training reward rises, in GUI tasks as in games."""
    chosen, curves = apart({game: bench.tuned(game) for game in T1_GAMES})
    return Measured(judged(T1_TESTS, [rise(curves[game]["reward"]) for game in T1_GAMES]), curves, chosen)


T1 = Trend(
    "T1", "Training reward rises in GUI tasks and games", "UI-TARS-2, figure 7", T1_TESTS, measure_t1, ("reward",)
)


T2_GAMES = ("checklist", "maze", "game_2048")
T2_TESTS = tuple(
    Test(f"{game}: entropy in the last fifth of the updates minus that in the first, nats") for game in T2_GAMES
)


def measure_t2(bench: Bench) -> Measured:
    """T2: unlike in reasoning, the policy's entropy is higher late in training than early."""
    chosen, curves = apart({game: bench.tuned(game) for game in T2_GAMES})
    return Measured(judged(T2_TESTS, [late_minus_early(curves[game]["entropy"]) for game in T2_GAMES]), curves, chosen)


T2 = Trend("T2", "Entropy is higher late than early", "UI-TARS-2, figure 8", T2_TESTS, measure_t2, ("entropy",))


T3_GAME = "encyclopedia_sdk"
T3_TESTS = (
    Test("searching: rise of the reward over the run (least squares)"),
    Test("searching: entropy in the first fifth of the updates minus that in the last, nats"),
)


def measure_t3(bench: Bench) -> Measured:
    """T3: with an SDK the training score rises while the entropy falls, which in GUI tasks it does not (T2)."""
    chosen, curves = apart({"sdk": bench.tuned(T3_GAME)})
    effects = [rise(curves["sdk"]["reward"]), -late_minus_early(curves["sdk"]["entropy"])]
    return Measured(judged(T3_TESTS, effects), curves, chosen)


T3 = Trend(
    "T3",
    "With an SDK the score rises while entropy falls",
    "UI-TARS-2, figure 14",
    T3_TESTS,
    measure_t3,
    ("reward", "entropy"),
)


T4_TESTS = (Test("checklist: think tokens a step in the first fifth of the updates minus those in the last"),)


def measure_t4(bench: Bench) -> Measured:
    """T4: in GUI tasks the agent thinks less and less at each step. Nothing in the reward asks for it."""
    chosen, curves = apart({"checklist": bench.tuned("checklist")})
    return Measured(judged(T4_TESTS, [-late_minus_early(curves["checklist"]["think_tokens"])]), curves, chosen)


T4 = Trend(
    "T4",
    "Think tokens a step fall in GUI tasks",
    "UI-TARS-2, figure 9",
    T4_TESTS,
    measure_t4,
    ("think_tokens", "success"),
)


T5_GAME = "maze"
T5_STAGES = (("nearest=2", "farthest=3"), ("nearest=4", "farthest=5"), ("nearest=6", "farthest=6"))
T5_UPDATES = 20  # of a stage
T5_TESTS = (
    Test(
        "think tokens a step in the first fifth of a harder stage minus those in the last fifth before it, mean of two"
    ),
    Test("think tokens a step in the first fifth of a harder stage minus those in its last fifth, mean of two"),
)


def measure_t5(bench: Bench) -> Measured:
    """T5: in games the agent thinks longer when the levels become harder, and then less and less until the next rise.

    The curriculum is three distances of the maze's exit, a third of the updates each; what is learned goes on from one
    to the next. Nothing in the reward asks for long thoughts or for short ones, but what the agent has imitated names
    the whole way, which is longer where the exit is farther.
    """
    chosen = bench.tune(T5_GAME)
    setups = [
        bench.setup(T5_GAME, {**chosen, "game.options": options, "ppo.updates": T5_UPDATES, "ppo.part": T5_UPDATES})
        for options in T5_STAGES
    ]
    actors = setups[0].actors(bench.start(T5_GAME), bench.value(T5_GAME).parameters, bench.seeds)
    found = []
    for setup in setups:
        actors, curves = setup.improve(actors, bench.seeds)
        found.append(curves)
    think = [curves["think_tokens"] for curves in found]
    rises = [early(harder) - late(easier) for easier, harder in itertools.pairwise(think)]
    falls = [early(harder) - late(harder) for harder in think[1:]]
    whole = {name: np.concatenate([curves[name] for curves in found], axis=1) for name in found[0]}
    effects = [np.mean(rises, axis=0), np.mean(falls, axis=0)]
    return Measured(
        judged(T5_TESTS, effects), {T5_GAME: whole}, {T5_GAME: chosen}, {"stages": [list(each) for each in T5_STAGES]}
    )


T5 = Trend(
    "T5",
    "In games think length rises with each difficulty and then decays",
    "UI-TARS-2, think length in the game domain",
    T5_TESTS,
    measure_t5,
    ("think_tokens", "success"),
)


T6_TESTS = (
    Test("checklist: rise of the reward over the run (least squares)"),
    Test("checklist: steps an episode in the first fifth of the updates minus those in the last"),
)


def measure_t6(bench: Bench) -> Measured:
    """T6: in GUI tasks the reward rises while an episode's steps fall. Nothing in the reward asks for few steps."""
    chosen, curves = apart({"checklist": bench.tuned("checklist")})
    effects = [rise(curves["checklist"]["reward"]), -late_minus_early(curves["checklist"]["episode_steps"])]
    return Measured(judged(T6_TESTS, effects), curves, chosen)


T6 = Trend(
    "T6",
    "Reward rises while steps a task fall",
    "UI-TARS-2, figure 10(a)",
    T6_TESTS,
    measure_t6,
    ("reward", "episode_steps"),
)
