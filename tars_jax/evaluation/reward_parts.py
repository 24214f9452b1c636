"""What each reward function of a sum said, where the judge `rewards` tells it: curves, and a score of its own each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tars_jax.evaluation.curves import REWARD_PARTS
from tars_jax.evaluation.scores import Score
from tars_jax.judges.rewards import VALUES
from tars_jax.trajectory import Trajectory


def reward_metrics(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """The mean of each function over the episodes that it told, before its weight: `rewards/NAME`."""
    return {f"{REWARD_PARTS}{name}": float(np.mean(values)) for name, values in _values(episodes).items()}


def reward_means(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> dict[str, Any]:
    """What a result.json says; nothing where no functions told."""
    sides = {"before": before, "after": after}
    means = {
        side: {name: float(np.mean(values)) for name, values in _values(found).items()} for side, found in sides.items()
    }
    return {"rewards": means} if any(means.values()) else {}


def reward_scores(before: Sequence[Trajectory], after: Sequence[Trajectory]) -> list[Score]:
    """A row each, where there are several functions, or one that success does not tell."""
    sides = _values(before), _values(after)
    return [Score.of_returns(name, sides[0][name], sides[1][name]) for name in sides[0] if name in sides[1]]


def _values(episodes: Sequence[Trajectory]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for episode in episodes:
        for name, value in episode.metadata.get(VALUES, {}).items():
            found.setdefault(name, []).append(value)
    return found
