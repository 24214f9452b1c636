"""Rewards by hand: the verdict, an answer that does not parse, one that is too long, an episode that ends early or not
at all."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.model.config import ModelConfig
from tars_jax.training.config import RewardConfig
from tars_jax.training.packing import Packer, PackingConfig
from tars_jax.training.rewards import ending_rewards, step_rewards, token_rewards
from tars_jax.trajectory import Outcome, Trajectory

CONFIG = RewardConfig(format_penalty=0.25, length_penalty=0.5, max_length=6, length_cache=4)


def played(episode: Callable[..., Trajectory]) -> list[Trajectory]:
    """Answers of 2, 4 | 8, 1 tokens; the second does not parse, the last one wins. And an episode that never began."""
    windows = [[(0, [7] * 2), (1, [7] * 4)], [(2, [7] * 8), (3, [7])]]
    return [episode(windows, [0, 0, 0, 1], malformed=[1]), episode([], [])]


def test_each_step(episode: Callable[..., Trajectory]) -> None:
    """Lengths 2, 4, 8, 1 of 6, penalized from 2 on over 4 tokens: 0, -1/2, -1, 0."""
    first, empty = played(episode)
    np.testing.assert_allclose(step_rewards(first, CONFIG), [0, -0.25 - 0.25, -0.5, 1], atol=1e-6)
    assert step_rewards(empty, CONFIG).shape == (0,)
    scaled = dataclasses.replace(CONFIG, scale=0.1)  # of the environment's rewards alone
    np.testing.assert_allclose(step_rewards(first, scaled), [0, -0.25 - 0.25, -0.5, 0.1], atol=1e-6)


ENDING = RewardConfig(
    scale=2.0, format_penalty=0, length_penalty=0, early_penalty=0.5, endless_penalty=0.25, fewer_steps_reward=0.3
)


@pytest.mark.parametrize(
    ("rewards", "outcome", "expected"),
    [  # of 9 steps; what ends before 4.5 is too early
        ([0, 1], Outcome.FINISHED, 2 + 0.3 * 7 / 9),  # solved: it is never too early
        ([0, 0], Outcome.FINISHED, -0.5 * (1 - 2 / 4.5)),
        ([0, 0], Outcome.REJECTED, -0.5 * (1 - 2 / 4.5)),
        ([0] * 6, Outcome.FINISHED, 0),
        ([0] * 9, Outcome.TRUNCATED, -0.25),
        ([0, 0], Outcome.TRUNCATED, -0.25),  # by a budget of tokens or time: nor did it end
        ([0] * 8 + [1], Outcome.TRUNCATED, 2),  # a success is not penalized, and saved nothing
    ],
)
def test_how_an_episode_ends(
    episode: Callable[..., Trajectory], rewards: list[float], outcome: Outcome, expected: float
) -> None:
    made = episode([[(number, [7])] for number in range(len(rewards))], rewards)
    found = step_rewards(dataclasses.replace(made, outcome=outcome), ENDING)
    np.testing.assert_allclose(found, [0] * (len(rewards) - 1) + [expected], atol=1e-6)
    assert np.array_equal(step_rewards(made, RewardConfig()), np.array(rewards, np.float32))  # all of it is off


def test_a_task_without_a_budget_took_all_of_it(episode: Callable[..., Trajectory]) -> None:
    made = dataclasses.replace(episode([[(0, [7])]], [1]), task={})
    np.testing.assert_allclose(step_rewards(made, ENDING), [2])


def test_each_ending_is_paid_by_its_own_switch() -> None:
    """Ends of 2 steps of 8: solved, failed, cut off."""
    cases = (np.full(3, 2), 8, np.array([True, False, False]), np.array([True, True, False]))
    for config, expected in (
        (RewardConfig(fewer_steps_reward=1.0), [0.75, 0, 0]),
        (RewardConfig(early_penalty=1.0), [0, -0.5, 0]),
        (RewardConfig(endless_penalty=1.0), [0, 0, -1]),
    ):
        np.testing.assert_allclose(ending_rewards(*cases, config), expected, atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 1.5])
def test_an_early_share_that_there_is_not(share: float) -> None:
    with pytest.raises(InputError, match=f"early_share must be a share above 0, up to 1; got {share}"):
        RewardConfig(early_share=share)


def test_rewards_stand_at_the_last_token_of_their_step(
    tiny_model: ModelConfig, episode: Callable[..., Trajectory]
) -> None:
    trajectories = played(episode)
    packed = Packer(tiny_model, PackingConfig(20, 1), image=5).pack(trajectories, 1)
    expected = np.zeros((2, 64))
    expected[0, [5, 13, 14]] = [-0.5, -0.5, 1]  # tokens 0-1, 2-5, 6-13, 14; the first step's reward is 0
    np.testing.assert_allclose(token_rewards(packed, trajectories, CONFIG), expected, atol=1e-6)


def test_a_line_of_memory_gets_nothing_of_the_turn_before_it_and_makes_no_answer_longer(
    tiny_model: ModelConfig, episode: Callable[..., Trajectory]
) -> None:
    """After the answer of step 0, two tokens, the policy wrote five to be remembered; step 1 is answered with two."""
    trajectories = [episode([[(0, [7] * 2), (1, [7] * 5)], [(1, [7] * 2)]], [0.5, 1])]
    np.testing.assert_allclose(step_rewards(trajectories[0], CONFIG), [0.5, 1])
    packed = Packer(tiny_model, PackingConfig(20, 1), image=5).pack(trajectories, 1)
    expected = np.zeros((1, 64))
    expected[0, [1, 8]] = [0.5, 1]
    np.testing.assert_allclose(token_rewards(packed, trajectories, CONFIG), expected)


def test_a_step_without_a_decision_gives_its_reward_to_the_last_one_before(
    tiny_model: ModelConfig, episode: Callable[..., Trajectory]
) -> None:
    """Of steps of 2, 3, 1 and 2 tokens only the second one, at its first two, and the last one decided anything."""
    windows = [[(0, [7] * 2), (1, [7] * 3)], [(2, [7]), (3, [7] * 2)]]
    trajectories = [episode(windows, [8, 1, 2, 4])]
    packed = Packer(tiny_model, PackingConfig(20, 1), image=5).pack(trajectories, 1)
    packed.action_valid[0, [0, 1, 4, 5]] = False
    expected = np.zeros((1, 64))
    expected[0, [3, 7]] = [1 + 2, 4]
    plain = RewardConfig(length_penalty=0)
    np.testing.assert_allclose(token_rewards(packed, trajectories, plain), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("windows", "rewards", "message"),
    [
        ([[(0, [7]), (1, [7]), (0, [7])]], [1, 0], r"windows\[0\].steps must not go back .*; got 0 after 1"),
        ([[(0, [7]), (1, [7])], [(0, [7])]], [1, 0], r"windows\[1\].steps must not go back .*; got 0 after 1"),
        ([[(0, [7])]], [0, 1], r"steps\[1\] must have a sampled token"),
        ([[(1, [7])]], [0.5, 1], r"steps\[0\] must have a sampled token"),
        ([[(-1, [7]), (0, [7])]], [1], r"windows\[0\].steps must name a step for each sampled token; got -1"),
        ([[(0, [7])]], [1e300], r"steps\[0\].reward must be a number of float32; got 1e\+300"),
    ],
)
def test_a_reward_that_would_be_lost_or_count_twice_is_refused(
    tiny_model: ModelConfig,
    episode: Callable[..., Trajectory],
    windows: list[list[tuple[int, list[int]]]],
    rewards: list[float],
    message: str,
) -> None:
    made = [episode(windows, rewards)]
    with pytest.raises(InputError, match=message):
        token_rewards(Packer(tiny_model, PackingConfig(20, 1), image=5).pack(made, 1), made, CONFIG)
