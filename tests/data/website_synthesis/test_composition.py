"""Instructions are read again by somebody who knows the site and not how they were made."""

from __future__ import annotations

import dataclasses
import random

import pytest

from tars_jax.data.website_synthesis.composition import (
    candidates,
    draw_part,
    rows,
    sequential_candidate,
    single_candidate,
)
from tars_jax.data.website_synthesis.exploration import Explored
from tars_jax.data.website_synthesis.filters import ambiguous, leaks, normalized, too_long
from tars_jax.data.website_synthesis.function_order import order_by_promise
from tars_jax.data.website_synthesis.functions import Field, SiteFunction, functions_of, trivial
from tars_jax.data.website_synthesis.models import read_numbers
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.second_reading import readings
from tars_jax.data.website_synthesis.synthesis import covering
from tars_jax.data.website_synthesis.values import MEDIA_TYPES, QUERIES, draw_value
from tars_jax.data.website_synthesis.view import Control, PageForm, View, name_of
from tars_jax.data.website_synthesis.wording import refine


def function(place: str = "New ticket", category: str = "create", action: str = "/new") -> SiteFunction:
    def field(kind: str, label: str, **more: object) -> Field:
        moves = {"select": "choose", "checkbox": "toggle"}
        return Field(PageMove(moves.get(kind, "fill"), label, label.lower()), kind, label, **more)  # type: ignore[arg-type]

    fields = (
        field("text", "Title", required=True), field("textarea", "Text"),
        field("select", "Priority", options=("High",)), field("checkbox", "Notify me"),
    )  # fmt: skip
    trail = (PageMove("follow", place),)
    button = "Save ticket" if category == "edit" else "Create ticket"
    return SiteFunction(category, trail, (place,), button, fields, PageMove("press", button), action, action)


FUNCTIONS = [function(), function("Broken lamp", "edit", "/1"), function("Lost key", "edit", "/2")]


def test_a_seed_gives_the_same_candidates_and_others_differ() -> None:
    one, again, other = (list(candidates(FUNCTIONS, seed, 4)) for seed in ("1", "1", "2"))
    assert one == again and one != other
    assert len({each.instruction for each in one}) == len(one) >= 8


def test_every_candidate_is_read_as_it_was_meant() -> None:
    found = [*candidates(FUNCTIONS, "3", 8), *rows(FUNCTIONS, "3", 6)]
    assert len(found) > 20 and [ambiguous(each, FUNCTIONS) for each in found] == [""] * len(found)
    for each in found:
        assert all(f'"{move.value}"' in each.instruction for move in each.inputs if move.kind != "toggle")


def test_what_was_put_in_last_is_what_covers_a_move() -> None:
    part = draw_part(FUNCTIONS[0], random.Random(1), 3)
    assert part is not None and len(part.inputs) >= 2
    found = single_candidate(part)
    assert covering(found, found.plan[-1]) == (part.inputs[-1],)
    assert covering(found, part.inputs[1]) == (part.inputs[0],)
    assert covering(found, part.inputs[0]) == (), "a link comes before it"
    assert covering(found, None) == () and covering(found, PageMove("press", "Elsewhere")) == ()


def test_values_fit_what_a_field_is_called() -> None:
    def drawn(label: str) -> str:
        return draw_value(Field(PageMove("fill", label), "text", label), random.Random(3))

    assert drawn("content type") in MEDIA_TYPES and drawn("Query") in QUERIES and drawn("Title") not in QUERIES


def test_a_form_that_the_frame_brings_up_is_one_whatever_page_is_behind_it() -> None:
    def brought_up(place: str, around: str) -> Explored:
        opener = Control("button", "Add entry", around=around)
        fields = (Control("text", "Payee"), Control("button", "Save"))
        view = View(f"http://h/{place}", place, "", (place,), (), (opener, *fields), (), 0, 9, 9, 0, 9)
        return Explored(
            view, (PageMove("follow", place), PageMove("press", "Add entry")), (place, "Add entry"), fresh=fields
        )

    for around, count in (("frame", 1), ("content", 2)):
        found, _ = functions_of([brought_up("Stock", around), brought_up("Sales", around)])
        saves = [each for each in found if each.button == "Save"]
        assert len(saves) == count and (saves[0].places == ("Add entry",)) == (count == 1)


