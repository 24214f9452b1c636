"""Warm pools over sandboxes that do nothing but open, die and close as the test says."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from typing import Self

import pytest

from tars_jax import InputError
from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure
from tars_jax.sandbox.service.nodes.pools import Pools
from tars_jax.sandbox.service.nodes.sandboxes import Spec
from tests.waiting import PATIENCE_S, until

SMALL, LARGE, HUGE = Spec("small"), Spec("large"), Spec("huge")


class Thing:
    def __init__(self, opener: Opener, spec: Spec) -> None:
        self.spec, self._opener = spec, opener
        self.dead, self.closed, self.hangs = asyncio.Event(), False, False

    async def ended(self) -> None:
        await self.dead.wait()

    async def check(self) -> None:
        if self.hangs:
            await asyncio.sleep(60)
        if self.dead.is_set():
            raise SandboxFailure("container", "it is gone")

    async def close(self) -> None:
        if not self.closed:
            await asyncio.sleep(self._opener.close_s)
            self.closed = True
            self._opener.alive.remove(self)


class Opener:
    """Counts what is there at one time."""

    def __init__(self, open_s: float = 0.01, close_s: float = 0.0) -> None:
        self.open_s, self.close_s = open_s, close_s
        self.alive: list[Thing] = []
        self.opening = self.most = self.opened = 0
        self.fails = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def open(self, spec: Spec) -> Thing:
        if spec == HUGE:
            raise InputError("spec must be one that there is; got huge")
        self.opening += 1
        self.most = max(self.most, self.opening + len(self.alive))
        try:
            await asyncio.sleep(self.open_s)
            if self.fails:
                raise SandboxFailure("container", "no more")
            self.opened += 1
            self.alive.append(thing := Thing(self, spec))
            return thing
        finally:
            self.opening -= 1


def live(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await work()

    asyncio.run(bounded())


def test_a_claim_takes_what_is_ready_and_the_pool_fills_again() -> None:
    async def work() -> None:
        opener = Opener(open_s=0.2)
        async with Pools(opener, {SMALL: 2, LARGE: 1}, 8) as pools:
            await until(lambda: pools.ready() == {SMALL: 2, LARGE: 1})
            assert pools.free == 8
            one = await pools.take(SMALL, 5)
            assert opener.opened == 3 and pools.free == 7  # nothing was opened for it
            await until(lambda: pools.ready() == {SMALL: 2, LARGE: 1})
            assert opener.opened == 4
            await pools.end(one)
            assert pools.free == 8
        assert not opener.alive

    live(work)


def test_what_dies_or_hangs_while_it_is_ready_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.sandbox.service.nodes.pools.CHECK_S", 1.0)

    async def work() -> None:
        opener = Opener()
        async with Pools(opener, {SMALL: 2}, 3) as pools:
            await until(lambda: pools.ready() == {SMALL: 2})
            first = list(opener.alive)
            first[0].dead.set()
            await until(lambda: first[0].closed and pools.ready() == {SMALL: 2} and pools.replaced == 1)
            for thing in opener.alive:
                thing.hangs = True
            taken = await pools.take(SMALL, 5)
            assert not taken.hangs  # type: ignore[attr-defined]
            assert opener.most <= 3
            await pools.end(taken)

    live(work)


def test_a_claim_waits_until_its_deadline_and_no_longer() -> None:
    async def work() -> None:
        opener = Opener()
        async with Pools(opener, {}, 1) as pools:
            one = await pools.take(SMALL, 1)
            began = time.monotonic()
            with pytest.raises(QuotaExceeded, match="all 1 places of this node were taken") as full:
                await pools.take(SMALL, 0.2)
            assert time.monotonic() - began >= 0.2 and not full.value.own
            with pytest.raises(QuotaExceeded):
                await pools.take(SMALL, 0.0)
            waiting = [asyncio.create_task(pools.take(LARGE, 20)) for _ in range(2)]
            await asyncio.sleep(0.05)
            assert not any(task.done() for task in waiting)
            await pools.end(one)
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            await pools.end(done.pop().result())
            await asyncio.wait(waiting)
            assert pools.free == 0 and opener.most == 1

    live(work)


def test_a_spec_that_cannot_be_takes_no_place() -> None:
    async def work() -> None:
        async with Pools(Opener(), {}, 1) as pools:
            with pytest.raises(InputError, match="got huge"):
                await pools.take(HUGE, 1)
            assert pools.free == 1

    live(work)


def test_places_are_taken_for_what_others_open() -> None:
    async def work() -> None:
        opener = Opener(close_s=0.02)
        async with Pools(opener, {SMALL: 2}, 3) as pools:
            await until(lambda: pools.ready() == {SMALL: 2})
            with pytest.raises(QuotaExceeded):
                await pools.take_places(4, 0.1)
            await pools.take_places(3, 20)  # what was ready has gone
            assert pools.free == 0 and not opener.alive
            with pytest.raises(QuotaExceeded):
                await pools.take(SMALL, 0.1)
            pools.give_places(3)
            await until(lambda: pools.ready() == {SMALL: 2})
            assert pools.free == 3 and opener.most <= 3

    live(work)


def test_what_other_specs_keep_ready_makes_place() -> None:
    async def work() -> None:
        opener = Opener(close_s=0.02)
        async with Pools(opener, {SMALL: 2}, 2) as pools:
            await until(lambda: pools.ready() == {SMALL: 2})
            assert pools.free == 2
            one, two = await asyncio.gather(pools.take(LARGE, 5), pools.take(LARGE, 5))
            assert opener.most == 2 and pools.free == 0
            await pools.end(one)
            await pools.end(two)
            await until(lambda: pools.ready() == {SMALL: 2})

    live(work)


def test_openings_that_fail_are_told_and_tried_again() -> None:
    async def work() -> None:
        opener = Opener()
        opener.fails = True
        async with Pools(opener, {SMALL: 2}, 2) as pools:
            with pytest.raises(SandboxFailure, match="no more"):
                await pools.take(LARGE, 2)
            await asyncio.sleep(0.5)
            assert pools.ready() == {}
            opener.fails = False
            await until(lambda: pools.ready() == {SMALL: 2})
        assert not opener.alive

    live(work)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.first(3)
def test_no_place_is_lost_or_given_twice_whatever_comes(seed: int) -> None:
    async def work() -> None:
        chance = random.Random(seed)
        opener = Opener(open_s=0.003, close_s=0.002)
        held: set[int] = set()

        async def client() -> None:
            for _ in range(25):
                taking = asyncio.create_task(pools.take(chance.choice([SMALL, LARGE]), chance.random() * 0.05))
                if chance.random() < 0.2:
                    await asyncio.sleep(chance.random() * 0.01)
                    taking.cancel()
                try:
                    thing = await taking
                except (QuotaExceeded, SandboxFailure, asyncio.CancelledError):
                    continue
                assert id(thing) not in held
                held.add(id(thing))
                await asyncio.sleep(chance.random() * 0.005)
                held.discard(id(thing))
                await pools.end(thing)

        async def trouble() -> None:
            while True:
                await asyncio.sleep(0.01)
                opener.fails = chance.random() < 0.1
                if opener.alive and chance.random() < 0.5:
                    chance.choice(opener.alive).dead.set()

        async with Pools(opener, {SMALL: 2, LARGE: 1}, 4) as pools:
            troubling = asyncio.create_task(trouble())
            await asyncio.gather(*(client() for _ in range(6)))
            troubling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await troubling
            opener.fails = False
            assert opener.most <= 4
            await until(lambda: pools.ready() == {SMALL: 2, LARGE: 1} and pools.free == 4)
        assert not opener.alive

    live(work)


def test_pools_that_cannot_be() -> None:
    for warm, capacity in (({}, 0), ({SMALL: -1}, 4)):
        with pytest.raises(InputError, match="pools must have a place"):
            Pools(Opener(), warm, capacity)
