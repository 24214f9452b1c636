"""Groups: advantages by hand, with members missing, and which groups teach anything."""

import jax
import numpy as np
import pytest

from tars_jax import rl


@pytest.mark.parametrize(
    ("rewards", "ddof", "advantages"),
    [
        ([1, 0, 0, 0], 1, [1.5, -0.5, -0.5, -0.5]),  # mean .25, squares .75: std sqrt(.75 / 3) = .5
        ([1, 0, 0, 0], 0, [1.73205, -0.57735, -0.57735, -0.57735]),  # std sqrt(.75 / 4) = .433013
        ([1, 1, 0, 0], 1, [0.866025, 0.866025, -0.866025, -0.866025]),  # mean .5, std sqrt(1 / 3)
        ([1, 1, 0, 0], 0, [1, 1, -1, -1]),  # std .5
        ([0.1, 0.1, 0.1], 1, [0, 0, 0]),
        ([0.7], 1, [0.7]),  # mean 0 and std 1 stand in
        ([], 1, []),
    ],
)
def test_group_advantages(rewards: list[float], ddof: int, advantages: list[float]) -> None:
    np.testing.assert_allclose(rl.group_advantages(np.array(rewards), ddof=ddof), advantages, atol=1e-5)


def test_without_the_standard_deviation() -> None:
    np.testing.assert_allclose(
        rl.group_advantages(np.array([1, 0, 0, 0]), normalize=False), [0.75, -0.25, -0.25, -0.25], atol=1e-6
    )


def test_members_only() -> None:
    """Every member of several ragged groups at once, as the learner does it: a row of the matrix is a group's mask."""
    rewards = np.array([1, 0, 0.5, 0, 0, 1, np.nan])
    groups = np.array([3, 3, 9, 3, 3, 4, 3])
    member = (groups[:, None] == groups) & (np.arange(7) < 6)
    own = jax.vmap(lambda mask: rl.group_advantages(rewards, mask=mask))(member)[np.arange(7), np.arange(7)]
    np.testing.assert_allclose(own, [1.5, -0.5, 0.5, -0.5, -0.5, 1, 0], atol=1e-5)
    informative = jax.vmap(lambda mask: rl.informative_group(rewards, mask))(member)
    np.testing.assert_array_equal(informative, [True, True, False, True, True, False, True])


@pytest.mark.parametrize("reward", [0.1, 0.3, 1e4 / 3])
def test_equal_rewards_give_exact_zeros_and_teach_nothing(reward: float) -> None:
    rewards = np.full(7, reward)
    np.testing.assert_array_equal(rl.group_advantages(rewards), np.zeros(7))
    assert not rl.informative_group(rewards)
    assert rl.informative_group(np.append(rewards, reward + 1))
