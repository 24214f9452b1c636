"""The PPO update: advantages over whole trajectories, the direction of learning, stale batches."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any
from unittest import mock

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters, forward, init_parameters
from tars_jax.model.sharding import make_mesh
from tars_jax.rl import decoupled_gae, explained_variance
from tars_jax.training import ppo
from tars_jax.training.advantages import advantage_fn, make_advantage_fn
from tars_jax.training.config import OptimizerConfig, PPOConfig, RewardConfig, unless_off
from tars_jax.training.minibatches import minibatches
from tars_jax.training.optimizers import make_optimizer
from tars_jax.training.packing import Packer, PackingConfig, Rows
from tars_jax.training.ppo import PPOBatch, make_policy_update, make_score_fn, policy_update, score_fn, value_batch
from tars_jax.training.state import TrainState, abstract_state, init_train_state
from tars_jax.training.value import make_value_fn, value_fn, value_model, value_update
from tars_jax.trajectory import Trajectory
from tests.training.updates import prepare

Episode = Callable[..., Trajectory]
OPTIMIZER = make_optimizer(OptimizerConfig(2e-3, warmup=0))
REWARDS = RewardConfig(max_length=99)
GOOD, BAD = 10, 11
scores = functools.cache(make_score_fn)  # compiled once for all tests


def ragged(episode: Episode) -> list[Trajectory]:
    """Trajectories of different lengths, windows and steps; every action token is another number, from 100 on."""
    rng, token, trajectories = np.random.default_rng(0), 100, []
    for number in range(5):
        windows: list[Any] = []
        step = 0
        for _ in range(int(rng.integers(1, 4))):
            answers = []
            for _ in range(int(rng.integers(1, 4))):
                size = int(rng.integers(1, 5))
                answers.append((step, list(range(token, token + size))))
                token, step = token + size, step + 1
            windows.append(answers)
        trajectories.append(episode(windows, [*np.linspace(-0.2, 0.1, step - 1), number % 2]))
    return trajectories


@pytest.mark.slow
@pytest.mark.parametrize(
    "packing", [PackingConfig(18, 1), pytest.param(PackingConfig(40, 1), marks=pytest.mark.full), PackingConfig(200, 1)]
)
@pytest.mark.parametrize("lambda_policy", [None, 0.9])
@pytest.mark.first(2)
def test_advantages_run_over_whole_trajectories(
    tiny_model: ModelConfig, episode: Episode, packing: PackingConfig, lambda_policy: float | None
) -> None:
    """Whatever the windows and rows: each trajectory's advantages are those of one recursion over its own tokens."""
    trajectories = ragged(episode)
    packed = Packer(tiny_model, packing, image=5).pack(trajectories, 2)
    tokens = packed.rows.inputs.tokens
    values = np.sin(tokens).astype(np.float32)
    config = PPOConfig(
        length_adaptive=lambda_policy is None,
        lambda_policy=lambda_policy or 0.0,
        alpha=1.5,
        lambda_critic=0.95,
        gamma=0.99,
        normalize_advantages=False,
    )
    batch, metrics = prepare(
        packed, trajectories, np.zeros_like(values), values, config, REWARDS, make_advantage_fn(config)
    )
    all_returns, all_values = [], []
    for trajectory in trajectories:
        mine = np.concatenate([window.tokens[window.action_mask] for window in trajectory.windows])
        steps = np.concatenate([window.steps[window.action_mask] for window in trajectory.windows])
        rewards = np.zeros(mine.size, np.float32)
        for step in range(len(trajectory.steps)):
            rewards[np.flatnonzero(steps == step)[-1]] = trajectory.steps[step].reward
        advantages, targets = decoupled_gae(
            rewards, np.sin(mine).astype(np.float32), np.ones(mine.size, bool), gamma=0.99, lambda_critic=0.95,
            lambda_policy=0.9 if lambda_policy else max(0.0, 1 - 1 / (1.5 * mine.size)),
        )  # fmt: skip
        for token, advantage, target in zip(mine, advantages, targets, strict=True):
            (place,) = np.argwhere(tokens == token)
            np.testing.assert_allclose(batch.advantages[tuple(place)], advantage, atol=1e-5)
            np.testing.assert_allclose(batch.value_targets[tuple(place)], target, atol=1e-5)
            assert batch.positive[tuple(place)] == (trajectory.reward > 0)
        all_returns.append([np.sum(rewards[t:] * 0.99 ** np.arange(mine.size - t)) for t in range(mine.size)])
        all_values.append(np.sin(mine))
    read = ~packed.rows.action_mask
    assert not batch.advantages[read].any() and not batch.value_targets[read].any() and not batch.positive[read].any()
    expected = explained_variance(np.concatenate(all_returns), np.concatenate(all_values))
    np.testing.assert_allclose(metrics["explained_variance"], expected, rtol=1e-4)
    agree = np.corrcoef(np.concatenate(all_returns), np.concatenate(all_values))[0, 1]
    np.testing.assert_allclose(metrics["value_correlation"], agree, atol=1e-4)


