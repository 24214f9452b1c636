"""How many sessions there may be, and how long they live."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError


@dataclasses.dataclass(frozen=True)
class SessionsConfig:
    """Raises InputError for an impossible value."""

    max_sessions: int = 64
    per_owner: int = 64  # sessions of one owner, unless the owner has a quota of its own
    lease_s: float = 120.0  # a session that nobody calls or renews for so long may be collected
    max_lease_s: float = 86_400.0
    collect_s: float = 0.5  # between two looks of the garbage collector
    download_mb: int = 64  # of what one session has downloaded; 0: nothing is kept

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            least = -1 if field.name == "download_mb" else 0
            if (value := getattr(self, field.name)) <= least:
                raise InputError(f"sessions.{field.name} must be a value above {least}; got {value!r}")
        if self.lease_s > self.max_lease_s:
            raise InputError(f"sessions.lease_s must be at most max_lease_s, {self.max_lease_s}; got {self.lease_s!r}")
