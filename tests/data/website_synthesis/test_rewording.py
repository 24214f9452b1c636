"""What an instruction asks for is said of the thing that is meant, and can be said anew without touching its check."""

from __future__ import annotations

import dataclasses

import pytest

from tars_jax.data.website_synthesis.phrases import Heading, field_name, read_heading
from tars_jax.data.website_synthesis.rewording import reword, told_in
from tars_jax.data.website_synthesis.task import task_id
from tars_jax.tasks.websites.effect import Change, Effect
from tars_jax.tasks.websites.task import SYNTHESIZED, WebsiteTask, read_website_tasks


def task(site: str, instruction: str, *changes: Change, answer: str | None = None, about: object = None) -> WebsiteTask:
    effect = Effect(changes or ((Change("rows", is_={"a": "b"}),) if answer is None else ()))
    return WebsiteTask(task_id(site, instruction), site, instruction, effect, answer, about=dict(about or {}))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Edit Ticket", Heading("ticket")), ("Edit this bill", Heading("bill")),
        ("Create New Report Format", Heading("report format", is_new=True)),
        ("+ Add column", Heading("column", is_new=True)),
        ("Enter A New Ticket", Heading("ticket", is_new=True)), ("New Issue Editing", Heading("issue", is_new=True)),
        ("Garden Project: edit", Heading("page", "Garden Project")), ("Issue9 Editing", Heading(name="Issue9")),
        ("Editing Text page: Kitchen Rota", Heading("text page", "Kitchen Rota")),
        ("Rename WikiStart", Heading(name="WikiStart")), ("Edit Page (e)", Heading("page")), ("copy", Heading()),
        ("Active Tickets", Heading(name="Active Tickets", is_plain=True)),
        ("#1 new task", Heading(name="#1 new task", is_plain=True)),
        ("Update: book fair", Heading(name="Update: book fair", is_plain=True)),
    ],
)  # fmt: skip
def test_a_heading_says_a_kind_or_a_name(said: str, read: Heading) -> None:
    assert read_heading(said) == read


def test_a_field_is_called_by_what_it_holds() -> None:
    assert field_name("Enter a one-line summary of the ticket") == "one-line summary"
    assert (
        field_name("a one-line summary of the ticket") == "one-line summary" and field_name("The owner") == "The owner"
    )
    assert (
        field_name("Draft of 'New Tiddler' by anna") == "title"
        and field_name("You may use WikiFormatting here") == "text"
    )
    assert field_name("Type") == "Type" and field_name("Enter") == "Enter" and field_name("Who paid?") == "Who paid?"


@pytest.mark.parametrize(
    ("former", "said"),
    [
        ('Edit the page of "Create New Report Format" so that it has Report Title "List", and press "Apply Changes".',
         'Add a report format with Report Title "List", by "Apply Changes".'),
        ('Change the page of "Edit Ticket" under "Lamp hums" so that it has Type "Bug" and text "Now", and press "Go".',
         'Change the ticket "Lamp hums" so that it has Type "Bug" and text "Now", and press "Go".'),
        ('Update the page of "Edit this bill" under "2025-09-10" so that it has "Liam" not ticked, and press "Submit".',
         'Update the bill of "2025-09-10" so that it has "Liam" not ticked, and press "Submit".'),
        ('Edit the page of "Home: edit" so that it has text "a and b" (in place of all that is there), and press "Ok".',
         'Edit the page "Home" so that it has text "a and b" (in place of all that is there), and press "Ok".'),
        ('Add a settlement at "25.03", by "Register settlement".',
         'Add the settlement in the row of "25.03", by "Register settlement".'),
        ('Remove "Li <li@x.org>" with the button "Delete email". Next, get rid of "Jo <jo@x.org>" under "News" with '
         'the button "Delete email".',
         'Remove the email of "Li <li@x.org>" with the button "Delete email". Next, get rid of the email of '
         '"Jo <jo@x.org>" ("News") with the button "Delete email".'),
        ('Delete "msg9 (view)" under "Issue9 Editing" for "Keys are lost" with the button "remove".',
         'Delete "msg9" ("Keys are lost") in "Issue9" with the button "remove".'),
        ('Delete "msg9 (view)" ("Keys are lost") in "Issue9" in "Issues" with the button "remove".',
         'Delete "msg9" ("Keys are lost") in "Issue9" in "Issues" with the button "remove".'),
        ('Create an entry at "#1 new task" with You may use WikiFormatting here "Keep it.", by "Submit changes".',
         'Create a comment in "#1 new task" with text "Keep it.", by "Submit changes".'),
        ('Add a column at "+ Add column" for "product" with Column name "kelp", by "Add column".',
         'Add a column to "product" with Column name "kelp", by "Add column".'),
        ("Do something else.", "Do something else."),
        ('Go to "Home" and press "Save".', 'Go to "Home" and press "Save".'),
    ],
)  # fmt: skip
def test_a_former_instruction_is_said_of_the_thing(former: str, said: str) -> None:
    before = task("trac", former)
    (now,) = reword([before])
    assert now.instruction == said
    assert now == dataclasses.replace(before, id=task_id("trac", said), instruction=said)
    assert reword([now]) == [now], "who is asked twice changes nothing"


def test_a_part_that_cannot_be_read_leaves_all_of_it_as_it_was() -> None:
    said = 'Delete "A" with the button "Remove". Then do as you like with "B".'
    assert told_in(said) is None and reword([task("trac", said)])[0].instruction == said


def test_what_several_tasks_say_together() -> None:
    def entry(place: str, name: str, payee: str = "*") -> WebsiteTask:
        at = f' at "{place}"' if place else ""
        said = f'Make an entry{at} with name "{name}", by "Insert".'
        return task("trac", said, Change("things", is_={"name": name, "flag": payee}))

    same = [entry("product", "a"), entry("product", "b"), entry("", "c")]
    assert [each.instruction.count('in "product"') for each in reword(same)] == [1, 1, 1], "all that say one say this"
    many = [entry("One", "a"), entry("Two", "b"), entry("Three", "c")]
    assert not any(" in " in each.instruction for each in reword(many)), "the place makes no difference"
    told = [entry("One", "a", "1"), entry("Two", "b", "2"), entry("Three", "c", "3")]
    assert all(" in " in each.instruction for each in reword(told)), "it makes one"
    two = [entry("One", "a"), entry("Two", "b"), entry("", "c")]
    assert [" in " in each.instruction for each in reword(two)] == [True, True, False]


def test_a_heading_of_several_pages_is_no_page() -> None:
    def asked(row: str, page: str, click: str) -> WebsiteTask:
        said = (
            f'What does the column "Owner" say in the row of "{row}" on the page "{page}"? Answer with that text alone.'
        )
        return task("trac", said, answer="x", about={"solution": [f"click({click})", "finished(content='x')"]})

    found = reword([asked("1", "Desk", "a"), asked("2", "Desk", "b"), asked("3", "List", "c"), asked("4", "List", "c")])
    assert ['anywhere in "Desk"' in each.instruction for each in found] == [True, True, False, False]
    assert ['on the page "List"' in each.instruction for each in found] == [False, False, True, True]


def test_the_shipped_tasks_are_said_as_they_would_be_composed_now() -> None:
    shipped = list(read_website_tasks(SYNTHESIZED))
    assert reword(shipped) == shipped
    assert not [each.id for each in shipped if each.id != task_id(each.site, each.instruction)]
    assert not [each.id for each in shipped if "the page of " in each.instruction]
    unread = [each.instruction for each in shipped if each.answer is None and 'the page "' not in each.instruction]
    assert not [said for said in unread if '": edit' in said or "Editing" in said]
