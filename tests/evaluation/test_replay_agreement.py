import dataclasses

import numpy as np

from tars_jax.evaluation.replay_agreement import ReplayAgreement, replay_agreement
from tars_jax.trajectory import ContextWindow, Outcome, Trajectory


def episode(*windows: list[int], reward: float = 1.0) -> Trajectory:
    """Each window reads a token 99 and then samples its tokens, with log-probabilities of -1."""

    def window(sampled: list[int]) -> ContextWindow:
        tokens = np.array([99, *sampled], np.int32)
        acted = np.arange(tokens.size) > 0
        zeros = np.zeros(tokens.size, np.int32)
        return ContextWindow(tokens, acted, np.where(acted, -1, 0).astype(np.float32), zeros, zeros, ())

    return Trajectory("a", {}, tuple(map(window, windows)), (), Outcome.FINISHED, reward, success=reward > 0)


def test_sameness_by_hand() -> None:
    one, two = episode([1, 2], [3]), episode([4, 5, 6])
    assert replay_agreement([one, two], [one, two]) == ReplayAgreement(2, 2, 2, 6, 6, 0.0)
    # The second token of one differs: one token is common. Of two the last one is missing: two are.
    found = replay_agreement([one, two], [episode([1, 7], [3]), episode([4, 5])])
    assert found == ReplayAgreement(
        episodes=2, identical=0, same_outcome=2, tokens=6, same_tokens=3, largest_difference=0.0
    )
    # The same tokens with another verdict are not the same episode.
    assert replay_agreement([one], [episode([1, 2], [3], reward=0.0)]) == ReplayAgreement(1, 0, 0, 3, 3, 0.0)


def test_rounding_is_seen_where_tokens_are_the_same() -> None:
    one = episode([1, 2, 3])
    (window,) = one.windows
    moved = dataclasses.replace(window, log_probs=window.log_probs + np.array([9, 0.25, 0.5, 0], np.float32))
    other = dataclasses.replace(one, windows=(moved,))
    found = replay_agreement([one], [other])
    assert found.identical == 1 and found.largest_difference == 0.5
    cut = replay_agreement(
        [one], [dataclasses.replace(other, windows=(dataclasses.replace(moved, tokens=moved.tokens * [1, 1, 0, 1]),))]
    )
    assert cut.same_tokens == 1 and cut.largest_difference == 0.25
