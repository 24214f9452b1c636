"""Trends of generalization: more steps, several games, merging, quantization, harder levels: T8, T10, T13 to T15.

Axes: N seeds, U updates.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tars_jax.model.merging import interpolate
from tars_jax.model.policy import Parameters
from tars_jax.pipelines.on_device import OnDevice
from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, apart, judged
from tars_jax.pipelines.trends.verdicts import Test, early, late

T8_GAME, T8_BUDGETS, T8_EPISODES = "maze", (2, 4, 6, 12, 24), 512
T8_TESTS = (
    Test("success at the largest budget minus that at the budget of training, trained agent"),
    Test("the largest fall of success from one budget to the next, trained agent (a fall is below 0)", above=-0.05),
    Test("what the trained agent gains beyond the budget of training minus what the supervised start gains there"),
)


def measure_t8(bench: Bench) -> Measured:
    """T8: the score rises with the inference step budget, nearly monotonically; an untrained baseline's flattens."""
    setup = bench.setup(T8_GAME)
    own = setup.steps
    chosen, trained = bench.tuned(T8_GAME)
    agents = {"trained": trained.policy, "supervised start": bench.start(T8_GAME)}
    score = {
        name: np.stack(
            [setup.evaluate(policy, bench.seeds, T8_EPISODES, steps)["success"].mean(1) for steps in T8_BUDGETS], axis=1
        )
        for name, policy in agents.items()
    }
    beyond = {name: curve[:, -1] - curve[:, T8_BUDGETS.index(own)] for name, curve in score.items()}
    worst = np.diff(score["trained"], axis=1).min(1)
    effects = [beyond["trained"], worst, beyond["trained"] - beyond["supervised start"]]
    curves = {name: {"success": curve} for name, curve in score.items()}
    notes = {"x": list(T8_BUDGETS), "x_label": "step budget"}
    return Measured(judged(T8_TESTS, effects), curves, {"trained": chosen}, notes)


T8 = Trend(
    "T8",
    "The score rises with the step budget at inference",
    "UI-TARS-2, figure 11",
    T8_TESTS,
    measure_t8,
    ("success",),
)


T10_GAMES = ("checklist", "maze", "game_2048", "snake")
T10_EPISODES = 512  # of the reference player
T10_NOTHING = 0.15  # of the reference's success: a game whose first update finds less is said to begin at nothing
T10_AGAINST = 0.95  # of the reference's success: what reaches it; what ends below may have a plateau
T10_TESTS = (
    Test("late success over the reference player's, the nearest game's", above=T10_AGAINST),
    Test("rise of success over the reference player's, of a game that begins below .15 of it", above=0.25),
    Test(
        "rise of the same in the second third minus twice that in the last, of a game that ends below .95", above=0.02
    ),
)


