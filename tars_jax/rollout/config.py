"""Configs of rollouts: the pool and this process's share of it, prompts on the device, the fleet. Made without jax."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError
from tars_jax.rules import REQUIRED, at_least, check_fields, field, one_of


@dataclasses.dataclass(frozen=True)
class Share:
    """One process's share of the tasks: every `of`-th task, or group of episodes of one task, from `number` on."""

    number: int = 0
    of: int = 1

    def has(self, task: int) -> bool:
        return task % self.of == self.number


WHOLE = Share()
FEWEST = 8  # episodes of a batch, however long they are


def check_groups(group_size: int, episodes: int, of: str, compared_by: str = "", section: str = "ppo") -> None:
    """Raises InputError unless the episodes of an update, which the field `of` gives, are whole groups.

    `compared_by`: the field or the value that has a group's episodes compared with each other, if one does.
    """
    if episodes % group_size:
        raise InputError(f"{section}.group_size must be a divisor of {of}, {episodes}; got {group_size}")
    if group_size == 1 and compared_by:
        words = f"must be at least 2 with {compared_by}, as an episode alone is never compared"
        raise InputError(f"{section}.group_size {words}; got 1")


@dataclasses.dataclass(frozen=True)
class PoolConfig:
    """The rollout pool: which episodes make up a batch, and how old they may be.

    Raises InputError for numbers that do not go together.
    """

    min_batch: int = field(REQUIRED, "episodes of a batch; with several processes, of this process alone", at_least(1))
    # When an episode is learned from it is as old at most, if `in_order` and no `batch_steps`.
    max_staleness: int = field(
        REQUIRED,
        "most updates by which the policy of an episode may lag when the episode starts (staleness)",
        at_least(0),
    )
    group_size: int = field(1, "episodes of one task (the group size of GRPO)", at_least(1))
    dynamic_sampling: bool = field(
        False, "whether groups whose episodes all have the same reward are left out of batches (DAPO)"
    )
    updates: int | None = None  # how many batches will be taken in all; None: no end is known
    share: Share = WHOLE  # which groups are this process's, where several fill one folder
    in_order: bool = field(
        False, "whether a batch takes the episodes that began first, rather than those that ended first"
    )
    batch_steps: int = field(
        0,
        "most steps of a batch: it takes fewer episodes where they are longer; 0: always min_batch episodes",
        at_least(0),
    )
    group_start: str = field(
        "reset",
        "how the episodes of a group begin: reset, each by itself; or fork, from copies of one session, "
        "where the environment can",
        one_of("reset", "fork"),
    )

    def __post_init__(self) -> None:
        check_fields(self, "pool")
        compared_by = "pool.dynamic_sampling" if self.dynamic_sampling else ""
        check_groups(self.group_size, self.min_batch, "pool.min_batch", compared_by, "pool")

    @property
    def groups(self) -> int:
        """Number of groups of a batch."""
        return self.min_batch // self.group_size

    def groups_for(self, steps: float) -> int:
        """Number of groups of a batch whose episodes have `steps` steps on average: at least `FEWEST` episodes."""
        if not self.batch_steps:
            return self.groups
        episodes = max(self.batch_steps / steps / self.share.of, FEWEST / self.share.of)
        return max(1, min(self.groups, round(episodes / self.group_size)))

    def of_part(self, groups: int, share: Share) -> PoolConfig:
        """Config of the pool of one part of a mixture, with `groups` groups of a batch."""
        return dataclasses.replace(self, min_batch=groups * self.group_size, share=share)

    def group(self, index: int) -> int:
        return index // self.group_size

    def is_ours(self, index: int) -> bool:
        return self.share.has(self.group(index))

    def after(self, index: int) -> int:
        """The next number that is this process's."""
        group = self.group(index + 1)
        return index + 1 if self.share.has(group) else index + 1 + (self.share.of - 1) * self.group_size


@dataclasses.dataclass(frozen=True)
class ContextConfig:
    """A prompt's context on the device: the steps that stand in it. Raises InputError for sizes that cannot be."""

    window: int = field(1, "observations in a prompt, with the answers between them", at_least(1))
    summaries: int = field(0, "summaries, in a prompt, of steps that left the window; 0: no memory", at_least(0))
    summary_tokens: int = field(8, "most tokens of a summary", at_least(1))
    tokens: int = field(0, "tokens of a padded prompt; 0: as many as the longest prompt has", at_least(0))

    def __post_init__(self) -> None:
        check_fields(self, "context")


@dataclasses.dataclass(frozen=True)
class FleetConfig:
    """Rollout workers on hosts of a Ray cluster: each host is an actor, with browsers where environments need them."""

    hosts: int = field(2, "hosts that play episodes", at_least(1))
    pages: int = 4  # of each host: its runners, each with a page at most
    cpus: float = field(0.5, "CPUs that Ray reserves for each host and for the engine", at_least(0))
    patience: float = 600.0  # seconds that hosts may take to come up, and that one may stay away later
    address: str = field("", "address of the Ray cluster; empty: the one that is connected, else one on this machine")
