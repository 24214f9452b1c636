"""Episodes as arrays to rewards, rows and minibatches, on numbers made by hand.

Axes: 2 episodes, 2 steps, 4 tokens of a window: one of the prompt, three of the answer.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tars_jax.episodes import EpisodeArrays
from tars_jax.training.advantages import informative
from tars_jax.training.config import PPOConfig, RewardConfig
from tars_jax.training.minibatches import take_rows
from tars_jax.training.on_device import (
    action_tokens,
    map_played_rows,
    noisy_rewards,
    over_minibatches,
    ppo_batch,
    return_batch,
    rows_of,
    shape_rewards,
    token_rewards,
)

MASK = np.array([[[0, 1, 1, 0], [0, 1, 1, 1]], [[0, 1, 0, 0], [0, 0, 0, 0]]], bool)


@pytest.fixture
def episodes() -> EpisodeArrays:
    """The first has two steps and succeeds, the second ends after one that could not be read."""
    shape = MASK.shape
    return EpisodeArrays(
        tokens=jnp.arange(16).reshape(shape),
        positions=jnp.zeros((2, 2, 3, 4), jnp.int32),
        segments=jnp.ones(shape, jnp.int32),
        image_tokens=jnp.full(shape, -1),
        images=jnp.zeros((2, 2, 1, 1, 3), jnp.uint8),
        action_mask=jnp.asarray(MASK),
        log_probs=jnp.where(MASK, -0.5, 0.0),
        rewards=jnp.array([[0.0, 1.0], [0.0, 0.0]]),
        played=jnp.array([[True, True], [True, False]]),
        valid=jnp.array([[True, True], [False, False]]),
        think_tokens=jnp.zeros((2, 2), jnp.int32),
        calls=jnp.ones((2, 2), jnp.int32),
        known=jnp.zeros((2, 2), jnp.int32),
        succeeded=jnp.array([True, False]),
        ended=jnp.array([True, False]),
    )


def test_rewards_by_hand(episodes: EpisodeArrays) -> None:
    config = RewardConfig(format_penalty=0.1, length_penalty=0.5, max_length=3, length_cache=2)
    # Soft overlong of 2, 3, 1 tokens: -.5, -1, 0, each times .5; the third answer could not be read.
    found = shape_rewards(episodes, episodes.rewards, config)
    np.testing.assert_allclose(found, [[-0.25, 0.5], [-0.1, 0]])
    by_token = np.zeros((2, 8))
    by_token[0, 2], by_token[0, 7], by_token[1, 1] = -0.25, 0.5, -0.1
    np.testing.assert_allclose(token_rewards(episodes, found), by_token)


def test_how_an_episode_ends(episodes: EpisodeArrays) -> None:
    """Two steps of two, solved, and one of two, which nothing has ended; then two that have."""
    plain = RewardConfig(format_penalty=0, length_penalty=0, early_penalty=0.4, early_share=1.0)
    config = dataclasses.replace(plain, endless_penalty=0.2, fewer_steps_reward=3.0)
    np.testing.assert_allclose(shape_rewards(episodes, episodes.rewards, config), [[0.0, 1.0], [-0.2, 0.0]])
    ended = dataclasses.replace(episodes, ended=jnp.array([True, True]))
    np.testing.assert_allclose(shape_rewards(ended, episodes.rewards, config), [[0.0, 1.0], [-0.4 / 2, 0.0]])
    verdicts = jnp.array([[0.0, 0.0], [1.0, 0.0]])  # of a verifier that errs: it is what training believes
    np.testing.assert_allclose(shape_rewards(ended, verdicts, config), [[0.0, 0.0], [1 + 3 / 2, 0.0]])


def test_a_verifier_errs_at_the_end(episodes: EpisodeArrays) -> None:
    key = jax.random.key(0)
    np.testing.assert_array_equal(noisy_rewards(episodes, key), episodes.rewards)
    np.testing.assert_array_equal(noisy_rewards(episodes, key, 1.0, 0.0), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(noisy_rewards(episodes, key, 0.0, 1.0), [[0, 0], [0, 0]])


def test_advantages_run_over_the_whole_episode(episodes: EpisodeArrays) -> None:
    config = PPOConfig(length_adaptive=False, lambda_policy=0.5, lambda_critic=1.0, normalize_advantages=False)
    values = jnp.where(MASK, 0.2, 99.0).reshape(4, 4)
    batch, metrics = ppo_batch(episodes, episodes.rewards, episodes.rewards, values, config, jnp.arange(2))
    # Errors 0, 0, 0, 0, .8 over five tokens, halved from each to the one before; the other episode has -.2 alone.
    expected = np.zeros((4, 4))
    expected[0, 1:3], expected[1, 1:], expected[2, 1] = [0.05, 0.1], [0.2, 0.4, 0.8], -0.2
    np.testing.assert_allclose(batch.advantages, expected, atol=1e-6)
    np.testing.assert_allclose(batch.value_targets, np.where(MASK, [[[1.0]], [[0.0]]], 0).reshape(4, 4), atol=1e-6)
    np.testing.assert_array_equal(batch.positive[:, 0], [True, True, False, False])
    assert float(metrics["value_correlation"]) == 0  # the values are all equal


def test_values_are_held_against_returns_part_by_part(episodes: EpisodeArrays) -> None:
    """Returns are 1 at the five tokens of the first episode and 0 at the other's one; or halved at each token."""
    values = jnp.where(MASK, jnp.array([[[0.3], [0.5]], [[0.9], [0]]]), 99.0).reshape(4, 4)
    of = episodes, episodes.rewards, episodes.rewards
    parts = np.array([0, 1], np.int32)
    _, metrics = ppo_batch(*of, values, PPOConfig(), jnp.arange(2), parts=parts, part_names=["gui", "sdk"])
    expected = np.corrcoef([1, 1, 1, 1, 1, 0], [0.3, 0.3, 0.5, 0.5, 0.5, 0.9])[0, 1]
    np.testing.assert_allclose(metrics["value_correlation"], expected, atol=1e-5)
    assert expected < 0 and float(metrics["gui/value_correlation"]) == float(metrics["sdk/value_correlation"]) == 0
    _, metrics = ppo_batch(*of, values, PPOConfig(gamma=0.5), jnp.arange(2), parts=parts, part_names=["gui", "sdk"])
    own = np.corrcoef([1 / 16, 1 / 8, 1 / 4, 1 / 2, 1], [0.3, 0.3, 0.5, 0.5, 0.5])[0, 1]
    np.testing.assert_allclose(metrics["gui/value_correlation"], own, atol=1e-5)