def test_parts_of_a_mixture_are_normalized_by_themselves() -> None:
    """One part's rewards are a hundred times the other's: over the batch it outweighs it, part by part it does not."""
    rewards = np.array([[0, 1.0], [0, 0], [0, 100], [0, 0]], np.float32)
    zeros, valid, parts = np.zeros_like(rewards), np.ones(rewards.shape, bool), np.array([0, 0, 1, 1])
    by_part = PPOConfig(length_adaptive=False, lambda_policy=1.0, normalize_over="part")
    alone = make_advantage_fn(PPOConfig(length_adaptive=False, lambda_policy=1.0))(
        rewards[:2], zeros[:2], valid[:2]
    ).advantages
    found = make_advantage_fn(by_part, 2)(rewards, zeros, valid, None, None, parts).advantages
    np.testing.assert_allclose(found[:2], alone, atol=1e-6)
    np.testing.assert_allclose(found, [[1, 1], [-1, -1], [1, 1], [-1, -1]], atol=1e-4)
    over_all = make_advantage_fn(PPOConfig(length_adaptive=False, lambda_policy=1.0))(rewards, zeros, valid).advantages
    assert abs(over_all[0, 0] - over_all[1, 0]) < 0.03
    one = make_advantage_fn(by_part, 1)(rewards, zeros, valid, None, None, 0 * parts).advantages
    np.testing.assert_allclose(one, over_all, atol=1e-6)


def test_normalized_advantages(tiny_model: ModelConfig, episode: Episode) -> None:
    trajectories, config = ragged(episode), PPOConfig()
    packed = Packer(tiny_model, PackingConfig(40, 1), image=5).pack(trajectories, 2)
    zeros = np.zeros(packed.rows.action_mask.shape, np.float32)
    batch, _ = prepare(packed, trajectories, zeros, zeros, config, REWARDS, make_advantage_fn(config))
    seen = batch.advantages[packed.rows.action_mask]
    np.testing.assert_allclose([seen.mean(), seen.std()], [0, 1], atol=1e-4)


def bandit(model: ModelConfig, parameters: Parameters, episode: Episode, config: PPOConfig) -> PPOBatch:
    """One token is sampled, twice GOOD with reward 1, twice BAD without; each in a row of its own."""
    trajectories = [episode([[(0, [token])]], [token == GOOD]) for token in (GOOD, BAD, GOOD, BAD)]
    packed = Packer(model, PackingConfig(4, 1), image=5).pack(trajectories, 4)
    log_probs = np.asarray(scores(model)(parameters, packed.rows))
    packed = dataclasses.replace(packed, rows=dataclasses.replace(packed.rows, log_probs=log_probs))
    values = np.zeros_like(log_probs)
    return prepare(packed, trajectories, log_probs, values, config, REWARDS, make_advantage_fn(config))[0]


def probabilities(model: ModelConfig, parameters: Parameters, batch: PPOBatch) -> tuple[float, float]:
    """Of GOOD and of BAD."""
    log_probs = np.exp(scores(model)(parameters, batch.rows))
    tokens = batch.rows.inputs.tokens
    return log_probs[tokens == GOOD][0], log_probs[tokens == BAD][0]


@pytest.mark.slow
@pytest.mark.parametrize("decoupled", [True, pytest.param(False, marks=pytest.mark.full)])
def test_what_was_rewarded_becomes_likely(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode, decoupled: bool
) -> None:
    config = PPOConfig(decoupled=decoupled, clip_high=5.0, clip_low=0.9)
    batch = bandit(tiny_model, tiny_parameters, episode, config)
    update, state = make_policy_update(tiny_model, OPTIMIZER, config), init_train_state(tiny_parameters, OPTIMIZER)
    good, bad = probabilities(tiny_model, state.parameters, batch)
    for _ in range(5):
        state, metrics = update(state, batch)
        better, worse = probabilities(tiny_model, state.parameters, batch)
        assert better > good and worse < bad
        good, bad = better, worse
    assert all(np.isfinite(float(value)) for value in metrics.values())
    assert int(state.step) == 5