def test_two_objects_of_one_name_are_ambiguous() -> None:
    twin = dataclasses.replace(FUNCTIONS[1], action="/9")
    part = draw_part(FUNCTIONS[1], random.Random(0), 2)
    assert part is not None
    assert not ambiguous(single_candidate(part), FUNCTIONS)
    assert "more than one" in ambiguous(single_candidate(part), [*FUNCTIONS, twin])


def test_a_value_under_another_label_is_another_reading() -> None:
    said = 'Edit the page of "Lost key" so that it has Title "a" and Text "b", and press "Save ticket".'
    ((found, values),) = readings(said, FUNCTIONS)
    assert found.action == "/2" and values == {"Title": "a", "Text": "b"}
    assert not readings(said.replace("Text", "Colour"), FUNCTIONS)
    assert not readings(said.replace("Lost key", "Lost kitten"), FUNCTIONS)
    assert not readings(said.replace('Text "b"', 'Priority "Purple"'), FUNCTIONS)


def test_a_field_that_no_reader_shows_is_drawn_no_more() -> None:
    hidden: set[tuple[str, str]] = set()
    offered = candidates(FUNCTIONS[1:], "1", 12, hidden)
    assert {move.label for _ in range(8) for move in next(offered).inputs} > {"Title", "Text"}
    hidden |= {("/1?", "Title"), ("/2?", "Title"), ("/1?", "Text"), ("/2?", "Text")}
    assert FUNCTIONS[1].program == FUNCTIONS[2].program == "/#?"
    hidden |= {("/#?", "Text")}
    assert all(move.label != "Text" for each in offered for move in each.inputs)
    hidden |= {("/new?", "Title")}
    assert draw_part(function(), random.Random(0), 2, hidden) is None  # it needs a title


def test_what_readers_show_is_tried_first() -> None:
    def named(category: str, button: str, label: str, action: str) -> SiteFunction:
        field = Field(PageMove("fill", label, label.lower()), "text", label)
        return SiteFunction(category, (), ("Home",), button, (field,), PageMove("press", button), "/", action)

    settings = named("configure", "Save settings", "Title", "/settings")
    query = named("edit", "Update", "Rows per page", "/query")
    ticket = named("create", "Create", "Title", "/newticket")
    delete = named("delete", "Delete", "Reason", "/ticket/3")
    tables = {"tickets": [{"title": "Lamp", "dueDate": ""}]}
    found = order_by_promise([settings, query, delete, ticket], tables)
    assert {each.button for each in found[:2]} == {"Create", "Delete"}
    assert [each.button for each in found[2:]] == ["Update", "Save settings"]


def test_long_rows_are_no_tasks() -> None:
    parts = [part for each in FUNCTIONS if (part := draw_part(each, random.Random(1), 4)) is not None]
    long = sequential_candidate(parts, random.Random(1))
    assert long.steps == sum(single_candidate(part).steps for part in parts) > 10 and too_long(long)


@pytest.mark.parametrize(
    ("instruction", "leaked"),
    [
        ('Change Title to "x_y" of "Home".', False),
        ("Change ticket_id of the page.", True),
        ("Open http://localhost:8001/tktnew and write.", True),
        ('Set Homepage "http://amber.example.com/".', False),
        ("Press <b>Save</b>.", True),
    ],
)
def test_agent_facing_text_holds_no_ground_truth(instruction: str, leaked: bool) -> None:
    assert bool(leaks(instruction, ["ticket_id", "x_y", "title"])) == leaked


