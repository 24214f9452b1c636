"""Config of sessions: how many there may be, and how long a lease lasts."""

from __future__ import annotations

import dataclasses

from tars_jax import InputError
from tars_jax.rules import at_least, check_fields, field, more_than


@dataclasses.dataclass(frozen=True)
class SessionsConfig:
    """Limits of sessions: number, lease and downloads.

    Raises InputError for an impossible value.
    """

    max_sessions: int = field(64, "most sessions of all owners together", at_least(1))
    per_owner: int = field(64, "most sessions of one owner, unless owners_file sets another number", at_least(1))
    lease_seconds: float = field(
        120.0, "seconds without a call or renewal after which a session is closed", more_than(0)
    )
    max_lease_seconds: float = field(86_400.0, "longest lease that a session may ask for, in seconds", more_than(0))
    download_megabytes: int = field(
        64, "downloads of a session's page that are kept, in megabytes; 0: none", at_least(0)
    )
    collect_seconds: float = 0.5  # between two looks for sessions whose lease is over

    def __post_init__(self) -> None:
        check_fields(self, "sessions")
        if self.lease_seconds > self.max_lease_seconds:
            raise InputError(
                "sessions.lease_seconds must be at most sessions.max_lease_seconds, "
                f"{self.max_lease_seconds:g}; got {self.lease_seconds:g}"
            )

    def require_lease(self, seconds: float | None) -> float:
        """Length of a lease that is asked for, None for the usual one. Raises InputError for one that there is not."""
        seconds = self.lease_seconds if seconds is None else seconds
        if not 0 < seconds <= self.max_lease_seconds:
            raise InputError(f"lease_seconds must be more than 0, at most {self.max_lease_seconds:g}; got {seconds!r}")
        return seconds
