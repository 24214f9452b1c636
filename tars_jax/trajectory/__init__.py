"""Trajectories: an agent's episodes, exactly as they were sampled.

Axes: T tokens of a context window, S steps of a trajectory, L layers with experts, K experts of a token.

A `Trajectory` is a list of `ContextWindow`s (what the policy read and wrote, token by token) and a list of `Step`s
(what the environment saw of it). Windows are append-only, and nothing in them is ever tokenized again.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np


class Outcome(enum.Enum):
    """The way in which an episode ended. Only the first three carry a reward; what failed is retried, then masked."""

    FINISHED = "finished"
    TRUNCATED = "truncated"
    REJECTED = "rejected"
    FAILED = "failed"

    @property
    def carries_reward(self) -> bool:
        return self is not Outcome.FAILED


@dataclasses.dataclass(frozen=True)
class Step:
    """One ReAct cycle: what was observed, the thought and action it led to, and what came of it."""

    screenshot: bytes  # PNG, as the policy saw it; empty where the observation had none
    response: str  # the sampled text, thought and action
    thought: str  # empty where the response did not parse
    action: str  # the parsed call in the text grammar; empty where the response did not parse
    point: tuple[float, float] | None  # where it pointed, 0..1000 of width and height
    reward: float
    think_tokens: int
    valid: bool  # the response followed the grammar
    info: dict[str, Any]  # the simulator's own state before the action: for verification and analysis only
    text: str = ""  # of the observation, as the policy read it


@dataclasses.dataclass(frozen=True)
class ContextWindow:
    """One append-only context of the policy, with what was recorded while it grew."""

    tokens: np.ndarray  # [T] int32
    action_mask: np.ndarray  # [T] bool: sampled by the policy in this window
    log_probs: np.ndarray  # [T] float32: of the sampled tokens at sampling time, 0 elsewhere
    versions: np.ndarray  # [T] int32: the policy version that sampled the token, -1 elsewhere
    steps: np.ndarray  # [T] int32: the step that a token belongs to, -1 for the preamble
    images: tuple[int, ...]  # the steps whose screenshots stand in this window, in order
    routes: np.ndarray | None = None  # [T, L, K] int16: the experts that each token went to, -1 where none was recorded


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """Trajectory of one episode."""

    id: str
    task: dict[str, Any]
    windows: tuple[ContextWindow, ...]
    steps: tuple[Step, ...]
    outcome: Outcome
    reward: float  # the return of the whole episode, without shaping
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    final_screenshot: bytes = b""  # PNG, what the last action led to: for who judges; empty where it was not kept
    final_text: str = ""  # the text of that observation
    success: bool | None = None  # the task's own verdict; None: nobody has given one

    @property
    def succeeded(self) -> bool:
        """Whether somebody has said that it is a success, which every success rate counts."""
        return bool(self.success)

    @property
    def verified_success(self) -> bool | None:
        """Verdict of the environment's own verifier, also where a judge's verdict stands in `success`."""
        verified: bool | None = self.metadata.get("environment_success", self.success)
        return verified

    @property
    def cannot_say(self) -> str:
        """The reason why its judge could not tell whether it was solved; such an episode is masked, as a failed one.
        Empty: the judge could tell, or was not asked."""
        return str(self.metadata.get("cannot_say", ""))

    @property
    def num_action_tokens(self) -> int:
        return int(sum(window.action_mask.sum() for window in self.windows))
