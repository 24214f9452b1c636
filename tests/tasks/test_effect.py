"""What a task changes is all that may differ: its rows are matched one to one. No site runs here."""

from __future__ import annotations

import copy
import datetime
import json
import re
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.websites.effect import Change, Effect, unpaired
from tars_jax.tasks.websites.tables import differences, fingerprint, plain, to_tables, visible_text

BEFORE: dict[str, list[dict[str, Any]]] = {
    "tickets": [
        {"id": 1, "title": "Lamp", "status": "open", "owner": None},
        {"id": 2, "title": "Desk", "status": "open", "owner": "ada"},
        {"id": 3, "title": "Rug", "status": "done", "owner": "ada"},
    ],
    "users": [{"name": "ada", "seen": "9:00"}, {"name": "bo", "seen": "9:01"}],
    "log": [{"said": "begun"}],
}
CLOSED = {"read": "tickets", "where": {"title": "Desk"}, "is": {"status": "done"}}
NEW = {"read": "tickets", "is": {"title": "Door", "status": "open", "owner": ""}, "open": ["id"]}
GONE = {"read": "tickets", "where": {"id": 3}, "gone": True}


def state(**rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {**copy.deepcopy(BEFORE), **rows}


def tickets(*rows: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(("id", "title", "status", "owner"), row, strict=True)) for row in rows]


LAMP, DESK, RUG = (1, "Lamp", "open", None), (2, "Desk", "open", "ada"), (3, "Rug", "done", "ada")
DONE_DESK, DOOR = (2, "Desk", "done", "ada"), (4, "Door", "open", "")


def wrong(now: Any, *changes: dict[str, Any], **opened: list[str]) -> str:
    effect = Effect.from_json({"changes": list(changes), "open": opened})
    assert Effect.from_json(json.loads(json.dumps(effect.to_json()))) == effect
    return effect.wrong(to_tables(BEFORE), to_tables(now))


def test_the_effect_alone_is_right() -> None:
    assert not wrong(state(tickets=tickets(LAMP, DONE_DESK, RUG)), CLOSED)
    assert not wrong(state(tickets=tickets(RUG, DONE_DESK, LAMP)), CLOSED), "rows have no order"
    assert not wrong(state(tickets=tickets(LAMP, DONE_DESK, DOOR)), CLOSED, NEW, GONE)
    assert not wrong(state(tickets=tickets((1.0, "Lamp", "open", ""), DESK)), GONE), "values are texts"
    assert not wrong(state()), "where nothing is to change"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (state(), "as it was"),
        (state(tickets=tickets(LAMP, DONE_DESK)), "no more as it was"),
        (state(tickets=tickets(LAMP, DONE_DESK, RUG, DOOR)), "2 rows came or changed instead of 1"),
        (state(tickets=tickets(LAMP, DONE_DESK, DONE_DESK, RUG)), "2 rows came"),
        (state(tickets=tickets((1, "Lamp", "done", None), DESK, RUG)), "as it was"),
        (state(tickets=tickets(LAMP, (2, "Desk", "Done", "ada"), RUG)), "no row is as"),
        (state(tickets=tickets(LAMP, (2, "Desk", "done", "bo"), RUG)), "no row is as"),
        (state(tickets=tickets(LAMP, DONE_DESK, RUG), users=[]), "users: .* is no more as it was"),
        (state(tickets=tickets(LAMP, DONE_DESK, RUG), more=[{"a": 1}]), "more: 1 rows came or changed instead of 0"),
        ({"users": BEFORE["users"], "log": BEFORE["log"]}, "is no more as it was"),
    ],
)
def test_anything_else_is_wrong(now: Any, said: str) -> None:
    assert re.search(said, wrong(now, CLOSED)), wrong(now, CLOSED)


def test_what_is_open_may_be_anything_and_nothing_else_may() -> None:
    seen = [{"name": "ada", "seen": "9:30"}, {"name": "bo", "seen": "9:01"}]
    done = tickets(LAMP, DONE_DESK, RUG)
    assert wrong(state(tickets=done, users=seen), CLOSED)
    assert not wrong(state(tickets=done, users=seen), CLOSED, users=["seen"])
    assert wrong(state(tickets=done, users=seen[:1]), CLOSED, users=["seen"])
    logged = state(tickets=done, log=[{"said": "closed"}, {"said": "saved"}])
    assert wrong(logged, CLOSED) and not wrong(logged, CLOSED, log=["*"])
    said = {"read": "log", "is": {"said": "closed"}}
    assert not wrong(logged, CLOSED, said, log=["*"]), "of open rows those that are named must be there"
    assert wrong(state(tickets=done), CLOSED, said, log=["*"])
    assert wrong(state(tickets=tickets(LAMP, DESK, RUG, (9, "Door", "done", ""))), NEW)
    assert not wrong(state(tickets=tickets(LAMP, DESK, RUG, (9, "Door", "open", ""))), NEW)


