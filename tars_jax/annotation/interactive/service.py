"""Sessions of several annotators over one policy: opened by lease, kept by journal, resumed by replay, then stored.

FOLDER/episodes/ID/journal.jsonl, screens/   FOLDER/trajectories/ID.trajectory   FOLDER/preferences.jsonl
FOLDER/audit/journal.jsonl                   FOLDER/keys/NAME.key
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.annotation.interactive.core import Conflict, Ending
from tars_jax.annotation.interactive.journal import EpisodeJournal
from tars_jax.annotation.interactive.journal_entries import EpisodeWriter
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.people import Person
from tars_jax.annotation.interactive.playing import Setting
from tars_jax.annotation.interactive.replaying import NotTheSame
from tars_jax.annotation.interactive.storage import EPISODES, AnnotationStorage
from tars_jax.annotation.interactive.tasks import Row, TaskBoard
from tars_jax.environment import Task
from tars_jax.envs.checked import CheckedEnvironment

log = logging.getLogger(__name__)
MOST_OVER = 64
SWEEP_SECONDS = 1.0  # between two looks at leases and at the policy's checkpoint


class NoSession(InputError):
    """No session has that name."""


class AnnotationService:
    """The service behind the page. Everything happens on one event loop."""

    def __init__(
        self,
        folder: Path,
        setting: Setting,
        make: Callable[[Task], CheckedEnvironment],
        board: TaskBoard,
        *,
        minutes: float = 0.0,
        refresh: Callable[[], Awaitable[None]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`minutes`: of each person's budget; 0: none. `refresh`: takes a newer checkpoint, if there is one."""
        self.setting, self.board, self.storage = setting, board, AnnotationStorage(folder)
        self._make, self._minutes, self._refresh, self._clock = make, minutes, refresh, clock
        self._audit = EpisodeJournal(folder / "audit")
        self.live: dict[str, LiveEpisode] = {}
        self.notes: dict[str, str] = {}  # of sessions: what happened before they began
        self._spent: dict[str, Mapping[str, float]] = {}  # by session that is over or put aside: seconds of people
        self._over: list[str] = []  # sessions that tabs may still show
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Reads what earlier services have left: unfinished sessions go on when their task is opened."""
        for id, kept in self.storage.episodes().items():
            row = self.board.rows.get(kept.record.task.id)
            self._spent[id] = kept.spent
            if kept.ended is not None or kept.lost is not None:
                if row is not None:
                    row.done += 1
                await self.storage.make_whole(id, kept, self.setting)
            elif row is not None:
                row.session, row.owner = id, kept.holder
                if not kept.left:  # a crash is no reason to lose one's session to who comes first
                    self.board.lease(row.task.id, kept.holder, self._clock())
        if damaged := self.storage.damaged:
            log.warning("annotation: %d episodes are lost, as their journals cannot be read", len(damaged))
        self._sweeping = asyncio.create_task(self._sweep())

    async def close(self) -> None:
        """Puts all sessions aside."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            await asyncio.wait({self._sweeping})
        for id in list(self.live):
            await self._put_aside(id, "the service ended")
        if self._watching:
            await asyncio.wait(self._watching.values())
        self._audit.close()

    def audit(self, person: Person, what: str, **fields: Any) -> None:
        self._audit.append(what, time=round(time.time(), 3), name=person.name, role=person.role, **fields)

    def audited(self) -> list[dict[str, Any]]:
        return self._audit.events()

    # ---- sessions

    async def open(self, person: Person, task: str | None) -> tuple[str, LiveEpisode]:
        """The session of a task, or of the next one. Raises Conflict where it is not to be had, EnvironmentFailure."""
        now = self._clock()
        row = self.board.next_for(person.name, now) if task is None else self.board.lease(task, person.name, now)
        row.opening += 1
        try:
            async with row.one_opens:  # of one task alone: a computer may take long to start
                self.board.lease(row.task.id, person.name, self._clock())  # whoever came first may have let it go
                try:
                    id, live = await self._opened(row, person)
                except BaseException:
                    self.board.release(row)
                    raise
                row.session, row.owner = id, person.name
                self.board.renew(row, self._clock())
        finally:
            row.opening -= 1
        self.audit(person, "opened", session=id, task=row.task.id)
        return id, live

    async def _opened(self, row: Row, person: Person) -> tuple[str, LiveEpisode]:
        if row.session is not None and row.session in self.live:
            live = self.live[row.session]
            live.annotator, live.minutes_left = person.name, self._left(person.name)
            return row.session, live
        make = self._maker(row.task)
        note = ""
        if row.session is not None:
            resumed = await self._resumed(row.session, person, make)
            if isinstance(resumed, LiveEpisode):
                return row.session, self._watch(row.session, resumed, row)
            note, row.session = resumed, None
        id = f"{re.sub('[^A-Za-z0-9_.-]', '_', row.task.id)[:80]}-{secrets.token_hex(4)}"
        writer = EpisodeWriter(id, self.storage.journal(id))
        try:
            live = await LiveEpisode.begin(self.setting, make, row.task, writer, person.name, self._left(person.name))
        except BaseException:
            writer.close()
            self.storage.forget(id)
            raise
        if note:
            self.notes[id] = note
        return id, self._watch(id, live, row)

    async def _resumed(self, id: str, person: Person, make: Callable[[], CheckedEnvironment]) -> LiveEpisode | str:
        """The session where it stood; else why it cannot go on. What is left of it is kept."""
        try:
            kept = self.storage.episode(id)
        except Exception as error:  # a journal or a screen that a disk or a hand has damaged
            self.storage.lose(id, str(error))
            return f"the earlier session could not be resumed: {error}; its files are kept"
        writer = EpisodeWriter(id, self.storage.journal(id))
        try:
            return await LiveEpisode.resume(
                self.setting, make, kept.record, writer, person.name, self._left(person.name), kept.taken_back
            )
        except (NotTheSame, InputError) as error:
            writer.lost(str(error))
            writer.close()
            await self.storage.make_whole(id, dataclasses.replace(kept, lost=str(error)), self.setting)
            return f"the earlier session could not be resumed: {error}; its {len(kept.record.steps)} steps are kept"
        except BaseException:
            writer.close()
            raise

    def session(self, id: str, person: Person, *, acts: bool = True) -> LiveEpisode:
        """An open session of the person's; reviewers may look at others'. Raises NoSession, Conflict."""
        live, row = self.live.get(id), self.board.of_session(id)
        if live is None:
            if row is not None or (self.storage.folder / EPISODES / id).is_dir():
                raise Conflict(f"session {id} has been put aside or is over; open its task again to go on")
            raise NoSession(f"session must be an open one; got {id[:80]!r}")
        holder = live.annotator if row is None else row.leased(self._clock())
        if holder != person.name and (acts or not person.may("reviewer")):
            raise Conflict(f"session {id} is {holder}'s" if holder else f"the lease of session {id} has run out")
        if holder == person.name and row is not None:
            self.board.renew(row, self._clock())
        return live

    async def release(self, id: str, person: Person) -> None:
        self.session(id, person)
        self.audit(person, "released", session=id)
        await self._put_aside(id, f"released by {person.name}", by_person=True)

    @contextlib.contextmanager
    def watched(self, id: str) -> Any:
        """While a tab shows the session."""
        row = self.board.of_session(id)
        if row is not None:
            row.streams += 1
        try:
            yield
        finally:
            if row is not None:
                row.streams = max(0, row.streams - 1)

    def review(self, id: str, person: Person, agree: bool, note: str) -> None:
        """Records a review; another one of the same person replaces the first. Raises Conflict for an episode that is
        still open, and for one's own."""
        if id in self.live and self.live[id].is_open:
            raise Conflict(f"an episode can be reviewed once it is over; {id} is open")
        if person.name in self.storage.episode(id).annotators:
            raise Conflict(f"an episode must be reviewed by somebody who did not decide in it; {person.name} did")
        note = self.live[id].cleaned(note) if id in self.live else note
        journal = self.storage.journal(id)
        try:
            journal.append("reviewed", time=round(time.time(), 3), name=person.name, agree=agree, note=note)
        finally:
            journal.close()
        self.audit(person, "reviewed", session=id, agree=agree)

    def minutes_left(self, name: str) -> float | None:
        return self._left(name)()

    # ---- what goes on beside

    def _maker(self, task: Task) -> Callable[[], CheckedEnvironment]:
        return lambda: self._make(task)

    def _watch(self, id: str, live: LiveEpisode, row: Row) -> LiveEpisode:
        self.live[id] = live
        self._watching[id] = asyncio.create_task(self._kept_when_over(id, live, row))
        return live

    async def _kept_when_over(self, id: str, live: LiveEpisode, row: Row) -> None:
        while live.is_open and self.live.get(id) is live:
            await live.changed(live.version, 60.0)
        if not live.is_open:
            self._spent[id] = live.state.spent
            corrected = any(done.decision.by_person and not done.decision.accepted for done in live.record.steps)
            ending: Ending | None = live.state.ended
            self.board.ended(row, failed=corrected or ending is None or ending.success is False)
            try:
                await self.storage.store(id, live)
            except Exception as error:  # the queue goes on; the journal has all of it, and the next start tries again
                log.error("annotation: episode %s is in its journal, but not stored: %s", id, error)
                if not isinstance(error, OSError):
                    self.storage.lose(id, f"no trajectory can be made of it: {error}")
            self._over = [*self._over, id]
            for old in self._over[:-MOST_OVER]:
                self.live.pop(old, None)
            self._over = self._over[-MOST_OVER:]
        await live.close()
        self._watching.pop(id, None)

    async def _put_aside(self, id: str, why: str, *, by_person: bool = False) -> None:
        live, row = self.live.pop(id, None), self.board.of_session(id)
        if row is not None:
            self.board.release(row)
        if live is None:
            return
        self._spent[id] = live.state.spent
        watching = self._watching.get(id)
        if live.is_open:
            with contextlib.suppress(OSError):
                live.keep.append("released", why=why, by_person=by_person)
            await live.close()
        live.tell()
        if watching is not None:
            await asyncio.wait({watching})

    async def _sweep(self) -> None:
        """Sessions whose lease ran out are kept; a newer checkpoint is taken."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = self._clock()
            for id in list(self.live):
                row = self.board.of_session(id)
                if row is not None and row.leased(now) is None:
                    await self._put_aside(id, "the lease ran out")
            if self._refresh is not None:
                try:
                    await self._refresh()
                except Exception:
                    log.exception("annotation: a newer checkpoint could not be taken")

    def _left(self, name: str) -> Callable[[], float | None]:
        def left() -> float | None:
            if not self._minutes:
                return None
            by_session = self._spent | {id: live.state.spent for id, live in self.live.items()}
            return max(0.0, self._minutes - sum(spent.get(name, 0.0) for spent in by_session.values()) / 60)

        return left


def failures_in(trajectories: Sequence[Any]) -> Mapping[str, float]:
    """The number of failures of the policy in a run's episodes, by task."""
    counts: dict[str, float] = {}
    for trajectory in trajectories:
        if not trajectory.succeeded:
            id = str(trajectory.task["id"])
            counts[id] = counts.get(id, 0.0) + 1
    return counts
