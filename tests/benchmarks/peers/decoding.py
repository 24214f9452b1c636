"""A turn of `decode_tokens.py`, the same for every side. Standard library and numpy alone.

Axes: B prompts, T tokens of an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from tests.benchmarks.peers.setting import Decoding
from tests.benchmarks.peers.turns import between, clock


class Answers(NamedTuple):
    """What a side wrote after its prompts."""

    tokens: np.ndarray  # [B, T] int32
    log_probs: np.ndarray | None  # [B, T], where the side was asked for them, or has them anyway


class Answer(Protocol):
    """Answers all prompts in this many tokens. Greedily: the likeliest, with log-probabilities at temperature 1."""

    def __call__(self, tokens: int, *, greedy: bool, seed: int) -> Answers: ...


class Turns:
    """A turn answers all prompts in one token, which is the reading, and then anew in all.

    The first turn is greedy and tells what it wrote; the others sample at temperature 1.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer, self._number = answer, 0

    def __call__(self) -> dict[str, Any]:
        given, seed = Decoding(), self._number
        self._number += 1
        greedy = seed == 0
        began = clock()
        self._answer(1, greedy=greedy, seed=seed)
        read = clock()
        answers = self._answer(given.answer, greedy=greedy, seed=seed)
        done = clock()
        assert answers.tokens.shape == (given.batch, given.answer), answers.tokens.shape
        turn = {"first": between(began, read), "whole": between(read, done)}
        if not greedy:
            return turn
        assert answers.log_probs is not None
        return {**turn, "written": answers.tokens.tolist(), "log_probs": np.asarray(answers.log_probs).tolist()}
