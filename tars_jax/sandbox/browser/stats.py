"""What a manager of browsers has done so far."""

from __future__ import annotations

import collections
import dataclasses


@dataclasses.dataclass
class ManagerStats:
    """Counts since the manager started."""

    driver_starts: int = 0
    launches: int = 0  # of browsers
    browsers: int = 0  # running now
    retired: int = 0  # browsers ended because they were idle or had grown too large
    pages_opened: int = 0
    pages_open: int = 0
    failures: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)  # pages lost, by kind
    given_up: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)  # screenshot paths

    def to_json(self) -> dict[str, int | dict[str, int]]:
        """Plain numbers and dictionaries; `dataclasses.asdict` makes Counters of pairs out of Counters."""
        return {name: dict(value) if isinstance(value, dict) else value for name, value in vars(self).items()}
