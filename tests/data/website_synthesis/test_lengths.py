"""Tasks come in all lengths, from a question on the first page to forms and rows of ten steps, and of all fields."""

from __future__ import annotations

import dataclasses
import random

from tars_jax.data.website_synthesis.composition import candidates, draw_part, rows, single_candidate, with_full_names
from tars_jax.data.website_synthesis.effects import way_of
from tars_jax.data.website_synthesis.exploration import Explored
from tars_jax.data.website_synthesis.filters import ambiguous, is_unclear, too_long
from tars_jax.data.website_synthesis.functions import Field, SiteFunction, functions_of
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.questions import questions
from tars_jax.data.website_synthesis.view import Control, PageForm, PageTable, View


def form(name: str, count: int, *places: str) -> SiteFunction:
    fields = tuple(Field(PageMove("fill", f"{name} {number}"), "text", f"{name} {number}") for number in range(count))
    trail, button = (PageMove("follow", name),), PageMove("press", "Save entry")
    return SiteFunction("create", trail, places or (name,), "Save entry", fields, button, f"/{name}", f"/{name}")


def test_a_long_form_is_filled_in_up_to_ten_steps() -> None:
    found = list(candidates([form("Bill", 12)], "1", 12))
    assert {min(each.steps for each in found), max(each.steps for each in found)} == {3, 10}
    assert not any(map(too_long, found))


def test_rows_have_two_parts_or_three() -> None:
    functions = [form(name, 3) for name in ("Bill", "Guest", "Room")]
    found = list(rows(functions, "1", 12))
    assert {len(each.parts) for each in found} == {2, 3}
    assert 9 in {each.steps for each in found if len(each.parts) == 3}


def test_a_row_may_delete_one_object_after_another() -> None:
    def removal(name: str) -> SiteFunction:
        press = PageMove("press", "Delete mail")
        return SiteFunction(
            "delete", (PageMove("press", name),), (name,), "Delete mail", (), press, "/*", "/", name, name
        )

    found = list(rows([removal("Invoice"), removal("Reminder"), form("Label", 2)], "1", 40))
    assert all(each.inputs or len(each.parts) == 2 for each in found)
    ended = {tuple(part.function.row for part in each.parts) for each in found if not each.inputs}
    assert ended == {("Invoice", "Reminder"), ("Reminder", "Invoice")}


def test_questions_begin_with_the_first_page_and_go_on_with_others() -> None:
    def page(trail: tuple[PageMove, ...], *rows: str) -> Explored:
        table = PageTable(("Name", "Price"), tuple((each, f"{each} costs") for each in rows))
        return Explored(View("http://h/", "", "", (), (), (), (table,), 0.0, 9, 9, 0.0, 9.0), trail, ())

    pages = [page((), "Lamp", "Desk"), page((PageMove("follow", "More"),), "Rug", "Bed")]
    asked, _ = questions(pages, "1", 3)
    assert [len(each.plan) for each in asked] == [0, 1, 0]


def test_what_few_words_leave_open_is_told_in_full() -> None:
    one = form("Name", 1, "Guests", "Berlin")
    functions = [one, dataclasses.replace(one, places=("Rooms", "Berlin"), action="/other")]
    unclear = [each for each in candidates(functions, "1", 12) if is_unclear(ambiguous(each, functions))]
    assert unclear and all(ambiguous(with_full_names(each), functions) == "" for each in unclear)
    part = draw_part(one, random.Random(0), 1)
    assert part is not None and with_full_names(single_candidate(part)).plan == single_candidate(part).plan


def test_one_of_several_is_chosen_and_read_again() -> None:
    ways = tuple(
        Control("radio", name, "action", form=0, value=name, checked=name == "leave")
        for name in ("leave", "resolve", "accept")
    )
    save = Control("button", "Submit changes", form=0, type="submit", hit=True)
    note = Control("text", "Note", "note", form=0, value="Old")
    forms = (PageForm("post", "http://h/ticket/3"),)
    view = View("http://h/ticket/3", "", "", ("Lamp",), forms, (note, *ways, save), (), 0.0, 9, 9, 0.0, 9.0)
    ((function,), _) = functions_of([Explored(view, (), ())])
    assert [each.label for each in function.fields] == ["Note", "resolve", "accept"]
    found = [each for seed in range(12) if (each := draw_part(function, random.Random(seed), 3)) is not None]
    chosen = [{move.label for move in each.inputs if move.kind == "mark"} for each in found]
    assert {"resolve"} in chosen and {"accept"} in chosen and {"resolve", "accept"} not in chosen
    assert [ambiguous(single_candidate(each), [function]) for each in found] == [""] * len(found)
    mark = PageMove("mark", "resolve", "action", value="on")
    assert way_of("resolve", mark) == "is" and way_of("accept", mark) is None, "the state shows it"
