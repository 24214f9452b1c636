"""Switches of the learner beyond its defaults: turns, groups, means over trajectories, a KL to a reference."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, init_parameters
from tars_jax.rl import group_advantages, reference_kl, turn_level_gae
from tars_jax.training.advantages import make_advantage_fn
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig
from tars_jax.training.learner import MOST_IDLE, PPOLearner, RecordedEpisodes, iterate
from tars_jax.training.minibatches import minibatches
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.ppo import make_score_fn
from tars_jax.training.value import value_model
from tars_jax.trajectory import Trajectory
from tests.inference.test_sessions import compilations
from tests.training.updates import prepare, update

Episode = Callable[..., Trajectory]
REWARDS = RewardConfig(max_length=99)
GOOD, BAD = 10, 11


def of_task(trajectory: Trajectory, seed: int) -> Trajectory:
    return dataclasses.replace(trajectory, task={"seed": seed, "options": {"distance": (1, 2)}})


def two_tasks(episode: Episode) -> list[Trajectory]:
    """Three episodes of one task, a lone one of another, three of a third that all fail; in turns."""
    first = [episode([[(0, [20, 21])], [(1, [22])]], [0, 1]), episode([[(0, [23])]], [0]), episode([[(0, [24])]], [0])]
    lone, third = episode([[(0, [25, 26])]], [1]), [episode([[(0, [27 + i])]], [0]) for i in range(3)]
    return [
        *(of_task(each, 1) for each in first[:2]), of_task(lone, 2), of_task(third[0], 3), of_task(first[2], 1),
        *(of_task(each, 3) for each in third[1:]),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.full
def test_turns_of_whole_trajectories(tiny_model: ModelConfig, episode: Episode) -> None:
    """A step's tokens lie in one window, the trajectory's windows in several rows; lambda counts steps."""
    played = episode([[(0, [20, 21]), (1, [22])], [(2, [23, 24, 25])]], [0.1, 0, 1])
    packed = Packer(tiny_model, PackingConfig(9, 1), image=5).pack([played], 2)
    values = np.sin(packed.rows.inputs.tokens).astype(np.float32)
    config = PPOConfig(advantages="turn", alpha=1.5, lambda_critic=0.9, gamma=0.95, normalize_advantages=False)
    batch, _ = prepare(packed, [played], values, values, config, REWARDS, make_advantage_fn(config))
    expected = turn_level_gae(
        np.array([0, 0.1, 0, 0, 0, 1]), np.sin(np.arange(20, 26)), np.ones(6), np.array([0, 0, 1, 2, 2, 2]),
        gamma=0.95, lambda_policy=1 - 1 / (1.5 * 3), lambda_critic=0.9,
    )  # fmt: skip
    for field, want in zip((batch.advantages, batch.value_targets), expected, strict=True):
        found = [field[packed.rows.inputs.tokens == token][0] for token in range(20, 26)]
        np.testing.assert_allclose(found, want, atol=1e-5)


@pytest.mark.parametrize("lambda_critic", [0.0, 0.5, 1.0])
def test_values_are_judged_by_returns_whatever_the_critics_lambda(
    tiny_model: ModelConfig, episode: Episode, lambda_critic: float
) -> None:
    """One episode of 1 and one of 0, both with values .2, .5, .6. R - V = .8, .5, .4, -.2, -.5, -.6 has the variance
    1.7 / 6 - (.4 / 6)^2 = .278889, R that of .25, so 1 - .278889 / .25 = -.115556; targets at lambda 0 would say -.28.
    """
    played = [episode([[(0, [20, 21, 22])]], [reward]) for reward in (1, 0)]
    packed = Packer(tiny_model, PackingConfig(9, 1), image=5).pack(played, 2)
    values = np.zeros(packed.rows.action_mask.shape, np.float32)
    for token, value in ((20, 0.2), (21, 0.5), (22, 0.6)):
        values[packed.rows.inputs.tokens == token] = value
    config = PPOConfig(lambda_critic=lambda_critic)
    _, metrics = prepare(packed, played, values, values, config, REWARDS, make_advantage_fn(config))
    np.testing.assert_allclose(metrics["explained_variance"], -0.115556, atol=1e-5)


@pytest.mark.parametrize("group_std", [True, False])
def test_groups_are_episodes_of_one_task(tiny_model: ModelConfig, episode: Episode, group_std: bool) -> None:
    trajectories = two_tasks(episode)
    packed = Packer(tiny_model, PackingConfig(9, 1), image=5).pack(trajectories, 2)
    config = PPOConfig(advantages="group", group_std=group_std, aggregation="sequence")
    zeros = np.zeros(packed.rows.action_mask.shape, np.float32)
    batch, metrics = prepare(packed, trajectories, zeros, None, config, REWARDS, make_advantage_fn(config))
    first = np.asarray(group_advantages(np.array([1, 0, 0]), normalize=group_std))
    want = {**dict.fromkeys((20, 21, 22), first[0]), 23: first[1], 24: first[2], 25: 1, 26: 1, 27: 0, 28: 0, 29: 0}
    lengths = {20: 3, 21: 3, 22: 3, 25: 2, 26: 2}
    for token, advantage in want.items():
        (place,) = np.argwhere(packed.rows.inputs.tokens == token)
        np.testing.assert_allclose(batch.advantages[tuple(place)], advantage, atol=1e-5)
        assert batch.weights is not None and batch.weights[tuple(place)] == np.float32(1 / lengths.get(token, 1))
    np.testing.assert_allclose(metrics["informative_groups"], 1 / 3, atol=1e-6)
    assert "explained_variance" not in metrics and not batch.value_targets.any()
    for part in minibatches(batch, 2, np.random.default_rng(0)):
        assert part.weights is not None and part.weights.shape == part.advantages.shape


@pytest.mark.slow
def test_grpo_runs_no_value_model_and_stays_near_its_reference(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_values(*_: Any) -> None:
        raise AssertionError("a value model was run")

    score = make_score_fn(tiny_model)
    monkeypatch.setattr("tars_jax.training.learner.make_score_fn", lambda *_: score)  # one compilation for both
    monkeypatch.setattr("tars_jax.training.learner.make_value_fn", lambda model: no_values)
    monkeypatch.setattr("tars_jax.training.learner.make_value_update", lambda *_: no_values)
    config = PPOConfig(
        advantages="group", aggregation="sequence", kl_weight=0.5, clip_low=0.9, clip_high=9.0, dual_clip=10.0,
        decoupled=False, router_aux_loss_weight=0.0, minibatch_rows=4,
    )  # fmt: skip
    packer = Packer(tiny_model, PackingConfig(5, 1), image=5)  # a window a row
    rate = OptimizerConfig(2e-3, warmup=0)
    learner = PPOLearner(tiny_model, packer, config, REWARDS, rate, rate)

    def play(bad: list[int], good: list[int], rewards: tuple[float, float]) -> list[Trajectory]:
        """Two of each, the longest first: so they stand in the rows, too."""
        answers, earned = (bad, bad, good, good), np.repeat(rewards, 2)
        return [of_task(episode([[(0, tokens)]], [reward]), 1) for tokens, reward in zip(answers, earned, strict=True)]

    def recorded(parameters: Parameters, trajectories: list[Trajectory]) -> tuple[list[Trajectory], np.ndarray, Any]:
        """With the log-probabilities that a policy of these parameters has sampled; [R, T] of the rows."""
        rows = packer.pack(trajectories, 4).rows
        found = np.asarray(score(parameters, rows))
        for number, (trajectory, row) in enumerate(zip(trajectories, found, strict=True)):
            (window,) = trajectory.windows
            log_probs = np.where(window.action_mask, row[: window.tokens.size], 0).astype(np.float32)
            window = dataclasses.replace(window, log_probs=log_probs)
            trajectories[number] = dataclasses.replace(trajectory, windows=(window,))
        return trajectories, found, rows

    state = learner.init_states(tiny_parameters, None)
    first, before, rows = recorded(state.policy.parameters, play([BAD, BAD], [GOOD, GOOD], (0, 1)))
    state, metrics = update(learner, state, first)
    after = np.asarray(score(state.policy.parameters, rows))
    good, bad = rows.inputs.tokens == GOOD, rows.inputs.tokens == BAD
    assert state.value is None and not {"value_loss", "explained_variance"} & set(metrics)
    assert (after > before)[good].all() and (after < before)[bad].all()
    np.testing.assert_allclose([metrics["reference_kl"], metrics["policy_loss"]], 0, atol=1e-5)

    # Ratios are 1 now: the loss is minus the mean over trajectories of A, and the KL's is that of their tokens' means.
    uneven, now, rows = recorded(state.policy.parameters, play([BAD, BAD, BAD], [GOOD], (0, 1)))
    old, mask = np.asarray(score(tiny_parameters, rows)), rows.action_mask
    kl = np.asarray(jax.vmap(reference_kl)(now, old, mask))
    too_long = episode([[(0, [BAD] * 9)]], [1.0])  # left out, and nothing else changes
    state, metrics = update(learner, state, [*uneven, too_long])
    assert metrics["unpackable"] == 1
    np.testing.assert_allclose(metrics["reference_kl"], np.mean(kl.sum(1) / mask.sum(1)), rtol=1e-3)
    np.testing.assert_allclose(metrics["policy_loss"], 0, atol=1e-5)  # the advantages' sum; by tokens .87 (6 - 2) / 8
    assert metrics["reference_kl"] > 1e-4

    # Nothing to compare: only the KL is left, and leads back.
    kls = []
    for _ in range(8):
        equal, _, _ = recorded(state.policy.parameters, play([BAD, BAD, BAD], [GOOD], (1, 1)))
        state, metrics = update(learner, state, equal)
        assert metrics["policy_loss"] == 0 and metrics["informative_groups"] == 0
        kls.append(metrics["reference_kl"])
    assert kls[-1] < kls[0]


@pytest.mark.parametrize(
    ("field", "value", "takes"),
    [
        ("lambda_policy", math.nan, "from 0 to 1"),
        ("alpha", 0.0, "above 0"),
        ("positive_weight", -0.1, "of at least 0"),
    ],
)
def test_a_number_that_means_nothing(field: str, value: Any, takes: str) -> None:
    with pytest.raises(InputError, match=f"ppo.{field} must be a value {takes}; got {value}"):
        PPOConfig(**{field: value})
    PPOConfig(**{field: jnp.float32(value)})  # traced numbers have no value to check


@pytest.mark.full
def test_an_update_that_diverges_says_so(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Callable[..., Trajectory]
) -> None:
    packer, rate = Packer(tiny_model, PackingConfig(16, 1), image=5), OptimizerConfig(1e-3)
    learner = PPOLearner(tiny_model, packer, PPOConfig(minibatch_rows=2), REWARDS, rate, rate)
    broken = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), tiny_parameters)
    value = jax.jit(lambda key: init_parameters(value_model(tiny_model), key))(jax.random.key(0))
    episodes = [episode([[(0, [8, 9])]], [float(won)]) for won in (0, 1)]
    with pytest.raises(InputError, match="ppo: .*gradient_norm of update 4 became infinite or NaN: training diverged"):
        update(learner, dataclasses.replace(learner.init_states(broken, value), version=3), episodes)


def test_updates_of_which_nothing_can_be_packed_change_nothing_and_end_at_the_eighth_in_a_row(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode
) -> None:
    packer, rate = Packer(tiny_model, PackingConfig(5, 1), image=5), OptimizerConfig(1e-3)
    config = PPOConfig(advantages="group", minibatch_rows=2)
    learner = PPOLearner(tiny_model, packer, config, REWARDS, rate, rate)
    state = start = learner.init_states(tiny_parameters, None)
    too_long = RecordedEpisodes([episode([[(0, [BAD] * 9)]], [1.0])] * 3)
    for number in range(1, MOST_IDLE):
        state, metrics = iterate(learner, state, too_long, seed=0)
        assert metrics == {"unpackable": 3.0, "idle_updates": float(number)} and state.policy is start.policy
        assert (state.version, state.idle) == (number, number)
    with pytest.raises(InputError, match="must have room for what is played; got 8 updates in a row .* does not fit"):
        iterate(learner, state, too_long, seed=0)
    state, metrics = iterate(learner, state, RecordedEpisodes([episode([[(0, [BAD])]], [1.0])]), seed=0)
    assert (state.version, state.idle, metrics["unpackable"]) == (MOST_IDLE, 0, 0)


@pytest.mark.slow
def test_an_equal_learner_compiles_nothing_anew_and_another_does(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode
) -> None:
    value = jax.jit(lambda key: init_parameters(value_model(tiny_model), key))(jax.random.key(0))
    episodes = [episode([[(0, [GOOD, BAD])]], [float(won)]) for won in (0, 1)]

    def learn(model: ModelConfig, **switches: Any) -> None:
        packer, rate = Packer(model, PackingConfig(16, 1), image=5), OptimizerConfig(1e-3)
        learner = PPOLearner(model, packer, PPOConfig(minibatch_rows=2, **switches), REWARDS, rate, rate)
        update(learner, learner.init_states(tiny_parameters, value), episodes)

    learn(tiny_model)
    compiled = compilations()
    learn(dataclasses.replace(tiny_model))
    assert compiled() == 0
    learn(tiny_model, clip_low=0.1)
    assert compiled() > 0


@pytest.mark.slow
def test_an_implicit_transfer_in_the_update_raises(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    packer, rate = Packer(tiny_model, PackingConfig(16, 1), image=5), OptimizerConfig(1e-3)
    learner = PPOLearner(tiny_model, packer, PPOConfig(minibatch_rows=2), REWARDS, rate, rate)
    value = jax.jit(lambda key: init_parameters(value_model(tiny_model), key))(jax.random.key(0))
    episodes = [episode([[(0, [GOOD, BAD])]], [float(won)]) for won in (0, 1)]
    update(learner, learner.init_states(tiny_parameters, value), episodes)  # none of ours
    for step in ("_score", "_values", "_advantages", "_update_policy", "_update_value"):
        with monkeypatch.context() as patch:
            ours = getattr(learner, step)
            patch.setattr(learner, step, lambda *arguments, ours=ours: (ours(*arguments), jnp.zeros(3) + np.ones(3))[0])
            with pytest.raises(jax.errors.JaxRuntimeError, match="Disallowed host-to-device transfer"):
                update(learner, learner.init_states(tiny_parameters, value), episodes)