def effects(shares: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Effects that the tests are put to, [N] each; `shares` are games' success over their reference player's, [N,
    U]."""
    found = np.stack(list(shares.values()))
    begins, ends = np.stack([early(one) for one in found]), np.stack([late(one) for one in found])
    thirds = np.stack([third.mean(-1) for third in np.array_split(found, 3, axis=-1)])
    first, second = np.diff(thirds, axis=0)
    return (
        ends.max(0),
        np.where(found[..., 0] < T10_NOTHING, ends - begins, 0.0).max(0),
        np.where(ends < T10_AGAINST, first - 2 * second, 0.0).max(0),
    )


def measure_t10(bench: Bench) -> Measured:
    """T10: of the games that are trained, some reach the reference player, some climb from nothing, some plateau.

    Each is said of the best case among four games, for each seed alone; where no game qualifies, the effect is 0. The
    reference player is the one that demonstrations are made with, here without its mistakes.
    """
    chosen, curves = apart({game: bench.tuned(game) for game in T10_GAMES})
    reference = {game: bench.setup(game).reference(T10_EPISODES) for game in T10_GAMES}
    shares = {game: curves[game]["success"] / reference[game] for game in T10_GAMES}
    shown = {game: {"share": share} for game, share in shares.items()}
    return Measured(judged(T10_TESTS, effects(shares)), shown, chosen, {"reference success": reference})


T10 = Trend(
    "T10",
    "Some games reach the reference player, some climb from nothing, some plateau",
    "UI-TARS-2, training dynamics of games",
    T10_TESTS,
    measure_t10,
    ("share",),
)


T13_UPDATES, T13_PART = 150, 10  # supervised ones of each game
T13_GAMES, T13_WEIGHTS, T13_EPISODES = ("checklist", "maze"), (0.25, 0.5, 0.75), 512
T13_TESTS = tuple(
    Test(f"{game}: success of the uniform merge minus that of its specialist", above=-0.05) for game in T13_GAMES
)


def train_on_all_games(setups: list[OnDevice], bench: Bench) -> Parameters:
    """Policies that have learned from the experts of all games, a part of the updates of one after one of the other."""
    state = setups[0].learning(bench.seeds)
    for done in range(0, T13_UPDATES, T13_PART):
        for setup in setups:
            state = setup.learn(state, bench.seeds, done, T13_PART)
    return state.parameters


def measure_t13(bench: Bench) -> Measured:
    """T13: the average of two specialists is about as good on each of their games as the specialist of it.

    Both are trained by reinforcement from one start that knows both games a little, at the rate that the search chooses
    for an agent of that game alone. The tolerance of the tests, 5 points of
    success, was set before anything was run; the weights are uniform, others stand in the notes.
    """
    chosen = {game: bench.tune(game) for game in T13_GAMES}
    setups = {game: bench.setup(game, settings) for game, settings in chosen.items()}
    start = train_on_all_games(list(setups.values()), bench)
    agents = {"start": start}
    for game, setup in setups.items():
        agents[game] = setup.train(start, setup.pretrain_value(start, bench.seeds), bench.seeds)[1]
    for weight in T13_WEIGHTS:
        agents[f"merged {weight:g}"] = interpolate([agents[game] for game in T13_GAMES], (weight, 1 - weight))
    score = {
        name: {
            game: setup.evaluate(agent, bench.seeds, T13_EPISODES)["success"].mean(1) for game, setup in setups.items()
        }
        for name, agent in agents.items()
    }
    effects = [score["merged 0.5"][game] - score[game][game] for game in T13_GAMES]
    notes = {name: {game: found.tolist() for game, found in each.items()} for name, each in score.items()}
    return Measured(judged(T13_TESTS, effects), {}, chosen, notes)


T13 = Trend(
    "T13", "A merged model is about as good as each specialist", "UI-TARS-2, equation 5", T13_TESTS, measure_t13, ()
)


T14_GAMES, T14_EPISODES = ("checklist", "maze"), 512
T14_TESTS = tuple(Test(f"{game}: success with W4A8 over success in float, minus 1", above=-0.1) for game in T14_GAMES)


def measure_t14(bench: Bench) -> Measured:
    """T14, its numerical part: with weights of 4 bits and activations of 8 the score falls by a few percent."""
    effects, notes, chosen = list[np.ndarray](), {}, {}
    for game in T14_GAMES:
        chosen[game], trained = bench.tuned(game)
        setup = bench.setup(game)
        score = {
            weights: setup.evaluate(trained.policy, bench.seeds, T14_EPISODES, weights=weights)["success"].mean(1)
            for weights in ("float", "w4a8")
        }
        effects.append(score["w4a8"] / score["float"] - 1)
        notes[game] = {weights: found.tolist() for weights, found in score.items()}
    return Measured(judged(T14_TESTS, effects), {}, chosen, notes)


T14 = Trend("T14", "W4A8 costs little score", "UI-TARS-2, section on quantization", T14_TESTS, measure_t14, ())


T15_HARDER, T15_EPISODES = {"checklist": ("most=5",), "maze": ("nearest=6", "farthest=6")}, 512
T15_TESTS = tuple(
    Test(f"{game} with {', '.join(options)}: success after RL minus that of its supervised start")
    for game, options in T15_HARDER.items()
)


def measure_t15(bench: Bench) -> Measured:
    """T15: reinforcement learning also raises the score on levels such as neither training has seen.

    The levels are harder ones of the same games, under the training's step budget: pages with more boxes, and exits
    that are farther away than any of the training's, so that every move must be right.
    """
    effects, notes, chosen = [], {}, {}
    for game, options in T15_HARDER.items():
        chosen[game], trained = bench.tuned(game)
        harder = bench.setup(game, {"game.options": options})
        agents = {"RL": trained.policy, "supervised": bench.start(game)}
        score = {
            name: harder.evaluate(policy, bench.seeds, T15_EPISODES)["success"].mean(1)
            for name, policy in agents.items()
        }
        effects.append(score["RL"] - score["supervised"])
        notes[game] = {name: found.tolist() for name, found in score.items()}
    return Measured(judged(T15_TESTS, effects), {}, chosen, notes)


T15 = Trend("T15", "RL beats SFT out of domain", "UI-TARS-2, OOD generalization", T15_TESTS, measure_t15, ())