@pytest.mark.slow
def test_stale_batches(tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode) -> None:
    """The policy has moved since: by the factor e^(1/2) = 1.65 for GOOD (A = 1), by e^(-1/2) = 0.61 for BAD (A = -1).

    Plain PPO finds both outside of [0.8, 1.28] and learns nothing. The decoupled objective still has the ratio 1 to the
    proximal policy, weighs the tokens by 1.5 (1.65, truncated) and 0.61, and learns.
    """
    batch = bandit(tiny_model, tiny_parameters, episode, PPOConfig())
    tokens, mask = batch.rows.inputs.tokens, batch.rows.action_mask
    moved = np.where(tokens == GOOD, 0.5, np.where(tokens == BAD, -0.5, 0)).astype(np.float32)
    behavior = np.where(mask, batch.proximal_log_probs - moved, 0).astype(np.float32)
    batch = dataclasses.replace(batch, rows=dataclasses.replace(batch.rows, log_probs=behavior))
    np.testing.assert_allclose(batch.advantages[mask], np.where(tokens[mask] == GOOD, 1, -1), atol=1e-4)

    def first(decoupled: bool) -> dict[str, float]:
        config = PPOConfig(decoupled=decoupled, max_importance=1.5, router_aux_loss_weight=0.0)
        _, metrics = make_policy_update(tiny_model, OPTIMIZER, config)(
            init_train_state(tiny_parameters, OPTIMIZER), batch
        )
        return {name: float(value) for name, value in metrics.items()}

    plain, decoupled = first(False), first(True)
    np.testing.assert_allclose(plain["policy_loss"], -(1.28 - 0.8) / 2, atol=1e-4)
    assert (plain["clip_high_fraction"], plain["clip_low_fraction"], plain["importance"]) == (0.5, 0.5, 1.0)
    assert plain["gradient_norm"] < 1e-6
    np.testing.assert_allclose(decoupled["policy_loss"], -(1.5 - np.exp(-0.5)) / 2, atol=1e-4)
    np.testing.assert_allclose(decoupled["importance"], (1.5 + np.exp(-0.5)) / 2, atol=1e-4)
    assert decoupled["clip_fraction"] == 0 and decoupled["gradient_norm"] > 0.01


@pytest.mark.slow
def test_a_whole_loop_is_one_program(tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode) -> None:
    """Values, scores, advantages and both updates, three times over in one scan: everything can be traced, and the
    states come back as they went in."""
    config, critic = PPOConfig(), value_model(tiny_model)
    batch = bandit(tiny_model, tiny_parameters, episode, config)
    score, values_fn, advantages_fn = score_fn(tiny_model), value_fn(tiny_model), advantage_fn(config)
    policy_step, value_step = policy_update(tiny_model, OPTIMIZER, config), value_update(tiny_model, OPTIMIZER, 0.2)
    policy = abstract_state(tiny_model, OPTIMIZER, make_mesh({}))
    value = abstract_state(critic, OPTIMIZER, make_mesh({}))

    def once(states: tuple[TrainState, TrainState], rows: Rows) -> tuple[tuple[TrainState, TrainState], Any]:
        policy, value = states
        values, log_probs = values_fn(value.parameters, rows), score(policy.parameters, rows)
        found = advantages_fn(rows.versions * 1.0, values, rows.action_mask)  # a row is a trajectory here
        minibatch = PPOBatch(rows, log_probs, found.advantages, rows.action_mask, found.targets, values)
        policy, metrics = policy_step(policy, minibatch)
        value, value_metrics = value_step(value, value_batch(minibatch))
        return (policy, value), {**metrics, **value_metrics}

    three = jax.tree.map(lambda leaf: np.stack([leaf] * 3), batch.rows)
    states, metrics = jax.eval_shape(
        lambda: jax.lax.scan(once, (zeros_like_state(policy), zeros_like_state(value)), three)
    )
    chex.assert_trees_all_equal_shapes(states, (policy, value))
    assert {each.shape for each in metrics.values()} == {(3,)}


