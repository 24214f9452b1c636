"""What a rollout pool is asked for, and the arithmetic of its numbers."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError
from tars_jax.rollout.share import WHOLE, Share


@dataclasses.dataclass(frozen=True)
class PoolConfig:
    """Raises InputError for numbers that do not go together."""

    min_batch: int  # episodes of an update; with several processes, this one's alone
    max_staleness: int  # updates that an episode may be behind when it starts; with `strict`, when it is learned from
    group_size: int = 1  # episodes of one task
    dynamic_sampling: bool = False
    updates: int | None = None  # how many batches will be taken in all; None: no end is known
    share: Share = WHOLE  # which groups are this process's, where several fill one folder
    strict: bool = False  # an update waits for episodes that the next one would find staler than `max_staleness`

    def __post_init__(self) -> None:
        if self.min_batch < 1:
            raise InputError(f"min_batch is {self.min_batch}, it takes at least 1.")
        if self.max_staleness < 0:
            raise InputError(f"max_staleness is {self.max_staleness}, it takes at least 0.")
        if self.group_size < 1 or self.min_batch % self.group_size:
            raise InputError(
                f"group_size is {self.group_size}, it takes a divisor of min_batch, which is {self.min_batch}."
            )
        if self.dynamic_sampling and self.group_size == 1:
            raise InputError("group_size is 1, dynamic_sampling takes at least 2: an episode alone is never compared.")

    @property
    def groups(self) -> int:
        """Of a batch."""
        return self.min_batch // self.group_size

    def group(self, index: int) -> int:
        return index // self.group_size

    def is_ours(self, index: int) -> bool:
        return self.share.has(self.group(index))

    def after(self, index: int) -> int:
        """The next number that is this process's."""
        group = self.group(index + 1)
        return index + 1 if self.share.has(group) else index + 1 + (self.share.of - 1) * self.group_size
