"""Counts of sandbox failures and restarts, over all processes of a run: each stage records what was added in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

NOW = ("browsers", "pages_open", "hosts")  # not counts of what happened, but how many there are


def counts_since(counts: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Differences of counts, which may lie in groups, to earlier ones."""
    return {
        name: counts_since(value, before.get(name, {}))
        if isinstance(value, Mapping)
        else value - (0 if name in NOW else before.get(name, 0))
        for name, value in counts.items()
    }


def sum_counts(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sum of counts; of how many there are, the last that was counted."""
    total: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            if isinstance(value, Mapping):
                total[name] = sum_counts([total.get(name, {}), value])
            else:
                total[name] = value if name in NOW else total.get(name, 0) + value
    return total
