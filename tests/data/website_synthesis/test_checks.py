"""A state of any form becomes tables; what a solution did becomes a check that holds for nothing less."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.data.website_synthesis.effects import NoCheck, write_check
from tars_jax.data.website_synthesis.moves import Move
from tars_jax.data.website_synthesis.state import (
    Check,
    Condition,
    Expectation,
    differences,
    fingerprint,
    is_met,
    to_tables,
)
from tars_jax.data.website_synthesis.task import SynthesizedTask
from tars_jax.tasks.websites.task import WebsiteTask
from tests.data.website_synthesis.small_site import SEED, submit


def after(*sent: tuple[str, dict[str, str]]) -> Any:
    state = copy.deepcopy(SEED)
    for path, values in sent:
        submit(state, path, values)
    return state


def order(**values: str) -> dict[str, str]:
    return {"customer": "Dora", "item": "Shelf", "priority": "normal", "note": "", **values}


def check_of(states: tuple[Any, Any], inputs: list[Move], category: str, noise: frozenset[str] = frozenset()) -> Check:
    first, second = states
    return write_check(to_tables(SEED), to_tables(first), to_tables(second), inputs, noise, category)[0]


def fill(label: str, value: str) -> Move:
    return Move("fill", label, label.lower(), value=value)


def test_any_json_becomes_tables() -> None:
    state = {
        "pages": {"Home": "text", "Rules": "more"},
        "users": {"1": {"name": "Ada", "at": {"city": "Graz"}}},
        "n": 3,
    }
    tables = to_tables(state)
    assert tables["pages"] == [{"key": "Home", "value": "text"}, {"key": "Rules", "value": "more"}]
    assert tables["users"] == [{"key": "1", "name": "Ada", "at.city": "Graz"}] and tables["values"][0]["value"] == "3"
    assert fingerprint(to_tables({"a": [1, 2]})) == fingerprint(to_tables({"a": [2, 1]}))
    assert fingerprint(to_tables({"a": [1, 2]})) != fingerprint(to_tables({"a": [1, 2, 2]}))


def test_a_row_that_changed_is_no_row_that_came_and_one_that_went() -> None:
    found = differences(to_tables(SEED), to_tables(after(("/order/2", order()), ("/order/3/delete", {}))))
    assert {(each.kind, (each.before or {})["id"]) for each in found} == {("changed", "2"), ("deleted", "3")}


def test_a_check_holds_for_what_was_asked_and_nothing_less() -> None:
    state = after(("/new", order()))
    check = check_of((state, copy.deepcopy(state)), [fill("Customer", "Dora"), fill("Item", "Shelf")], "create")
    assert is_met(check, to_tables(state))
    for other in (
        SEED,
        after(("/new", order(item="Lamp"))),
        after(("/new", order()), ("/new", order())),  # twice
        after(("/new", order(priority="high"))),  # something else was chosen
        after(("/new", order()), ("/order/1/delete", {})),  # another one is gone
    ):
        assert not is_met(check, to_tables(other))


def test_an_edit_spoils_nothing_else() -> None:
    kept = {"customer": "Ada", "item": "Lamp", "priority": "low", "note": "call first"}
    state = after(("/order/1", kept))
    check = check_of((state, state), [fill("Note", "call first")], "edit")
    assert is_met(check, to_tables(state))
    assert not is_met(check, to_tables(after(("/order/1", {**kept, "item": "Rug"}))))
    assert not is_met(check, to_tables(after(("/order/2", kept))))


def test_what_counts_or_dates_is_in_no_check() -> None:
    def state(number: int, when: str) -> Any:
        return {"notes": [{"id": number, "text": "hello there", "created_at": when, "color": "red"}] * min(number, 1)}

    before, first, second = state(0, ""), state(1, "10:01"), state(1, "10:02")
    inputs = [Move("fill", "Text", value="hello there")]
    check, missing = write_check(to_tables(before), to_tables(first), to_tables(second), inputs, (), "create")
    fields = {condition.field for each in check for condition in each.conditions}
    assert fields == {"text", "color"} and not missing


@pytest.mark.parametrize(
    ("first", "second", "inputs", "said"),
    [
        (SEED, SEED, [], "changes nothing"),
        (after(("/new", order())), SEED, [], "only once in two times"),
        (after(("/new", order())), after(("/new", order())), [fill("Coupon", "X-77")], "not in the state"),
    ],
)
def test_where_no_check_can_be_written(first: Any, second: Any, inputs: list[Move], said: str) -> None:
    with pytest.raises(NoCheck, match=said):
        check_of((first, second), inputs, "create")


def test_tables_that_change_by_looking_are_left_out() -> None:
    state = after(("/new", order()))
    with pytest.raises(NoCheck, match="changes nothing"):
        check_of((state, state), [fill("Customer", "Dora")], "create", frozenset({"orders"}))


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(InputError, match="must be one of is, contains; got 'like'"):
        Condition("a", "like", "b")
    assert not is_met((), to_tables(SEED)), "a check of nothing is met by nothing"
    assert Expectation.from_json({"table": "orders", "conditions": [], "count": 3}).holds(to_tables(SEED))


@dataclasses.dataclass
class Reads:
    """A session whose readers say what a state says."""

    state: dict[str, Any]
    site: Any = None

    async def read(self, reader: str) -> Sequence[Mapping[str, Any]]:
        return self.state[reader]

    async def sql(self, file: str, statement: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        raise AssertionError("no check asks for it")


@pytest.mark.parametrize("wanted", ["new", "edit", "delete"])
def test_the_environment_says_of_a_task_what_its_check_says(wanted: str) -> None:
    ways = {
        "new": ("/new", order(note="a note\r\nof two lines", paid="on"), [fill("Customer", "Dora")], "create"),
        "edit": ("/order/1", order(customer="Ada"), [fill("Item", "Shelf")], "edit"),
        "delete": ("/order/3/delete", {}, [], "delete"),
    }
    path, values, inputs, category = ways[wanted]
    done = after((path, values))
    check = check_of((done, done), inputs, category)
    task = SynthesizedTask("t", "fossil", category, "Do it.", 2, 9, check).playable(3, "1")
    assert WebsiteTask.from_json(json.loads(json.dumps(task.to_json()))) == task and task.seed == 3
    for state in (SEED, done, after((path, values), ("/order/2/delete", {})), after(("/new", order()))):
        judged = asyncio.run(task.wrong(Reads(state), None))
        assert (judged == "") == is_met(check, to_tables(state))
    assert asyncio.run(task.wrong(Reads(done), None)) == ""


def test_a_part_of_a_longer_text_is_looked_for() -> None:
    check = (Expectation("pages", (Condition("name", "is", "Home"), Condition("text", "contains", "seven chairs")), 1),)
    task = SynthesizedTask("t", "fossil", "edit", "Do it.", 2, 9, check).playable(0, "")
    for text, met in (("<p>seven chairs</p>", True), ("eight chairs", False)):
        state = {"pages": [{"name": "Home", "text": text}, {"name": "Other", "text": "seven chairs"}]}
        assert (asyncio.run(task.wrong(Reads(state), None)) == "") == met == is_met(check, to_tables(state))
