"""The shared words: what an agent did, exactly as it was sampled.

Axes: T tokens of a context window, S steps of a trajectory.

A `Trajectory` is a list of `ContextWindow`s (what the policy read and wrote, token by token) and a list of `Step`s (what
the environment saw of it). Windows are append-only, and nothing in them is ever tokenised again (blueprint, contracts
1 and 2).
"""

from __future__ import annotations

import dataclasses
import enum
import os
import pathlib
from typing import Any

import numpy as np


class Outcome(enum.Enum):
    """How an episode ended. Only the first three carry a reward (blueprint, contract 3)."""

    FINISHED = "finished"
    TRUNCATED = "truncated"
    REJECTED = "rejected"
    FAILED = "failed"

    @property
    def carries_reward(self) -> bool:
        return self is not Outcome.FAILED


@dataclasses.dataclass(frozen=True)
class Step:
    """One ReAct cycle: the screenshot that was seen, the thought and action it led to, and what came of it."""

    screenshot: bytes  # PNG, as the policy saw it
    response: str  # the sampled text, thought and action
    thought: str  # empty where the response did not parse
    action: str  # the parsed call in the text grammar; empty where the response did not parse
    point: tuple[float, float] | None  # where it pointed, 0..1000 of width and height
    reward: float
    think_tokens: int
    valid: bool  # the response followed the grammar
    info: dict[str, Any]  # the simulator's own state before the action: for verification and analysis, never for the policy


@dataclasses.dataclass(frozen=True)
class ContextWindow:
    """One append-only context of the policy, with what was recorded while it grew."""

    tokens: np.ndarray  # [T] int32
    action_mask: np.ndarray  # [T] bool: sampled by the policy in this window
    log_probs: np.ndarray  # [T] float32: of the sampled tokens at sampling time, 0 elsewhere
    versions: np.ndarray  # [T] int32: the policy version that sampled the token, -1 elsewhere
    steps: np.ndarray  # [T] int32: the step that a token belongs to, -1 for the preamble
    images: tuple[int, ...]  # the steps whose screenshots stand in this window, in order


@dataclasses.dataclass(frozen=True)
class Trajectory:
    """One episode."""

    id: str
    task: dict[str, Any]
    windows: tuple[ContextWindow, ...]
    steps: tuple[Step, ...]
    outcome: Outcome
    reward: float  # the verifier's verdict on the whole episode, without shaping
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def num_action_tokens(self) -> int:
        return int(sum(window.action_mask.sum() for window in self.windows))


# Durable files


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at `path` by `data`, whole or not at all, also across a power cut.

    Writes beside, fsyncs, renames, fsyncs the directory. Raises OSError (a full disk, for instance) with the old file
    untouched and the partial one removed.
    """
    target = pathlib.Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
