"""One context window while an episode is played: what was read and what was written, token by token.

Axes: N tokens of a call, L layers with experts, K experts of a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tars_jax.trajectory import ContextWindow


class SampledResponse(Protocol):
    """One response of a policy, as recorded while it was sampled."""

    @property
    def tokens(self) -> tuple[int, ...]: ...

    @property
    def log_probs(self) -> tuple[float, ...]: ...

    @property
    def versions(self) -> tuple[int, ...]: ...

    @property
    def routes(self) -> np.ndarray | None:
        """[N, L, K] experts of the N tokens that this call went through, or None where nobody records them.

        These are, in a window that goes on, the last token of the answer before; then the tokens that were read; then
        those of the answer but its last.
        """
        ...


class WindowBuilder:
    """Collects one context window; steps are counted from 0, and what belongs to none is of step -1."""

    def __init__(self) -> None:
        self.images: list[int] = []
        self.columns: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.routes: list[np.ndarray] = []

    @property
    def size(self) -> int:
        return sum(len(column[0]) for column in self.columns)

    def read(self, tokens: Sequence[int], step: int) -> None:
        size = len(tokens)
        self.columns.append(
            (
                np.asarray(tokens, np.int32),
                np.zeros(size, bool),
                np.zeros(size, np.float32),
                np.full(size, -1, np.int32),
                np.full(size, step, np.int32),
            )
        )

    def wrote(self, sampled: SampledResponse, step: int) -> None:
        size = len(sampled.tokens)
        if sampled.routes is not None:
            self.routes.append(sampled.routes)
        self.columns.append(
            (
                np.asarray(sampled.tokens, np.int32),
                np.ones(size, bool),
                np.asarray(sampled.log_probs, np.float32),
                np.asarray(sampled.versions, np.int32),
                np.full(size, step, np.int32),
            )
        )

    def build(self) -> ContextWindow:
        tokens, mask, log_probs, versions, steps = (np.concatenate(each) for each in zip(*self.columns, strict=True))
        routes = None
        if self.routes:
            gone_through = np.concatenate(self.routes).astype(np.int16)
            routes = np.full((tokens.size, *gone_through.shape[1:]), -1, np.int16)
            routes[: len(gone_through)] = gone_through  # the last token of a window was never read
        return ContextWindow(tokens, mask, log_probs, versions, steps, tuple(self.images), routes)
