"""Openings of sessions under an idempotency key: a request that comes again gets the session that the first one got."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any

from tars_jax.sandbox.service.kinds import Opening
from tars_jax.sandbox.sessions.leased_session import KeyedRequest, LeasedSession
from tars_jax.sandbox.sessions.registry import AllSessions, digest
from tars_jax.web.protocol import RequestError

FEW = 64  # openings that are over and not yet forgotten
COMES_BACK_S = 5.0  # a client that was told to come again does so at once


@dataclasses.dataclass
class _Pending:
    """An opening that several requests may wait for, one after another; without any for a while it is given up."""

    task: asyncio.Future[tuple[LeasedSession, str]]
    asked: KeyedRequest
    waiting: int = 0

    async def wait(self) -> tuple[LeasedSession, str]:
        self.waiting += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self.waiting -= 1
            asyncio.get_running_loop().call_later(COMES_BACK_S, self._give_up)

    def _give_up(self) -> None:
        if not self.waiting:
            self.task.cancel()  # nothing happens to one that is done

    def is_over(self, sessions: AllSessions) -> bool:
        """Whether it failed, or its session has ended."""
        if not self.task.done():
            return False
        return self.task.cancelled() or bool(self.task.exception()) or self.task.result()[0].id not in sessions


class Openings:
    """Openings of all owners, each for as long as its session lives. Sessions of the process before bring theirs."""

    def __init__(self, sessions: AllSessions) -> None:
        self._sessions = sessions
        self._pending: dict[tuple[str, str], _Pending] = {}  # by owner and key; also some that are over
        self._forget_at = FEW

    async def open(self, owner: str, key: str, asked: Any, opening: Opening) -> tuple[LeasedSession, str]:
        """The session of this key: of an opening that has begun, as long as it lives, otherwise of a new one.

        Raises RequestError where the key was that of another request; what the opening raises.
        """
        if len(self._pending) >= self._forget_at:
            self._pending = {each: found for each, found in self._pending.items() if not found.is_over(self._sessions)}
            self._forget_at = FEW + 2 * len(self._pending)
        request = KeyedRequest(key, digest(json.dumps(asked, sort_keys=True)))
        if (found := self._find(owner, key)) is None:
            found = self._pending[owner, key] = _Pending(asyncio.ensure_future(opening(request)), request)
        if found.asked != request:
            raise RequestError(
                "idempotency_key must be one of this request alone; got that of another", "idempotency_key"
            )
        return await found.wait()

    def has(self, owner: str, key: str) -> bool:
        """Whether there is a session of this key, or it is being opened."""
        return self._find(owner, key) is not None

    def _find(self, owner: str, key: str) -> _Pending | None:
        found = self._pending.get((owner, key))
        if found is not None and not found.is_over(self._sessions):
            return found
        for session in self._sessions.all_of(owner):
            if (request := session.lease.request) is not None and request.idempotency_key == key:
                opened = asyncio.get_running_loop().create_future()
                opened.set_result((session, session.lease.token))
                return _Pending(opened, request)
        return None

    def keys(self, owner: str) -> dict[str, str]:
        """The owner's keys, and the id of each one's session; "": it is being opened."""
        return {
            key: pending.task.result()[0].id if pending.task.done() else ""
            for (each, key), pending in self._pending.items()
            if each == owner and not pending.is_over(self._sessions)
        }