def test_groups_are_compared_and_turns_are_one(episodes: EpisodeArrays) -> None:
    values = jnp.where(MASK, 0.2, 99.0).reshape(4, 4)
    grouped = PPOConfig(advantages="group", group_std=False, aggregation="sequence")
    verdicts, groups = episodes.rewards, jnp.zeros(2, jnp.int32)
    batch, metrics = ppo_batch(episodes, verdicts, verdicts, jnp.zeros((4, 4)), grouped, groups)
    np.testing.assert_allclose(batch.advantages, np.where(MASK, [[[0.5]], [[-0.5]]], 0).reshape(4, 4))
    np.testing.assert_allclose(np.asarray(batch.weights), np.where(MASK, [[[1 / 5]], [[1.0]]], 0).reshape(4, 4))
    assert float(metrics["informative_groups"]) == 1 and "explained_variance" not in metrics
    turns = PPOConfig(advantages="turn", length_adaptive=False, lambda_policy=0.5, normalize_advantages=False)
    batch, _ = ppo_batch(episodes, verdicts, verdicts, values, turns, jnp.arange(2))
    expected = np.where(MASK, np.array([[0.4, 0.8], [-0.2, 0]])[..., None], 0).reshape(4, 4)
    np.testing.assert_allclose(batch.advantages, expected, atol=1e-6)


