"""When value pretraining stops, what it keeps, and that a killed one goes on."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from flax.core import FrozenDict

from tars_jax.inference.constraint import Constraints
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.training.checkpoint import Checkpoints
from tars_jax.training.config import PPOConfig, RewardConfig, ValuePretrainingConfig
from tars_jax.training.constrained import AnswerConstraint
from tars_jax.training.packing import Packer, PackingConfig, Rows
from tars_jax.training.state import TrainState
from tars_jax.training.value import ValueBatch
from tars_jax.training.value_pretraining import (
    ValueEvaluation,
    ValuePretrainingResult,
    best_of,
    evaluate_values,
    levelled_off,
    pretrain_value,
)
from tars_jax.trajectory import Trajectory


def history(*pairs: tuple[float, float]) -> list[ValueEvaluation]:
    return [ValueEvaluation(number, loss, explained, 0, 0) for number, (loss, explained) in enumerate(pairs)]


def test_it_stops_when_both_have_levelled_off() -> None:
    getting_better = history((0.5, 0.0), (0.4, 0.1), (0.3, 0.2))
    both_flat = [*getting_better, *history((0.3, 0.2), (0.35, 0.1))]
    loss_still_falls = [*getting_better, *history((0.3, 0.2), (0.29, 0.1))]
    variance_still_rises = [*getting_better, *history((0.4, 0.21), (0.4, 0.1))]
    assert not levelled_off([], 2) and not levelled_off(getting_better, 2)
    assert levelled_off(both_flat, 2) and not levelled_off(both_flat, 3)
    assert not levelled_off(loss_still_falls, 2) and not levelled_off(variance_still_rises, 2)
    assert best_of(both_flat).updates == 2


def test_an_evaluation_by_hand() -> None:
    """Episodes of returns 1, 1 and 0; values .9, .5 and .1: half of (.01 + .25 + .01) / 3, and Var(R) = 2 / 9.

    R - V = .1, .5, -.1: mean 1/6, variance .09 - 1/36. At the start R = 1, 0 and V = .9, .1 agree.
    """
    returns, values = np.array([[1.0, 1, 0], [0, 0, 0]]), np.array([[0.9, 0.5, np.nan], [0.1, np.nan, np.nan]])
    found = evaluate_values(7, returns, values, np.array([[True, True, False], [True, False, False]]))
    assert found.updates == 7 and found.value_loss == pytest.approx(0.045)
    assert found.explained_variance == pytest.approx(1 - (0.09 - 1 / 36) / (2 / 9), abs=1e-6)
    assert found.correlation == pytest.approx(np.corrcoef([1, 1, 0], [0.9, 0.5, 0.1])[0, 1], abs=1e-6)
    assert found.correlation_at_start == pytest.approx(1, abs=1e-6)
    later = [
        np.insert(column, 0, filler, axis=1)
        for column, filler in ((returns, 9), (values, 0), (~np.isnan(values), False))
    ]
    assert evaluate_values(7, *later) == found  # where the first token was no decision


def numbered(episode: Callable[..., Trajectory]) -> list[Trajectory]:
    """An 8, which wins, and a 9 in turn."""
    made = (episode([[(0, [8 + number % 2, 3])]], [float(number % 2 == 0)]) for number in range(20))
    return [dataclasses.replace(each, id=f"{number:08d}") for number, each in enumerate(made)]


def test_forced_tokens_are_no_part_of_it(
    tiny_model: ModelConfig, episode: Callable[..., Trajectory], tmp_path: pathlib.Path
) -> None:
    """Every answer is an 8 or a 9, then the stop token, which nobody chose: with a discount of 0.5 the one decision of
    an episode is worth all of its reward."""
    table = Constraints(
        token_class=np.array([0] * 3 + [2] + [0] * 4 + [1, 1] + [0] * 22, np.int32),
        next_state=np.array([[0, 0, 0], [-1, 2, -1], [-1, -1, 3], [-1, -1, -1]], np.int32),
        distance=np.array([0, 2, 1, 0], np.int32),
        start=FrozenDict({"answer": 1}),
    )
    seen: list[ValueBatch] = []

    def update(state: TrainState, batch: ValueBatch) -> tuple[TrainState, Any]:
        seen.append(batch)
        return state, {"value_loss": 0.0, "explained_variance": 0.0}

    found = pretrain_value(
        TrainState({"won": jnp.float32(0)}, (), jnp.int32(0)),
        update,
        lambda parameters, rows: jnp.where(rows.inputs.tokens == 8, 1.0, 0.0),
        lambda count: numbered(episode)[:count],
        Packer(tiny_model, PackingConfig(8, 1), image=5),
        RewardConfig(),
        PPOConfig(gamma=0.5),
        ValuePretrainingConfig(max_updates=1, batch_rows=4, episodes=20),
        Checkpoints(tmp_path),
        constraint=AnswerConstraint(table, 1, 2),
        known=lambda task, step: 0,
        seed=0,
        on_evaluation=lambda updates, metrics: None,
    )
    rows = seen[0].rows
    np.testing.assert_array_equal(rows.action_mask, np.isin(rows.inputs.tokens, [8, 9]))
    np.testing.assert_array_equal(seen[0].targets, rows.inputs.tokens == 8)
    assert found.best.explained_variance == found.best.correlation == found.best.correlation_at_start == 1


@pytest.mark.slow
def test_a_killed_pretraining_goes_on_to_the_same_weights(
    tiny_model: ModelConfig, episode: Callable[..., Trajectory], tmp_path: pathlib.Path
) -> None:
    """The model is one number, the value after an 8, which wins; it goes a tenth of the way to the returns it sees."""
    episodes = numbered(episode)

    def values(parameters: Parameters, rows: Rows) -> Any:
        return np.where(rows.inputs.tokens == 8, np.asarray(parameters["won"]), 0.0)

    def update(state: TrainState, batch: ValueBatch) -> tuple[TrainState, Any]:
        errors = (batch.targets - values(state.parameters, batch.rows))[batch.rows.inputs.tokens == 8]
        won = state.parameters["won"] + 0.1 * errors.mean()
        return TrainState({"won": won}, (), state.step + 1), {"value_loss": errors[0], "explained_variance": 0.0}

    def run(folder: str, on_evaluation: Callable[[int, dict[str, float]], None]) -> ValuePretrainingResult:
        return pretrain_value(
            TrainState({"won": jnp.float32(0)}, (), jnp.int32(0)),
            update,
            values,
            lambda count: episodes[:count],
            Packer(tiny_model, PackingConfig(8, 1), image=5),
            RewardConfig(),
            PPOConfig(),
            ValuePretrainingConfig(max_updates=12, batch_rows=4, evaluate_every=4, patience=8, episodes=20),
            Checkpoints(tmp_path / folder),
            known=lambda task, step: 0,
            seed=0,
            on_evaluation=on_evaluation,
        )

    def killed_at_8(updates: int, metrics: dict[str, float]) -> None:
        if updates == 8:
            raise KeyboardInterrupt

    seen: dict[str, list[Any]] = {"whole": [], "resumed": []}
    whole = run("whole", lambda updates, metrics: seen["whole"].append((updates, metrics)))
    with pytest.raises(KeyboardInterrupt):
        run("killed", killed_at_8)
    resumed = run("killed", lambda updates, metrics: seen["resumed"].append((updates, metrics)))
    assert seen["resumed"] == seen["whole"][1:] and resumed.best == whole.best
    assert float(resumed.parameters["won"]) == float(whole.parameters["won"]) == pytest.approx(1 - 0.9**12, abs=1e-5)
    assert not whole.levelled_off and whole.updates == 12
    # Over the tokens returns are 1, 1 and 0, 0, and values .7, 0 and 0, 0.
    assert whole.best.correlation == pytest.approx(1 / np.sqrt(3), abs=1e-5)
    assert whole.best.correlation_at_start == pytest.approx(1, abs=1e-5)


class Sampled:
    """A fixed policy that plays on, and a value model that learns nothing; what was asked for and learned from."""

    def __init__(self, episodes: list[Trajectory], model: ModelConfig, folder: pathlib.Path) -> None:
        self._episodes, self._packer, self._folder = episodes, Packer(model, PackingConfig(8, 1), image=5), folder
        self.asked: list[int] = []
        self.learned: set[int] = set()

    def run(self, losses: list[float], on_evaluation: Any = lambda *_: None, **config: Any) -> ValuePretrainingResult:
        """`losses`: that the held-out episodes have at each evaluation."""

        def sample(count: int) -> list[Trajectory]:
            self.asked.append(count)
            return [each for each in self._episodes[:count] if each.id != "00000003"]  # which was lost

        def update(state: TrainState, batch: ValueBatch) -> tuple[TrainState, Any]:
            self.learned |= set(np.asarray(batch.rows.inputs.tokens)[np.asarray(batch.rows.action_mask)].tolist())
            return dataclasses.replace(state, step=state.step + 1), {"value_loss": 0.0, "explained_variance": 0.0}

        def values(parameters: Parameters, rows: Rows) -> Any:
            error = losses[min(len(seen), len(losses) - 1)]
            return np.where(rows.action_mask, error, 0.0)

        seen: list[int] = []

        def on_each(updates: int, metrics: dict[str, float]) -> None:
            seen.append(updates)
            on_evaluation(updates, metrics)

        return pretrain_value(
            TrainState({"won": jnp.float32(0)}, (), jnp.int32(0)),
            update,
            values,
            sample,
            self._packer,
            RewardConfig(),
            PPOConfig(),
            ValuePretrainingConfig(batch_rows=4, evaluate_every=4, **config),
            Checkpoints(self._folder),
            known=lambda task, step: 0,
            seed=0,
            on_evaluation=on_each,
        )


@pytest.fixture
def sampled(tiny_model: ModelConfig, episode: Callable[..., Trajectory], tmp_path: pathlib.Path) -> Sampled:
    """Each episode says a number of its own, from 6 on, and earns nothing: an error of .1 is a loss of .005."""
    made = (episode([[(0, [6 + number])]], [0.0]) for number in range(24))
    named = [dataclasses.replace(each, id=f"{number:08d}") for number, each in enumerate(made)]
    return Sampled(named, tiny_model, tmp_path)


FALLING = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]


def test_the_policy_plays_on_up_to_a_bound(sampled: Sampled) -> None:
    """Rounds of 8 up to 20. Of the seven that are left of the first one three are held out, less than half of them, and
    never learned from."""
    found = sampled.run(FALLING, max_updates=28, patience=2, episodes=8, max_episodes=20)
    assert sampled.asked == [8, 16, 20]
    assert found.episodes == 19 and found.updates == 28 and not found.levelled_off
    assert sampled.learned == set(range(6, 26)) - {6, 7, 8, 9}  # the lost one says 9


def test_it_plays_no_more_when_they_have_levelled_off_or_updates_run_out(sampled: Sampled) -> None:
    found = sampled.run([0.5], max_updates=28, patience=2, episodes=4, max_episodes=24)
    assert found.levelled_off and found.updates == 12 and sampled.asked == [4, 8, 12]


def test_one_round_without_a_bound(sampled: Sampled) -> None:
    found = sampled.run(FALLING, max_updates=12, patience=2, episodes=20, max_episodes=0)
    assert sampled.asked == [20] and found.episodes == 19
    assert sampled.learned == set(range(6, 26)) - {6, 7, 8, 9, 10}  # a fifth of 19 is four


def test_a_killed_one_asks_for_what_it_had_asked_for(sampled: Sampled) -> None:
    """Killed as it learns from its second round: it takes the same two, with the same held out, and goes on."""

    def killed(updates: int, metrics: dict[str, float]) -> None:
        if updates == 8:
            raise KeyboardInterrupt

    settings = {"max_updates": 28, "patience": 2, "episodes": 8, "max_episodes": 20}
    with pytest.raises(KeyboardInterrupt):
        sampled.run(FALLING, killed, **settings)
    assert sampled.asked == [8, 16]
    sampled.asked.clear()
    found = sampled.run(FALLING[1:], **settings)
    assert sampled.asked == [16, 20] and found.episodes == 19 and found.updates == 28
    assert sampled.learned == set(range(6, 26)) - {6, 7, 8, 9}
