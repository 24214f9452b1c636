"""Expiry of leases, of computers and of pages: a session whose lease is over, and that nobody uses, is ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tars_jax.sandbox.concurrency import for_each, run_every
from tars_jax.sandbox.sessions.leased_session import LeasedSession


async def expire_leases(
    every_s: float, sessions: Callable[[], Sequence[LeasedSession]], end: Callable[[LeasedSession], Awaitable[None]]
) -> None:
    """Looks again and again, until it is cancelled. What one session raises is logged, and the others are served."""

    async def look_at(session: LeasedSession) -> None:
        session.release_absent_person()
        if session.seconds_left < 0 and not session.under_way:
            await session.look()  # programs in the background may hold it
            if session.has_expired():
                await end(session)

    async def look() -> None:
        await for_each(sessions(), look_at, lambda session: f"{session.kind} {session.id} is to be ended")

    await run_every(every_s, look, "the end of leases")
