"""What a solution did, several times, becomes an effect that holds for nothing less and nothing more."""

from __future__ import annotations

import copy
import datetime
import json
from typing import Any

import pytest

from tars_jax.data.website_synthesis.effects import NoCheck, StateChange, tells_time, unnamed, write_effect
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.task import SynthesizedTask
from tars_jax.tasks.websites.effect import Change, Effect
from tars_jax.tasks.websites.tables import to_tables
from tars_jax.tasks.websites.task import WebsiteTask
from tests.data.website_synthesis.small_site import SEED, submit

NOON = datetime.datetime(2031, 5, 7, 12, tzinfo=datetime.UTC)


def after(*sent: tuple[str, dict[str, str]]) -> Any:
    state = copy.deepcopy(SEED)
    for path, values in sent:
        submit(state, path, values)
    return state


def order(**values: str) -> dict[str, str]:
    return {"customer": "Dora", "item": "Shelf", "priority": "normal", "note": "", **values}


def done(state: Any, before: Any = SEED) -> StateChange:
    return StateChange(to_tables(before), to_tables(state), NOON, NOON)


def effect_of(*states: Any, inputs: list[PageMove], before: Any = SEED, **options: Any) -> Effect:
    return write_effect([done(each, before) for each in states], inputs, **options)[0]


def fill(label: str, value: str) -> PageMove:
    return PageMove("fill", label, label.lower(), value=value)


def is_met(effect: Effect, state: Any) -> bool:
    return not effect.wrong(to_tables(SEED), to_tables(state))


def test_an_effect_holds_for_what_was_asked_and_nothing_else() -> None:
    state = after(("/new", order()))
    effect = effect_of(state, state, inputs=[fill("Customer", "Dora"), fill("Item", "Shelf")])
    assert effect.changes == (
        Change(
            "orders",
            is_={"customer": "Dora", "item": "Shelf", "priority": "normal", "note": "", "paid": "0"},
            open=("id",),  # it counts up: whoever makes one too many and deletes it has done the task
        ),
    )
    assert is_met(effect, state)
    assert is_met(effect, after(("/new", order(item="Rug")), ("/order/4/delete", {}), ("/new", order())))
    for other in (
        SEED,
        after(("/new", order(item="Lamp"))),
        after(("/new", order()), ("/new", order())),  # twice
        after(("/new", order(priority="high"))),  # something else was chosen
        after(("/new", order()), ("/order/1/delete", {})),  # another one is gone
        after(("/new", order()), ("/settings", {"title": "Mine", "currency": "eur"})),  # something beside it
    ):
        assert not is_met(effect, other)


def test_an_edit_spoils_nothing_else() -> None:
    kept = {"customer": "Ada", "item": "Lamp", "priority": "low", "note": "call first"}
    state = after(("/order/1", kept))
    effect = effect_of(state, state, inputs=[fill("Note", "call first")], names=["Order of Ada", "Ada"])
    assert effect.changes == (Change("orders", {"customer": "Ada"}, is_={"note": "call first"}),)
    assert is_met(effect, state)
    assert not is_met(effect, after(("/order/1", {**kept, "item": "Rug"})))
    assert not is_met(effect, after(("/order/2", kept)))


def test_only_what_comes_out_otherwise_counts_or_dates_is_open() -> None:
    def state(number: int, color: str, when: str) -> Any:
        row = {"id": 7 + number, "text": "hello there", "color": color, "made": when, "size": "5"}
        return {"notes": [{"id": 7, "text": "old", "color": "red", "made": "", "size": "4"}, *[row] * number]}

    inputs = [PageMove("fill", "Text", value="hello there")]
    before = state(0, "", "")
    first, second = state(1, "red", "2031-05-07 12:00"), state(1, "blue", "2031-05-07 12:00")
    effect = effect_of(first, second, inputs=inputs, before=before)
    (change,) = effect.changes
    assert change.is_ == {"text": "hello there", "size": "5"} and set(change.open) == {"id", "color", "made"}


@pytest.mark.parametrize("put_in", [False, True])
def test_a_day_that_a_form_offers_is_open_unless_it_was_put_in(put_in: bool) -> None:
    before = {"entries": [{"payee": "Bakery", "date": "2025-01-01", "number": "20250101"}]}
    new = {"payee": "Dora", "date": "2025-01-01", "number": "20250101"}
    ends = [{"entries": [*before["entries"], new]}] * 2
    inputs = [fill("Payee", "Dora"), *([fill("Date", "2025-01-01")] if put_in else [])]
    (change,) = effect_of(*ends, inputs=inputs, before=before).changes
    assert change.open == (() if put_in else ("date",)) and change.is_["number"] == "20250101"


