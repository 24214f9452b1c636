"""A lease that runs out unless somebody uses what is leased, and a person who may take it over."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import Iterator
from typing import Any

from tars_jax.sandbox.sessions.event_log import EventLog

PERSON_S = 60.0  # a person who does nothing for so long gives the session back


@dataclasses.dataclass(frozen=True)
class KeyedRequest:
    """A request for a lease under an idempotency key: whoever sends it again gets the same session."""

    idempotency_key: str
    sha256: str  # of its body


@dataclasses.dataclass(frozen=True)
class Lease:
    """The lease of a session: its owner, and for how long unless a call or a renewal comes."""

    owner: str
    seconds: float
    token_sha256: str
    request: KeyedRequest | None = None  # that it was opened by
    token: str = dataclasses.field(default="", repr=False)  # kept where the request may come again, to answer that

    @classmethod
    def from_json(cls, value: Any) -> Lease:
        """The inverse of dataclasses.asdict. Raises KeyError, TypeError, ValueError for what is none."""
        asked = value.get("request")
        request = None if asked is None else KeyedRequest(str(asked["idempotency_key"]), str(asked["sha256"]))
        seconds, token = float(value["seconds"]), str(value.get("token", ""))
        return cls(str(value["owner"]), seconds, str(value["token_sha256"]), request, token)


class LeasedSession:
    """A session of any kind: named, leased, watched, and taken over by a person at times."""

    kind = ""  # of sessions of this class

    def __init__(self, id: str, lease: Lease) -> None:
        self.id, self.lease = id, lease
        self.events = EventLog()
        self.created = time.time()
        self.under_way = 0  # calls, those that wait included
        self.takeovers = 0  # how often a person has taken it over
        self._lease_ends = self._person_ends = 0.0  # on the monotonic clock, which nobody sets
        self._given_back = asyncio.Event()
        self._given_back.set()
        self.renew()

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """The lease does not end within, and begins again behind it."""
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            self.renew()

    def renew(self, seconds: float | None = None) -> None:
        """The lease begins again, with another length where one is given."""
        if seconds is not None:
            self.lease = dataclasses.replace(self.lease, seconds=seconds)
        self._lease_ends = time.monotonic() + self.lease.seconds

    def hand_over(self, lease: Lease) -> None:
        """Hands the session to another owner."""
        self.lease = lease
        self.renew()

    @property
    def seconds_left(self) -> float:
        """Seconds until the lease is over; below 0 behind its end."""
        return self._lease_ends - time.monotonic()

    @property
    def until(self) -> float:
        """The time at which the lease is over by the clock as it is now, Unix seconds."""
        return time.time() + self.seconds_left

    async def look(self) -> None:
        """Finds out what `has_expired` and `to_json` tell of the inside."""

    def has_expired(self) -> bool:
        """Whether the lease is over, no call is under way and no person at work."""
        return not self.under_way and not self.held_by_person and self.seconds_left < 0

    @property
    def held_by_person(self) -> bool:
        return not self._given_back.is_set()

    def hold(self) -> None:
        """A person takes the session over: other calls wait until it is given back, or a minute long left alone."""
        self._person_ends = time.monotonic() + PERSON_S
        if self._given_back.is_set():
            self._given_back.clear()
            self.takeovers += 1
            self.events.append("person", {"holds": True})

    async def given_back(self) -> None:
        """Returns when no person holds the session."""
        await self._given_back.wait()

    def give_back(self) -> None:
        if not self._given_back.is_set():
            self._given_back.set()
            self.renew()
            self.events.append("person", {"holds": False})

    def release_absent_person(self) -> None:
        if time.monotonic() > self._person_ends:
            self.give_back()

    def lease_to_json(self) -> dict[str, Any]:
        """State of a session of any kind, as JSON."""
        return {
            "id": self.id, "kind": self.kind, "owner": self.lease.owner, "created": self.created, "until": self.until,
            "lease_seconds": self.lease.seconds, "seconds_left": self.seconds_left, "under_way": self.under_way,
            "person": self.held_by_person, "event": self.events.last,
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """State for lists: `lease_to_json` and what the kind adds, "calls" and "live" among it."""
        raise NotImplementedError


def brief(value: Any, most: int = 2000) -> Any:
    """A plain value for a list: a long one as the beginning of its JSON."""
    text = json.dumps(value)
    return value if len(text) <= most else f"{text[:most]}..."