def test_all_texts_of_a_field_are_looked_for() -> None:
    change = {"read": "tickets", "where": {"title": "Lamp"}, "contains": {"owner": ["ada", "bo"]}}
    for owner, is_right in (("ada, bo", True), ("bo and ada", True), ("ada", False), ("bo", False), ("", False)):
        now = state(tickets=tickets((1, "Lamp", "open", owner), DESK, RUG))
        assert (not wrong(now, change)) == is_right, owner


def test_a_site_may_write_what_is_asked_for_in_its_own_way() -> None:
    closed = {**CLOSED, "also": {"status": ["closed", "DONE"]}}
    for said in ("done", "closed", "DONE"):
        assert not wrong(state(tickets=tickets(LAMP, (2, "Desk", said, "ada"), RUG)), closed)
    assert wrong(state(tickets=tickets(LAMP, (2, "Desk", "gone", "ada"), RUG)), closed)
    assert wrong(state(tickets=tickets((1, "Lamp", "closed", None), DONE_DESK, RUG)), closed)


def test_each_change_has_a_row_of_its_own() -> None:
    """One row fits both changes, the other only the first: a greedy match would go wrong."""
    any_door = {"read": "tickets", "contains": {"title": ["Door"]}, "open": ["id", "status", "owner"]}
    red_door = {**any_door, "contains": {"title": ["Red", "Door"]}}
    red, blue = (4, "Red Door", "open", ""), (5, "Blue Door", "open", "")
    for one, other in ((any_door, red_door), (red_door, any_door)):
        assert not wrong(state(tickets=tickets(LAMP, DESK, RUG, red, blue)), one, other)
        assert wrong(state(tickets=tickets(LAMP, DESK, RUG, blue, blue)), one, other)
        assert wrong(state(tickets=tickets(LAMP, DESK, RUG, red)), one, other)
    assert unpaired([[0, 1], [0]]) is None and unpaired([[0], [0]]) == 1 and unpaired([[]]) == 0


def test_a_date_that_a_form_fills_in_is_the_day_on_which_it_is_done() -> None:
    dated = {"read": "tickets", "is": {"title": "Door"}, "today": {"owner": "%Y-%m-%d"}, "open": ["id", "status"]}
    effect = Effect.from_json({"changes": [dated]})
    assert Effect.from_json(effect.to_json()) == effect
    friday, next_day = datetime.date(2031, 2, 28), datetime.date(2031, 3, 1)

    def judged(owner: str, *days: datetime.date) -> str:
        now = to_tables(state(tickets=tickets(LAMP, DESK, RUG, (4, "Door", "open", owner))))
        return effect.wrong(to_tables(BEFORE), now, days)

    assert not judged("2031-02-28", friday) and not judged("2031-02-28", friday, next_day), "begun before midnight"
    assert not judged("2031-03-01", friday, next_day)
    for other in ("2031-02-27", "2031-03-02", "2031-2-28", "28.02.2031", "", "2030-02-28"):
        assert judged(other, friday, next_day), other
    today = [datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=n) for n in (0, 1)]
    assert judged(friday.isoformat()) and not all(judged(day.isoformat()) for day in today), "today, unless one says"
    assert not effect.changes[0].fits(None, {"title": "Door", "owner": "2031-02-28", "id": "4", "status": ""})
    assert effect.on(friday).changes[0].is_ == {"title": "Door", "owner": "2031-02-28"}


def test_empty_lines_at_the_ends_are_open_for_what_is_asked_for_and_for_nothing_else() -> None:
    begun = {**BEFORE, "notes": [{"name": "Home\n", "text": "Hello.\n\n"}, {"name": "Rules", "text": "None."}]}
    effect = Effect.from_json({"changes": [{"read": "notes", "where": {"name": "Home"}, "is": {"text": "Bye.\nBo"}}]})

    def judged(name: str, text: str, other: str) -> str:
        notes = [{"name": name, "text": text}, {"name": "Rules", "text": other}]
        return effect.wrong(to_tables(begun), to_tables({**begun, "notes": notes}))

    for text in ("Bye.\nBo", "Bye. \r\nBo\r\n", "\nBye.\nBo\n\n"):
        assert not judged("Home\n", text, "None."), text
    assert judged("Home", "Bye.\nBo", "None."), "a field beside it"
    for other in ("None.\n", "\nNone.", "None. ", "None.\r\n"):
        assert judged("Home\n", "Bye.\nBo", other), other
    assert judged("Home\n", "Bye.\n\nBo", "None.") and judged("Home\n", " Bye.\nBo", "None.")


