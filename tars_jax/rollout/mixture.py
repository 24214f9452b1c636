"""Batches that hold several environments by weights.

Axes: K parts.
"""

from __future__ import annotations

from collections.abc import Sequence


def shares(total: int, weights: Sequence[float]) -> tuple[int, ...]:
    """`total` split by weights [K], each more than 0: whole numbers that sum to it, by the largest remainder.

    Of equal remainders the earlier part's counts first.
    """
    exact = [total * weight / sum(weights) for weight in weights]
    found = [int(each) for each in exact]
    by_remainder = sorted(range(len(weights)), key=lambda part: found[part] - exact[part])
    for part in by_remainder[: total - sum(found)]:
        found[part] += 1
    return tuple(found)