def test_bounds_may_be_traced(tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode) -> None:
    """The experiment on the device hands them to its compiled program as numbers."""
    batch, critic = bandit(tiny_model, tiny_parameters, episode, PPOConfig()), value_model(tiny_model)
    policy, value = (abstract_state(model, OPTIMIZER, make_mesh({})) for model in (tiny_model, critic))

    def update(dual_clip: Any, value_clip: Any) -> Any:
        config = PPOConfig(dual_clip=dual_clip, value_clip=value_clip)
        _, metrics = policy_update(tiny_model, OPTIMIZER, config)(zeros_like_state(policy), batch)
        critic_update = value_update(critic, OPTIMIZER, unless_off(config.value_clip))
        return metrics, critic_update(zeros_like_state(value), value_batch(batch))[1]

    jax.eval_shape(update, 3.0, 0.2)
    assert unless_off(0.0) is None and unless_off(0.2) == 0.2


def zeros_like_state(state: TrainState) -> TrainState:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), state)


@pytest.mark.full
def test_a_shared_trunk_learns_policy_and_value(tiny_model: ModelConfig, episode: Episode) -> None:
    model = dataclasses.replace(tiny_model, scalar_head=True)
    parameters = jax.jit(lambda key: init_parameters(model, key))(jax.random.key(0))
    config = PPOConfig(clip_high=5.0, clip_low=0.9)
    batch = bandit(model, parameters, episode, config)
    update, state = make_policy_update(model, OPTIMIZER, config), init_train_state(parameters, OPTIMIZER)
    good, bad = probabilities(model, state.parameters, batch)
    for _ in range(60):
        state, _ = update(state, batch)
    better, worse = probabilities(model, state.parameters, batch)
    assert better > good and worse < bad
    # Before the token nothing says which one it will be: the best value is the mean return, 1/2.
    values = np.asarray(make_value_fn(model)(state.parameters, batch.rows))[batch.rows.action_mask]
    assert np.abs(values - 0.5).max() < 0.25


@pytest.mark.slow
def test_minibatches_cover_the_batch_and_compile_once(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = PPOConfig()
    batch = bandit(tiny_model, tiny_parameters, episode, config)
    batch = dataclasses.replace(batch, advantages=batch.advantages + np.arange(4, dtype=np.float32)[:, None])
    parts = list(minibatches(batch, 2, np.random.default_rng(0)))
    assert [part.advantages.shape for part in parts] == [(2, 4)] * 2
    assert sorted(np.concatenate([part.advantages for part in parts])[:, 0]) == [0, 1, 2, 3]
    for part in parts:
        rows = part.advantages[:, 0].astype(int)
        np.testing.assert_array_equal(part.rows.inputs.tokens, batch.rows.inputs.tokens[rows])
        np.testing.assert_array_equal(part.proximal_log_probs, batch.proximal_log_probs[rows])
        np.testing.assert_array_equal(part.positive, batch.positive[rows])
        assert value_batch(part).targets is part.value_targets

    forward = mock.Mock(side_effect=ppo.forward)
    monkeypatch.setattr(ppo, "forward", forward)
    update, state = make_policy_update(tiny_model, OPTIMIZER, config), init_train_state(tiny_parameters, OPTIMIZER)
    for _ in range(2):
        for part in minibatches(batch, 2, np.random.default_rng(1)):
            state, _ = update(state, part)
    assert forward.call_count == 1 and int(state.step) == 4


@pytest.mark.slow
def test_replayed_routes_are_the_policys_alone(
    tiny_model: ModelConfig, tiny_parameters: Parameters, episode: Episode
) -> None:
    """Scores follow the recorded experts; a value model of its own does not."""
    trajectories = [
        dataclasses.replace(
            played,
            windows=tuple(
                dataclasses.replace(each, routes=np.full((each.tokens.size, 2, 2), [0, 1], np.int16))
                for each in played.windows
            ),
        )
        for played in (episode([[(0, [GOOD, BAD]), (1, [BAD])]], [0, 1]), episode([[(0, [GOOD])]], [1]))
    ]
    packer = Packer(tiny_model, PackingConfig(40, 1), image=5)
    free, fixed = (packer.pack(trajectories, 2, routes=replay).rows for replay in (False, True))
    own, replayed = (np.asarray(scores(tiny_model)(tiny_parameters, rows)) for rows in (free, fixed))
    assert np.abs(own - replayed)[free.action_mask].max() > 1e-2
    routers = jax.jit(lambda: forward(tiny_model, tiny_parameters, fixed.inputs).routers)()
    np.testing.assert_allclose(routers.load, [[0.5, 0.5, 0, 0]] * 2, atol=1e-6)

    everything = np.zeros(free.action_mask.shape, np.float32)
    batch = PPOBatch(fixed, everything, everything, everything > 0, everything, everything)
    assert value_batch(batch).rows.inputs.routes is None and batch.rows.inputs.routes is not None
