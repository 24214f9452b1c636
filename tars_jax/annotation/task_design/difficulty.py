"""The rubric of difficulty: step count, cross-page operations, prerequisites, exceptions (section 2.4.1).

Each criterion gives 0 to 3 points; their sum says the level.

| points | steps | pages crossed | prerequisites | exceptions |
|---|---|---|---|---|
| 0 | up to 3 | none | none | none |
| 1 | up to 7 | 1 | 1 | 1 |
| 2 | up to 15 | up to 3 | up to 3 | 2 |
| 3 | more | more | more | more |
"""

from __future__ import annotations

import dataclasses
from typing import Any

LEVELS = ("easy", "medium", "hard")
_MOST = {"steps": (3, 7, 15), "pages_crossed": (0, 1, 3), "prerequisites": (0, 1, 3), "exceptions": (0, 1, 2)}
_MEDIUM, _HARD = 3, 7  # points from which on a task is so


@dataclasses.dataclass(frozen=True)
class Difficulty:
    """Counts of a task's difficulty by the criteria."""

    steps: int
    pages_crossed: int
    prerequisites: int
    exceptions: int

    @property
    def points(self) -> dict[str, int]:
        return {name: sum(getattr(self, name) > most for most in limits) for name, limits in _MOST.items()}

    @property
    def total(self) -> int:
        return sum(self.points.values())

    @property
    def level(self) -> str:
        return LEVELS[(self.total >= _MEDIUM) + (self.total >= _HARD)]

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "points": self.points, "total": self.total, "level": self.level}
