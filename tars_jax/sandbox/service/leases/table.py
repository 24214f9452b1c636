"""The machine of leases, without clock, disk or network: what each operation makes of those that there are.

Each operation takes the time `now` in seconds, which never goes back. What it changed stands in `changed` until it is
taken, for whoever writes it down.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterable

from tars_jax.sandbox.service.leases.lease import Lease, LeaseEnded, LeaseHeld

KEPT_S = 120.0  # that an ended lease is remembered, for those who ask again for what they have been given
EXPIRED, RELEASED = "its time is over", "it was released"


@dataclasses.dataclass
class Record:
    """A lease that is, or the last one of its id."""

    id: str
    holder: str
    place: str
    fence: int
    seconds: float
    until: float  # it ends, or, where `ended` says why, it ended
    once: str  # the claim's own word; the same claim again gets the same lease
    data: str
    ended: str = ""

    def lease(self, now: float) -> Lease:
        return Lease(self.id, self.holder, self.place, self.fence, self.seconds, self.until - now, self.data)


class LeaseTable:
    """All leases of a manager, in memory."""

    def __init__(self, records: Iterable[Record] = (), fence: int = 0) -> None:
        """`fence`: the greatest that was ever given."""
        self._records = {record.id: record for record in records}
        self.fence = max([fence, *(record.fence for record in self._records.values())])
        self.changed: dict[str, Record | None] = {}  # None: forgotten
        self._due: list[tuple[float, str]] = []  # when to look at which
        self._planned: dict[str, float] = {}  # of the entries of an id, the one that counts
        self._groups: dict[str, set[str]] = {}  # ids by what stands before their first dot
        for record in self._records.values():
            self._plan(record)
            self._groups.setdefault(record.id.partition(".")[0], set()).add(record.id)

    def __len__(self) -> int:
        """The leases that have not ended."""
        return sum(not record.ended for record in self._records.values())

    def claim(
        self, now: float, id: str, holder: str, seconds: float, place: str = "", once: str = "", data: str = ""
    ) -> Lease:
        """Raises LeaseHeld; LeaseEnded where the claim `once` was granted before, and that lease is over."""
        record = self._settled(now, id)
        if record is not None:
            same = bool(once) and (record.once, record.holder) == (once, holder)
            if not record.ended:
                if same:
                    return record.lease(now)
                raise LeaseHeld(id, record.until - now)
            if same:
                raise LeaseEnded(id, record.ended)
        self.fence += 1
        record = Record(id, holder, place, self.fence, seconds, now + seconds, once, data)
        self._records[id] = self.changed[id] = record
        self._groups.setdefault(id.partition(".")[0], set()).add(id)
        self._plan(record)
        return record.lease(now)

    def renew(self, now: float, id: str, fence: int, seconds: float | None = None, data: str | None = None) -> Lease:
        """Makes it last `seconds` from now, never less than it had. Raises LeaseEnded."""
        record = self._held(now, id, fence)
        record.seconds = record.seconds if seconds is None else seconds
        record.until = max(record.until, now + record.seconds)
        record.data = record.data if data is None else data
        self.changed[id] = record
        return record.lease(now)

    def release(self, now: float, id: str, fence: int) -> bool:
        """Whether it was held until now. In any case nobody holds it with this fence after that."""
        record = self._settled(now, id)
        if record is None or record.ended or record.fence != fence:
            return False
        self._end(record, now, RELEASED)
        return True

    def look_up(self, now: float, id: str) -> Lease:
        """Raises LeaseEnded."""
        record = self._settled(now, id)
        if record is None or record.ended:
            raise LeaseEnded(id, "nobody has claimed it" if record is None else record.ended)
        return record.lease(now)

    def list(self, now: float, prefix: str = "") -> list[Lease]:
        """Those that are held, whose ids begin so, ordered by id."""
        group, dot, _ = prefix.partition(".")
        found = [id for id in (self._groups.get(group, ()) if dot else self._records) if id.startswith(prefix)]
        settled = (self._settled(now, id) for id in sorted(found))
        return [record.lease(now) for record in settled if record is not None and not record.ended]

    def sweep(self, now: float) -> float | None:
        """Ends what is over and forgets what ended long ago; when to come again, None for no matter when."""
        while self._due and self._due[0][0] <= now:
            planned, id = heapq.heappop(self._due)
            if self._planned.get(id) != planned:
                continue
            del self._planned[id]
            record = self._records[id]
            if record.ended and record.until + KEPT_S <= now:
                del self._records[id]
                self._forget_group(id)
                self.changed[id] = None
            elif record.ended or record.until > now:  # renewed since
                self._plan(record)
            else:
                self._end(record, record.until, EXPIRED)
        return self._due[0][0] if self._due else None

    def _held(self, now: float, id: str, fence: int) -> Record:
        record = self._settled(now, id)
        if record is None:
            raise LeaseEnded(id, "nobody has claimed it")
        if record.fence != fence:
            raise LeaseEnded(id, f"its fence is {record.fence}, not {fence}")
        if record.ended:
            raise LeaseEnded(id, record.ended)
        return record

    def _settled(self, now: float, id: str) -> Record | None:
        """The record. That its time is over is a change, too: once told to anybody, no restart may take it back."""
        record = self._records.get(id)
        if record is not None and not record.ended and record.until <= now:
            self._end(record, record.until, EXPIRED)
        return record

    def _end(self, record: Record, when: float, why: str) -> None:
        record.ended, record.until = why, when
        self.changed[record.id] = record
        self._plan(record)

    def _forget_group(self, id: str) -> None:
        group = id.partition(".")[0]
        self._groups[group].discard(id)
        if not self._groups[group]:
            del self._groups[group]

    def _plan(self, record: Record) -> None:
        when = record.until + KEPT_S if record.ended else record.until
        self._planned[record.id] = when
        heapq.heappush(self._due, (when, record.id))
