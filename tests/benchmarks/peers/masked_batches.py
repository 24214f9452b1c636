"""What all sides of `gae_batches.py` are given, and what a turn of a side is. Standard library and numpy alone.

Axes: N trajectories, T tokens of the longest.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

GAMMA, LAMBDA = 1.0, 0.95  # of the comparison of numbers
SIZES = {"16x512": 20, "64x4096": 3, "32x32768": 1}  # and how often a turn does each
MASKS = ("one turn", "turns")
AT = 64  # where the numbers of the sides are compared

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]  # rewards float32, values float32, mask bool, each [N, T]
Advantages = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def batch(size: str, mask: str) -> Batch:
    """Ragged trajectories that are rewarded at their last token.

    "one turn": every token up to the end is sampled. "turns": 8 to 64 tokens are read and 8 to 64 sampled, in turns;
    values stand at the read ones too, as a value model gives them.
    """
    trajectories, tokens = map(int, size.split("x"))
    rng = np.random.default_rng(0)
    ends = rng.integers(tokens // 4, tokens + 1, trajectories)
    real = np.arange(tokens) < ends[:, None]
    acted = real
    if mask == "turns":
        spans = rng.integers(8, 65, (trajectories, tokens // 8))
        reading = (np.arange(spans.shape[1]) % 2 == 0) & np.ones(trajectories, bool)[:, None]
        acted = real & ~np.stack([np.repeat(r, s)[:tokens] for r, s in zip(reading, spans, strict=True)])
    last = tokens - 1 - acted[:, ::-1].argmax(1)
    rewards = np.zeros((trajectories, tokens), np.float32)
    rewards[np.arange(trajectories), last] = rng.integers(0, 2, trajectories)
    return rewards, (rng.standard_normal((trajectories, tokens)) * real).astype(np.float32), acted


def turn_of(compare: Advantages, timed: Advantages) -> Callable[[], dict[str, Any]]:
    """A turn times every size; the first also says some of what `compare` finds, at one lambda and whitened."""
    batches = {(size, mask): batch(size, mask) for size in SIZES for mask in MASKS}
    state = {"first": True}

    def turn() -> dict[str, Any]:
        answer: dict[str, Any] = {"seconds": {}}
        for (size, mask), given in batches.items():
            name = f"{size}, {mask}"
            if state["first"]:
                advantages, targets = compare(*given)
                sampled = np.flatnonzero(given[2])[:: max(1, given[2].sum() // AT)]
                answer.setdefault("checks", {})[name] = {
                    "advantages": advantages.ravel()[sampled].tolist(),
                    "targets": targets.ravel()[sampled].tolist(),
                }
                timed(*given)
            times = []
            for _ in range(SIZES[size]):
                began = time.perf_counter()
                timed(*given)
                times.append(time.perf_counter() - began)
            answer["seconds"][name] = statistics.median(times)
        state["first"] = False
        return answer

    return turn
