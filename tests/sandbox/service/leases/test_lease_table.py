"""The machine of leases against a model that keeps every lease ever given, over histories by chance."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax.sandbox.service.leases.lease import LeaseEnded, LeaseHeld
from tars_jax.sandbox.service.leases.table import KEPT_S, LeaseTable, Record

IDS, HOLDERS, WORDS = ("a", "b", "ab"), ("ann", "bob"), ("", "w1", "w2")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.sampled_from(IDS), st.sampled_from(HOLDERS), st.sampled_from(WORDS)),
        st.tuples(st.just("renew"), st.sampled_from(IDS), st.integers(0, 6), st.sampled_from([None, 1.0, 30.0])),
        st.tuples(st.just("release"), st.sampled_from(IDS), st.integers(0, 6), st.none()),
        st.tuples(st.just("look_up"), st.sampled_from(IDS), st.none(), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([0.5, 3.0, 11.0, KEPT_S + 1]), st.none(), st.none()),
        st.tuples(st.just("restart"), st.none(), st.none(), st.none()),
        st.tuples(st.just("sweep"), st.none(), st.none(), st.none()),
    ),
    max_size=60,
)


@dataclasses.dataclass
class Given:
    """A lease that the model has seen given."""

    id: str
    holder: str
    once: str
    fence: int
    seconds: float
    until: float
    released: float | None = None

    def live(self, now: float) -> bool:
        return self.released is None and now < self.until


class Model:
    """All that were ever given, in the order of time. No table, no heap: a search each time."""

    def __init__(self) -> None:
        self.given: list[Given] = []

    def live(self, id: str, now: float) -> list[Given]:
        return [lease for lease in self.given if lease.id == id and lease.live(now)]

    def last(self, id: str) -> Given | None:
        return next((lease for lease in reversed(self.given) if lease.id == id), None)


def written(table: LeaseTable, disk: dict[str, Record]) -> None:
    for id, record in table.changed.items():
        if record is None:
            disk.pop(id)
        else:
            disk[id] = dataclasses.replace(record)
    table.changed = {}


@given(STEPS)
def test_histories(steps: list[tuple]) -> None:
    table, model, now = LeaseTable(), Model(), 100.0
    disk: dict[str, Record] = {}
    for what, a, b, c in steps:
        if what == "wait":
            now += a
        elif what == "restart":
            table = LeaseTable([dataclasses.replace(record) for record in disk.values()], table.fence)
        elif what == "sweep":
            due = table.sweep(now)
            assert due is None or due > now
        elif what == "claim":
            live, last = model.live(a, now), model.last(a)
            assert len(live) <= 1  # never two
            try:
                lease = table.claim(now, a, b, 10.0, "here", c)
            except LeaseHeld as held:
                assert live and (not c or (live[0].holder, live[0].once) != (b, c))
                assert held.left_s == pytest.approx(live[0].until - now)
            except LeaseEnded:
                assert not live and c and last is not None and (last.holder, last.once) == (b, c)
            else:
                if live:
                    assert c and (live[0].holder, live[0].once, live[0].fence) == (b, c, lease.fence)
                    assert lease.left_s == pytest.approx(live[0].until - now)
                else:
                    assert lease.fence == len(model.given) + 1  # greater than any before
                    model.given.append(Given(a, b, c, lease.fence, 10.0, now + 10.0))
        elif what == "renew":
            live = [lease for lease in model.live(a, now) if lease.fence == b]
            try:
                lease = table.renew(now, a, b, c)
            except LeaseEnded:
                assert not live
            else:
                live[0].seconds = c or live[0].seconds
                live[0].until = max(live[0].until, now + live[0].seconds)
                assert lease.left_s == pytest.approx(live[0].until - now)
        elif what == "release":
            live = [lease for lease in model.live(a, now) if lease.fence == b]
            assert table.release(now, a, b) == bool(live)
            assert not table.release(now, a, b)
            for each in live:
                each.released = now
        else:
            live = model.live(a, now)
            try:
                lease = table.look_up(now, a)
            except LeaseEnded:
                assert not live
            else:
                assert [(each.fence, each.holder) for each in live] == [(lease.fence, lease.holder)]
        written(table, disk)
        assert [lease.id for lease in table.list(now)] == [id for id in sorted(IDS) if model.live(id, now)]
        assert len(table) == sum(bool(model.live(id, now)) for id in IDS)
        written(table, disk)


def test_the_ended_are_forgotten_after_a_while() -> None:
    table = LeaseTable()
    for number in range(1000):
        table.claim(0.0, f"id{number}", "ann", 5.0)
        table.renew(1.0, f"id{number}", number + 1)
    for turn in range(20):  # the same id again and again leaves no more behind than once
        fence = table.claim(2.0 + turn, "again", "ann", 100.0).fence
        table.release(2.0 + turn, "again", fence)
    table.sweep(7.0)
    assert len(table) == 0
    assert table.sweep(7.0 + 22 + KEPT_S) is None
    table.changed = {}
    assert table.claim(200.0, "id7", "bob", 1.0).fence == 1021