@pytest.mark.parametrize("where", [{"owner": "ada"}, {"title": "Sofa"}])
def test_a_row_that_is_not_told_from_the_others_is_refused(where: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"where of tickets must find one row of its own; got [02] for"):
        wrong(state(), {**CLOSED, "where": where})
    with pytest.raises(InputError, match="must find one row of its own"):
        wrong(state(), CLOSED, {**CLOSED, "where": {"id": 2}})


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        ({}, "effect.changes must be an array"),
        ({"changes": [3]}, r"effect.changes\[0\] must be an object"),
        ({"changes": [{"is": {"a": "b"}}]}, r"effect.changes\[0\].read must be text"),
        ({"changes": [{"read": "t"}]}, "must say what a row is like"),
        ({"changes": [{"read": "t", "gone": True}]}, "must have where"),
        ({"changes": [{"read": "t", "where": {"a": 1}, "gone": True, "is": {"a": 2}}]}, "and no fields"),
        (
            {"changes": [{"read": "t", "is": {"a": 1}, "open": ["a"]}]},
            "contains, today and open; got 'a'",
        ),
        ({"changes": [{"read": "t", "is": {"a": [1]}}]}, r"effect.changes\[0\].is.a must be a text or a number"),
        ({"changes": [{"read": "t", "contains": {"a": "b"}}]}, "contains.a must be an array of texts"),
        ({"changes": [{"read": "t", "contains": {"a": []}}]}, "contains.a must be an array of texts"),
        ({"changes": [{"read": "t", "is": {"a": 1}, "also": {"a": "2"}}]}, "also.a must be an array of texts"),
        ({"changes": [{"read": "t", "is": {"a": 1}, "also": {"b": ["2"]}}]}, "also must be of fields of is; got 'b'"),
        ({"changes": [{"read": "t", "today": {"a": 3}}]}, r"effect.changes\[0\].today.a must be text; got 3"),
        ({"changes": [{"read": "t", "today": {"a": "%Y-%m"}}]}, "today must say how a day is written.*; got '%Y-%m'"),
        ({"changes": [{"read": "t", "is": {"a": 1}, "today": {"a": "%d"}}]}, "today and open; got 'a' in two"),
        ({"changes": [{"read": "t", "open": [1]}]}, r"changes\[0\].open\[0\] must be text; got 1"),
        ({"changes": [{"read": "t", "is": {"a": 1}, "sql": "x"}]}, r"effect.changes\[0\].sql must not be there"),
        ({"changes": [], "open": ["log"]}, "effect.open must be an object"),
        ({"changes": [], "open": {"log": "*"}}, "effect.open.log must be an array of names"),
    ],
)
def test_an_effect_that_cannot_be_is_refused(effect: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Effect.from_json(effect)


def test_any_json_becomes_tables() -> None:
    tables = to_tables(
        {"pages": {"Home": "text", "Rules": "more"}, "users": {"1": {"name": "Ada", "at": {"city": "Graz"}}}, "n": 3}
    )
    assert tables["pages"] == [{"key": "Home", "value": "text"}, {"key": "Rules", "value": "more"}]
    assert tables["users"] == [{"key": "1", "name": "Ada", "at.city": "Graz"}] and tables["values"][0]["value"] == "3"
    assert fingerprint(to_tables({"a": [1, 2]})) == fingerprint(to_tables({"a": [2, 1]}))
    assert fingerprint(to_tables({"a": [1, 2]})) != fingerprint(to_tables({"a": [1, 2, 2]}))
    assert plain("x " * 30_000 + "y") != plain("x " * 30_000 + "z"), "long texts are compared to their end"
    assert plain(True) == plain(1.0) == plain("1") == "1" and plain(None) == ""
    assert plain("1\r\n2") == "1\n2" and plain("1\n") == "1\n" != plain("1") and plain("\na") == "\na"
    assert visible_text("a  \nb\n\n") == "a\nb" and visible_text("    a\nb") == "    a\nb", "blanks in front are seen"
    assert visible_text("\nLamp\n") == "Lamp" and visible_text("Lamp ") == "Lamp "
    assert plain("Lamp ") == "Lamp " != plain("Lamp") != plain(" Lamp")


def test_a_row_that_changed_is_no_row_that_came_and_one_that_went() -> None:
    found = differences(to_tables(BEFORE), to_tables(state(tickets=tickets(LAMP, DONE_DESK, DOOR))))
    assert [(each.kind, each.changed_fields) for each in found if each.kind == "changed"] == [("changed", ("status",))]
    assert sorted(each.kind for each in found) == ["changed", "created", "deleted"]


def test_a_change_keeps_fields_that_it_does_not_name() -> None:
    change = Change("t", {"a": "1"}, is_={"b": "2"})
    assert change.fits({"a": "1", "b": "0", "c": "3"}, {"a": "1", "b": "2", "c": "3"})
    assert not change.fits({"a": "1", "b": "0", "c": "3"}, {"a": "1", "b": "2", "c": "4"})
    assert not change.fits({"a": "1", "b": "0", "c": "3"}, {"a": "1", "b": "2"})
    assert not change.fits({"a": "1", "b": "0"}, {"a": "1", "b": "2", "c": "new"})
