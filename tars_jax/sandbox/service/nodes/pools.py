"""Sandboxes of a node that are opened before anybody asks, some of each spec, within the node's places."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import logging
from collections.abc import Coroutine, Mapping
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.nodes.sandboxes import Opener, Sandbox, Spec

log = logging.getLogger(__name__)
CHECK_S = 5.0  # for a sandbox that was ready to answer once more before it is given
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0  # after an opening that failed


@dataclasses.dataclass(eq=False)
class _Ready:
    sandbox: Sandbox
    watch: asyncio.Task[None] | None = None


class Pools:
    """Use as an async context manager. A sandbox is given once, and never comes back: `end` closes it.

    A place is taken by each sandbox that is opening, ready, given or closing.
    """

    def __init__(self, opener: Opener, warm: Mapping[Spec, int], capacity: int) -> None:
        """`warm`: how many of each spec to keep ready."""
        if capacity < 1 or min(warm.values(), default=0) < 0:
            raise InputError(f"pools must have a place at least; got {capacity} places, {list(warm.values())} ready")
        self._opener, self._warm, self.capacity = opener, dict(warm), capacity
        self._ready: dict[Spec, collections.deque[_Ready]] = {spec: collections.deque() for spec in warm}
        self._opening: collections.Counter[Spec] = collections.Counter()  # to become ready
        self._waiting: collections.Counter[Spec | None] = collections.Counter()  # None: for places alone
        self._used = 0
        self._change = asyncio.Event()  # the next one; then another takes its place
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pause_s = 0.0
        self._filler: asyncio.Task[None] | None = None
        self.replaced = 0  # that died while they were ready

    @property
    def free(self) -> int:
        """Places that a claim of any spec can have: nobody's, and those of what is ready."""
        return max(0, self.capacity - self._used + sum(map(len, self._ready.values())))

    @property
    def used(self) -> int:
        """Places that are taken."""
        return self._used

    def ready(self) -> dict[Spec, int]:
        return {spec: len(kept) for spec, kept in self._ready.items() if kept}

    async def __aenter__(self) -> Self:
        self._filler = asyncio.create_task(self._fill())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes what is ready; what was given ends with the opener."""
        if self._filler is not None:
            self._filler.cancel()
            await asyncio.gather(self._filler, return_exceptions=True)
        await self.drain()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def drain(self) -> None:
        """Keeps nothing ready any more."""
        self._warm = {}
        for kept in self._ready.values():
            while kept:
                self._discard(kept.popleft())

    async def take(self, spec: Spec, deadline_s: float) -> Sandbox:
        """Takes a sandbox that answers: a ready one, or a new one when a place is free.

        Raises QuotaExceeded when there was no place within the deadline, SandboxFailure when none could be opened,
        InputError for a spec that cannot be.
        """
        until = asyncio.get_running_loop().time() + deadline_s
        self._waiting[spec] += 1
        try:
            while True:
                if kept := self._ready.get(spec):
                    one = kept.popleft()
                    if await self._answers(one):
                        return one.sandbox
                elif self._used < self.capacity and self._opening[spec] < self._waiting[spec]:
                    return await self._open_now(spec)
                else:
                    self._make_room(spec)
                    await self._wait_for_change(until)
        finally:
            self._stop_waiting(spec, 1)

    async def take_places(self, count: int, deadline_s: float) -> None:
        """Takes places for what others open on this machine; `end` gives each back. Raises QuotaExceeded at the
        deadline."""
        until = asyncio.get_running_loop().time() + deadline_s
        self._waiting[None] += count
        try:
            for _ in range(self._used + count - self.capacity):
                most = max(self._ready.values(), key=len, default=None)
                if most:
                    self._discard(most.pop())
            while self._used + count > self.capacity:
                await self._wait_for_change(until)
            self._used += count
        finally:
            self._stop_waiting(None, count)

    def give_places(self, count: int) -> None:
        """Gives back places that were taken, and nothing was opened in."""
        self._used -= count
        self._tell()

    def _stop_waiting(self, spec: Spec | None, count: int) -> None:
        self._waiting[spec] -= count
        if not self._waiting[spec]:
            del self._waiting[spec]  # of specs there is no end
        self._tell()

    async def end(self, sandbox: Sandbox) -> None:
        """Closes one that was given. Its place is free when it is gone."""
        try:
            await sandbox.close()
        except (SandboxFailure, OSError) as error:
            log.warning("a sandbox did not close: %s", error)
        finally:
            self._used -= 1
            self._tell()

    async def _answers(self, one: _Ready) -> bool:
        if one.watch is not None:
            one.watch.cancel()
        try:
            async with asyncio.timeout(CHECK_S):
                await one.sandbox.check()
            return True
        except (SandboxFailure, OSError, TimeoutError) as error:
            log.warning("a sandbox that was ready is not any more: %s", error)
            self.replaced += 1
            self._spawn(self.end(one.sandbox))
            return False
        except BaseException:  # cancelled: whoever asked has left
            self._spawn(self.end(one.sandbox))
            raise

    async def _open_now(self, spec: Spec) -> Sandbox:
        self._used += 1
        opening = asyncio.ensure_future(self._opener.open(spec))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            self._spawn(self._end_later(opening))
            raise
        except BaseException:
            self._used -= 1
            raise

    async def _end_later(self, opening: asyncio.Future[Sandbox]) -> None:
        """Ends a sandbox, once it is open, that nobody waits for any more."""
        try:
            sandbox = await opening
        except (SandboxFailure, InputError, OSError):
            self._used -= 1
            self._tell()
            return
        await self.end(sandbox)

    def _make_room(self, spec: Spec) -> None:
        """Makes room where other specs keep places ready: a sandbox of the spec that has most of them goes."""
        if self._used >= self.capacity and self._opening[spec] < self._waiting[spec]:
            others = [each for each in self._ready if each != spec and self._ready[each]]
            if other := max(others, key=lambda each: len(self._ready[each]), default=None):
                self._discard(self._ready[other].pop())

    async def _wait_for_change(self, until: float) -> None:
        now = asyncio.get_running_loop().time()
        if now >= until:
            words = f"all {self.capacity} places of this node were taken until the deadline of a claim"
            raise QuotaExceeded(words, own=False)
        await self._next_change(until - now)

    async def _next_change(self, patience_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(patience_s, 1.0)):
                await self._change.wait()

    async def _fill(self) -> None:
        while True:
            spec = None if self._pause_s and self._opening.total() else self._lacking()
            if spec is not None:
                self._used += 1
                self._opening[spec] += 1
                self._spawn(self._open_ready(spec))
                if self._pause_s:
                    await asyncio.sleep(self._pause_s)
                continue
            await self._next_change(1.0)

    def _lacking(self) -> Spec | None:
        """The spec that lacks most, where a place is left when those have theirs who wait for another one."""
        lacks = {
            spec: count - len(self._ready[spec]) - self._opening[spec]
            for spec, count in self._warm.items()
            if self._used + self._waiting.total() - self._waiting[spec] < self.capacity
        }
        spec = max(lacks, key=lambda each: lacks[each], default=None)
        return spec if spec is not None and lacks[spec] > 0 else None

    async def _open_ready(self, spec: Spec) -> None:
        try:
            sandbox = await self._opener.open(spec)
        except (SandboxFailure, InputError, OSError) as error:
            log.warning("no sandbox could be opened ahead: %s (%s)", error, spec.text)
            self._used -= 1
            self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
        except BaseException:
            self._used -= 1
            raise
        else:
            self._pause_s = 0.0
            one = _Ready(sandbox)
            if self._warm.get(spec, 0) > len(self._ready[spec]) or self._waiting[spec]:
                self._ready[spec].append(one)
                one.watch = self._spawn(self._watch(spec, one))
            else:
                self._discard(one)
        finally:
            self._opening[spec] -= 1
            self._tell()

    async def _watch(self, spec: Spec, one: _Ready) -> None:
        """Takes one out that dies while it is ready; the filler opens another."""
        with contextlib.suppress(SandboxFailure, OSError):
            await one.sandbox.ended()
        if one in self._ready[spec]:
            self._ready[spec].remove(one)
            self.replaced += 1
            await self.end(one.sandbox)

    def _discard(self, one: _Ready) -> None:
        if one.watch is not None:
            one.watch.cancel()
        self._spawn(self.end(one.sandbox))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a pool's work failed: %r", error)

    def _tell(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
