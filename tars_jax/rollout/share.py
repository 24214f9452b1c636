"""Which of a run's episodes a process plays, where several processes play them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Share:
    """Every `of`-th task, or group of episodes of one task, beginning with `number`."""

    number: int = 0
    of: int = 1

    def has(self, task: int) -> bool:
        return task % self.of == self.number


WHOLE = Share()
