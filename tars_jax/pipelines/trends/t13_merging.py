"""T13: the average of two specialists is about as good on each of their games as the specialist of it.

Both are trained by reinforcement from one start that knows both games a little, at the rate that the search chooses
for an agent of that game alone. The tolerance of the tests, 5 points of
success, was set before anything was run; the weights are uniform, others stand in the notes.
"""

from tars_jax.model.merging import interpolate
from tars_jax.model.policy import Parameters
from tars_jax.pipelines.on_device import OnDevice
from tars_jax.pipelines.trends.bench import Bench, Measured, Trend, judged
from tars_jax.pipelines.trends.verdicts import Test

UPDATES, PART = 150, 10  # supervised ones of each game
GAMES, WEIGHTS, EPISODES = ("checklist", "maze"), (0.25, 0.5, 0.75), 512
TESTS = tuple(Test(f"{game}: success of the uniform merge minus that of its specialist", above=-0.05) for game in GAMES)


def both(setups: list[OnDevice], bench: Bench) -> Parameters:
    """Policies that have learned from the experts of all games, a part of the updates of one after one of the other."""
    state = setups[0].learning(bench.seeds)
    for done in range(0, UPDATES, PART):
        for setup in setups:
            state = setup.learn(state, bench.seeds, done, PART)
    return state.parameters


def measure(bench: Bench) -> Measured:
    chosen = {game: bench.tune(game) for game in GAMES}
    setups = {game: bench.setup(game, settings) for game, settings in chosen.items()}
    start = both(list(setups.values()), bench)
    agents = {"start": start}
    for game, setup in setups.items():
        agents[game] = setup.train(start, setup.pretrain_value(start, bench.seeds), bench.seeds)[1]
    for weight in WEIGHTS:
        agents[f"merged {weight:g}"] = interpolate([agents[game] for game in GAMES], (weight, 1 - weight))
    score = {
        name: {game: setup.evaluate(agent, bench.seeds, EPISODES)["success"].mean(1) for game, setup in setups.items()}
        for name, agent in agents.items()
    }
    effects = [score["merged 0.5"][game] - score[game][game] for game in GAMES]
    notes = {name: {game: found.tolist() for game, found in each.items()} for name, each in score.items()}
    return Measured(judged(TESTS, effects), {}, chosen, notes)


TREND = Trend("T13", "A merged model is about as good as each specialist", "UI-TARS-2, equation 5", TESTS, measure, ())
