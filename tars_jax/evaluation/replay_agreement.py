"""Whether episodes that were played again are the recorded ones, token by token.

Axes: T action tokens of an episode, over all of its windows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class ReplayAgreement:
    """Episodes and their repetitions."""

    episodes: int
    identical: int  # the same action tokens and the same outcome
    same_outcome: int
    tokens: int  # recorded action tokens
    same_tokens: int  # of these, before an episode's first other token
    largest_difference: float  # between log-probabilities of the same tokens, in nats

    def sentence(self) -> str:
        return (
            f"{self.identical} of {self.episodes} episodes are identical ({self.identical / self.episodes:.1%}), "
            f"{self.same_outcome} end the same; {self.same_tokens} of {self.tokens} tokens come before a first "
            f"difference ({self.same_tokens / max(1, self.tokens):.1%}), and their log-probabilities differ by at most "
            f"{self.largest_difference:.2g}"
        )


def replay_agreement(recorded: Sequence[Trajectory], again: Sequence[Trajectory]) -> ReplayAgreement:
    """Compares each episode with its repetition; at least one of them."""
    identical = same_outcome = tokens = same_tokens = 0
    largest = 0.0
    for before, after in zip(recorded, again, strict=True):
        prefix, difference = _common(before, after)
        ends_same = (before.outcome, before.reward) == (after.outcome, after.reward)
        identical += ends_same and prefix == before.num_action_tokens == after.num_action_tokens
        same_outcome += ends_same
        tokens += before.num_action_tokens
        same_tokens += prefix
        largest = max(largest, difference)
    return ReplayAgreement(len(recorded), identical, same_outcome, tokens, same_tokens, largest)


def _common(before: Trajectory, after: Trajectory) -> tuple[int, float]:
    """Number of action tokens before the first different one, and the largest difference of their log-probabilities."""
    (tokens, log_probs), (other_tokens, other_log_probs) = _actions(before), _actions(after)
    shorter = min(tokens.size, other_tokens.size)
    differing = np.flatnonzero(tokens[:shorter] != other_tokens[:shorter])
    prefix = int(differing[0]) if differing.size else shorter
    return prefix, float(np.abs(log_probs[:prefix] - other_log_probs[:prefix]).max(initial=0))


def _actions(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and log-probabilities [T]."""
    windows = trajectory.windows
    tokens = [window.tokens[window.action_mask] for window in windows]
    log_probs = [window.log_probs[window.action_mask] for window in windows]
    return np.concatenate([np.zeros(0, np.int32), *tokens]), np.concatenate([np.zeros(0, np.float32), *log_probs])