def test_who_succeeded_is_not_a_matter_of_shaping(episodes: EpisodeArrays) -> None:
    """A solved episode whose penalties cost more than the verdict gave is imitated all the same."""
    shaping = jnp.array([[-1.0, -1.0], [0.0, 0.0]])
    config, values, verdicts = PPOConfig(), jnp.zeros((4, 4)), episodes.rewards
    batch, _ = ppo_batch(episodes, verdicts, verdicts + shaping, values, config, jnp.arange(2))
    np.testing.assert_array_equal(batch.positive[:, 0], [True, True, False, False])


def test_a_group_of_equals_teaches_nothing() -> None:
    rewards = jnp.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(informative(rewards.sum(1), jnp.array([0, 0, 1, 1])), [False, False, True, True])


def test_returns_are_the_rest_of_the_episode(episodes: EpisodeArrays) -> None:
    rewards = jnp.array([[0.5, 1.0], [-0.1, 0.0]])
    expected = np.where(MASK, np.array([[1.5, 1.0], [-0.1, 0.0]])[..., None], 0).reshape(4, 4)
    np.testing.assert_allclose(return_batch(episodes, rewards, PPOConfig()).targets, expected)
    # At the first answer's second token: its .5, and the 1 that comes three tokens later; before it, half of that.
    halved = return_batch(episodes, rewards, PPOConfig(gamma=0.5)).targets
    np.testing.assert_allclose(halved[0], [0, 0.3125, 0.625, 0])
    # Once a turn where turns are discounted: .5 and half of 1.
    turns = return_batch(episodes, rewards, PPOConfig(gamma=0.5, advantages="turn")).targets
    np.testing.assert_allclose(turns[:2], np.where(MASK[0], [[1.0], [1.0]], 0))


def test_what_was_not_played_is_padding(episodes: EpisodeArrays) -> None:
    rows = rows_of(episodes)
    np.testing.assert_array_equal(rows.inputs.segments[:, 0], [1, 1, 1, 0])
    np.testing.assert_array_equal(action_tokens(episodes).reshape(4, 4), rows.action_mask)
    empty = take_rows(rows, jnp.array([2, 4]))
    np.testing.assert_array_equal(empty.inputs.tokens, [[8, 9, 10, 11], [0, 0, 0, 0]])
    assert not empty.action_mask[1].any() and empty.inputs.positions.shape == (3, 2, 4)


def test_minibatches_hold_every_played_row_once_an_epoch(episodes: EpisodeArrays) -> None:
    def update(seen: jax.Array, rows: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
        return seen + jax.nn.one_hot(rows - 1, 7).sum(0), {"one": jnp.float32(1)}

    played = jnp.array([1, 0, 1, 1, 1, 0, 1], bool)
    seen, metrics = over_minibatches(update, jnp.zeros(7), jnp.arange(1, 8), played, 2, 3, jax.random.key(0))
    # Five rows are two minibatches and a half: one that was not played fills up the third, in each of three epochs.
    np.testing.assert_array_equal(seen[played], 3)
    assert float(seen.sum()) == 18
    assert float(metrics["one"]) == 1


def test_a_function_of_rows_sees_those_that_were_played(episodes: EpisodeArrays) -> None:
    found = map_played_rows(lambda rows: rows.inputs.tokens * 1.0, rows_of(episodes), episodes.played.ravel(), 2)
    np.testing.assert_array_equal(found[:3], np.arange(12).reshape(3, 4))
    alone = map_played_rows(lambda rows: rows.inputs.tokens * 1.0, rows_of(episodes), episodes.played.ravel(), 3)
    np.testing.assert_array_equal(alone, np.where(np.arange(4)[:, None] < 3, np.arange(16).reshape(4, 4), 0))


def test_rows_of_what_was_seen_lie_second() -> None:
    """Features of screenshots are [1 + F, R, Q, D]: of numpy arrays and of traced ones the second axis is taken."""
    name = "image_features"
    features = np.arange(2 * 3 * 1 * 1).reshape(2, 3, 1, 1)
    for given, chosen in ((features, np.array([2, 0])), (jnp.asarray(features), jnp.array([2, 0]))):
        np.testing.assert_array_equal(take_rows({name: given}, chosen)[name][..., 0, 0], [[2, 0], [5, 3]])
    assert take_rows({name: jnp.asarray(features)}, jnp.array([3]))[name].ravel().tolist() == [0, 0]
