"""What keeps leases: SQLite for one manager, Valkey or Redis for several."""

from __future__ import annotations

from typing import Protocol, Self

from tars_jax.sandbox.service.leases.lease import Lease


class Leases(Protocol):
    """An async context manager. What a call has answered outlives a kill of this process.

    Its own clock counts; callers give lengths, never times. A call may be made again when its answer was lost.
    All raise InputError for values that cannot be, SandboxFailure("storage") where nothing can be kept.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: object) -> None: ...

    async def claim(
        self, id: str, holder: str, seconds: float, *, place: str = "", once: str = "", data: str = ""
    ) -> Lease:
        """Raises LeaseHeld while another has it. The same holder's claim with the same word `once` gets the same lease,
        or, for some minutes after that one's end, LeaseEnded.
        """
        ...

    async def renew(self, id: str, fence: int, seconds: float | None = None, data: str | None = None) -> Lease:
        """Makes it last `seconds` from now, never less than it had. Raises LeaseEnded."""
        ...

    async def release(self, id: str, fence: int) -> bool:
        """Whether it was held until now. In any case nobody holds it with this fence after that."""
        ...

    async def look_up(self, id: str) -> Lease:
        """Raises LeaseEnded."""
        ...

    async def list(self, prefix: str = "") -> list[Lease]:
        """Those that are held, whose ids begin so, ordered by id."""
        ...