def test_all_texts_of_one_field_are_kept() -> None:
    """The last of several texts once was the only one."""
    before = {"lines": [{"text": "begun"}]}
    ends = [{"lines": [{"text": "begun"}, {"text": f'{mark} "Bakery" "Two buns"'}]} for mark in "ab"]
    effect = effect_of(*ends, inputs=[fill("Payee", "Bakery"), fill("Narration", "Two buns")], before=before)
    assert effect.changes == (Change("lines", contains={"text": ("Bakery", "Two buns")}),)


def test_a_number_that_another_row_refers_to_is_not_open() -> None:
    before = {"tickets": [{"id": 1, "title": "old"}], "comments": [{"ticket": 1, "text": "x"}]}
    state = {
        "tickets": [{"id": 1, "title": "old"}, {"id": 2, "title": "Door"}],
        "comments": [{"ticket": 1, "text": "x"}, {"ticket": 2, "text": "creaks"}],
    }
    effect = effect_of(state, state, inputs=[fill("Title", "Door"), fill("Text", "creaks")], before=before)
    assert [dict(each.is_) for each in effect.changes] == [
        {"ticket": "2", "text": "creaks"},
        {"id": "2", "title": "Door"},
    ]


def test_logs_and_columns_that_only_date_are_open_as_a_whole() -> None:
    before = {"users": [{"name": "ada", "seen": "1"}], "log": [], "notes": []}

    def state(seen: str) -> Any:
        return {"users": [{"name": "ada", "seen": seen}], "log": [{"said": "added"}], "notes": [{"text": "Hi there"}]}

    inputs = [fill("Text", "Hi there")]
    effect = effect_of(state("2"), state("3"), inputs=inputs, before=before, logs=["log"])
    assert effect.open == {"log": ("*",), "users": ("seen",)}
    assert effect.changes == (Change("notes", is_={"text": "Hi there"}),)


@pytest.mark.parametrize(
    ("first", "second", "inputs", "said"),
    [
        (SEED, SEED, [], "changes nothing"),
        (after(("/new", order())), SEED, [], "only once in two times"),
        (after(("/new", order())), after(("/new", order())), [fill("Coupon", "X-77")], "not in the state"),
        (after(("/new", order())), after(("/order/1/delete", {})), [], "another one the second time"),
    ],
)
def test_where_no_effect_can_be_written(first: Any, second: Any, inputs: list[PageMove], said: str) -> None:
    with pytest.raises(NoCheck, match=said):
        effect_of(first, second, inputs=inputs)


def test_rows_that_nothing_tells_apart_and_tables_that_looking_changes_make_none() -> None:
    before = {"notes": [{"text": "same"}, {"text": "same"}]}
    one = {"notes": [{"text": "same"}]}
    with pytest.raises(NoCheck, match="not the only one"):
        effect_of(one, one, inputs=[], before=before)
    state = after(("/new", order()))
    with pytest.raises(NoCheck, match="changes nothing"):
        effect_of(state, state, inputs=[fill("Customer", "Dora")], noise=["orders"])


def test_a_day_that_the_form_fills_in_is_asked_for_and_a_moment_is_open() -> None:
    def made(day: str, at: str = "") -> Any:
        return after(("/new", order(note=day, item=at)))

    tuesday, wednesday = NOON, NOON + datetime.timedelta(days=1)
    inputs = [fill("Customer", "Dora")]
    at = [
        StateChange(to_tables(SEED), to_tables(made(day.date().isoformat())), day, day) for day in (tuesday, wednesday)
    ]
    for ways in (at, at[:1] * 2):
        (change,) = write_effect(ways, inputs)[0].changes
        assert dict(change.today) == {"note": "%Y-%m-%d"} and change.open == ("id",)
    effect = Effect((change,))
    other = to_tables(made("2031-05-08"))
    assert effect.wrong(to_tables(SEED), other, at[0].days) and not effect.wrong(to_tables(SEED), other, at[1].days)
    (asked,) = write_effect(at[:1] * 2, [*inputs, fill("Note", "2031-05-07")])[0].changes
    assert asked.is_["note"] == "2031-05-07" and not asked.today, "who is asked for a day is asked for that day"
    moment = [
        StateChange(to_tables(SEED), to_tables(made(f"{day:%Y-%m-%d %H:%M}")), day, day) for day in (tuesday, wednesday)
    ]
    (change,) = write_effect(moment, inputs)[0].changes
    assert not change.today and set(change.open) == {"id", "note"}