def test_a_rewriter_loses_nothing_that_is_quoted() -> None:
    class Says:
        def __init__(self, answer: str) -> None:
            self.answer = answer

        def rewrite(self, instruction: str) -> str:
            return self.answer

    said = 'Create a ticket with Title "Lamp".'
    assert refine(said, Says('Please create a ticket whose Title is "Lamp".'))[1] == ""
    for answer in ("", "I cannot help with that.", 'Create a ticket with Title "Lamps".', f"{said} " * 4):
        assert refine(said, Says(answer))[0] == said and refine(said, Says(answer))[1]
    assert normalized('Create a  ticket, with title "LAMP"') == normalized(said)


def test_a_model_that_returns_nonsense_leaves_nothing_out() -> None:
    assert read_numbers("The core ones are [0, 2].", 3) == [0, 2]
    assert read_numbers("[0, 7]", 3) == [0]
    assert read_numbers("none of them", 3) == read_numbers("[1,,]", 3) == [0, 1, 2]


def test_a_link_of_a_list_is_called_by_its_row_and_never_by_a_hash() -> None:
    def link(row: str, href: str, label: str = "edit") -> Control:
        return Control("link", label, href=href, row=row)

    def page(*controls: Control) -> View:
        return View("http://h/", "", "", (), (), controls, (), 0.0, 9, 9, 0.0, 9.0)

    one, two, twin = link("Lamp", "/1"), link("Desk", "/2"), link("Lamp", "/3")
    assert name_of(page(one), one) == "edit" and name_of(page(one, two), two) == "Desk"
    assert name_of(page(one, two, twin), one) == ""
    hashed = link("Rug", "/4", "005c00cf18")
    assert name_of(page(one, hashed), hashed) == "Rug"


def test_an_object_that_nothing_tells_from_others_makes_no_task() -> None:
    for name, said in (("Lamp", ""), ("", "nothing tells the object")):
        places = ("Tickets", "Lamp", "Edit a ticket")
        made = dataclasses.replace(FUNCTIONS[1], object=name, places=places)
        part = draw_part(made, random.Random(0), 2)
        assert part is not None and ambiguous(single_candidate(part), [made]).startswith(said)
        assert (f'"{name}"' in part.instruction) == bool(name)


def test_a_button_of_a_list_says_what_it_removes() -> None:
    def listed(*rows: str) -> Explored:
        buttons = [Control("button", "remove", row=row, hit=True) for row in rows]
        return Explored(
            View("http://h/m", "Members", "", ("Members",), (), tuple(buttons), (), 0.0, 9, 9, 0.0, 9.0), (), ()
        )

    functions, _ = functions_of([listed("Ada", "Chen", "Chen")])
    assert {(each.object, each.row) for each in functions} == {("Ada", "Ada"), (None, "")}
    ada = next(each for each in functions if each.row)
    part = draw_part(ada, random.Random(0), 1)
    assert part is not None and '"Ada"' in part.instruction and not ambiguous(single_candidate(part), [ada])
    other = dataclasses.replace(ada, object="Chen", row="Chen", places=("Members", "Chen"))
    assert not ambiguous(single_candidate(part), [ada, other]) and ada.key != other.key


def test_a_form_that_a_script_sends_is_no_search() -> None:
    save, form = Control("button", "Save", form=0, type="submit", hit=True), PageForm("get", "http://h/")
    for name, said in (("", ""), ("q", "it only looks things up")):
        fields = [Control("text", "Payee", name=name, form=0)]
        view = View("http://h/", "", "", (), (form,), (*fields, save), (), 0.0, 9, 9, 0.0, 9.0)
        assert trivial(view, save, fields) == said


@pytest.mark.parametrize(("value", "left_out"), [("2026-05-01", False), ("", True)])
def test_a_date_that_is_there_already_needs_no_typing(value: str, left_out: bool) -> None:
    fields = [Control("date", "Day", form=0, required=True, value=value), Control("text", "What", "what", form=0)]
    save = Control("button", "Add bill", form=0, type="submit", hit=True)
    form = PageForm("post", "http://h/add")
    view = View("http://h/", "", "", (), (form,), (*fields, save), (), 0.0, 9, 9, 0.0, 9.0)
    assert bool(trivial(view, save, fields)) == left_out
    assert trivial(dataclasses.replace(view, forms=(PageForm("get", form.action),)), save, fields[1:])