@pytest.mark.parametrize(
    ("value", "tells"),
    [
        ("2031-05-07", True), ("made on 2031-05-06T12:00", True), ("20310507", True), ("1935921600", True),
        ("1935921600123456", True), ("2031-05-01", False), ("19359", False), ("7 May", False), ("", False),
    ],
)  # fmt: skip
def test_a_moment_is_told_from_other_values(value: str, tells: bool) -> None:
    assert tells_time(value, [done(SEED)]) == tells


def test_the_words_name_what_is_meant() -> None:
    tables = to_tables(SEED)
    edit = Effect((Change("orders", {"id": "2"}, is_={"note": "x"}),))
    assert unnamed(edit, tables, 'Edit the page of "Order of Björn".') is None
    assert unnamed(edit, tables, 'Edit the page of "Order of Chen".') == "Desk", "its shortest name"
    assert unnamed(edit, tables, "Edit the order of Björn.") == "Desk", "a name stands in quotation marks"
    shop = to_tables({"tables": [{"name": "product"}, {"name": "customer"}], "columns": [
        {"table": "product", "name": "price"}, {"table": "customer", "name": "email"}]})  # fmt: skip
    column = Effect((Change("columns", is_={"table": "product", "name": "size"}),))
    size = [fill("Column name", "size")]
    assert unnamed(column, shop, 'Add a column with Column name "size".', size) == "product"
    assert unnamed(column, shop, 'Add a column to "product" with Column name "size".', size) is None
    assert unnamed(column, shop, 'Add a column with Column name "size".', size, ["product"]) is None, "as it is offered"
    settings = to_tables({"settings": {"title": "Orders", "currency": "eur"}})
    money = Effect((Change("settings", {"key": "currency"}, is_={"value": "usd"}),))
    assert unnamed(money, settings, 'Set Currency to "Usd".') is None, "what stands alone has its label"
    assert unnamed(money, settings, 'Change the settings: "Usd".') == "eur"
    pages = [{"title": "Tea Rota", "slug": "rota"}, {"title": "Tea", "slug": "tea"}, {"title": "Tea", "slug": "tea-2"}]
    drafts = [{"title": "Tea", "slug": "tea-2"}]
    site = to_tables({"pages": pages, "drafts": drafts})

    def draft(slug: str) -> Effect:
        return Effect((Change("drafts", is_={"title": "Our plan", "slug": slug}),))

    plan = [fill("Title", "Our plan")]
    assert unnamed(draft("rota"), site, 'Change "Tea Rota" so that it has Title "Our plan".', plan) is None
    assert unnamed(draft("rota"), site, 'Change a page so that it has Title "Our plan".', plan) == "rota"
    assert unnamed(draft("tea"), site, 'Change "Tea" so that it has Title "Our plan".', plan) is None, "the slug itself"
    other = 'Change "My Tea" so that it has Title "Our plan".'
    assert unnamed(draft("tea-2"), to_tables({"pages": pages, "drafts": [pages[1]]}), other, plan) == "tea-2"


@pytest.mark.parametrize("wanted", ["new", "edit", "delete"])
def test_the_environment_says_of_a_task_what_its_effect_says(wanted: str) -> None:
    ways = {
        "new": ("/new", order(note="a note\r\nof two lines", paid="on"), [fill("Customer", "Dora")]),
        "edit": ("/order/1", order(customer="Ada"), [fill("Item", "Shelf")]),
        "delete": ("/order/3/delete", {}, []),
    }
    path, values, inputs = ways[wanted]
    state = after((path, values))
    effect = effect_of(state, state, inputs=inputs)
    made = SynthesizedTask("t", "fossil", wanted, "Do it.", 2, 9, effect)
    assert SynthesizedTask.from_json(json.loads(json.dumps(made.to_json()))) == made
    task = made.playable(3, "1")
    assert WebsiteTask.from_json(json.loads(json.dumps(task.to_json()))) == task and task.seed == 3
    for other in (SEED, state, after((path, values), ("/order/2/delete", {})), after(("/new", order()))):
        judged = task.wrong(to_tables(SEED), to_tables(other), None)
        assert (judged == "") == is_met(effect, other)
    assert task.wrong(to_tables(SEED), to_tables(state), None) == ""
