"""A form that was not taken says what it wants; a site's own words say what may stand in a field."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import re
from collections.abc import Mapping
from typing import Any

import pytest

from tars_jax.data.config import ExplorationConfig, WebsiteSynthesisConfig
from tars_jax.data.website_synthesis.composition import draw_part
from tars_jax.data.website_synthesis.driver import open_driver
from tars_jax.data.website_synthesis.exploration import Explored
from tars_jax.data.website_synthesis.functions import Field, functions_of
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.refusals import left_empty, refusals, with_required_fields
from tars_jax.data.website_synthesis.synthesis import REFUSED, SiteReport, synthesize
from tars_jax.data.website_synthesis.values import draw_value, kind_wanted
from tars_jax.data.website_synthesis.view import Control, PageForm, View
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tests.data.website_synthesis.local_site import Answer, LocalSite


def view(*controls: Control, alerts: tuple[str, ...] = (), url: str = "http://h/new") -> View:
    forms = (PageForm("post", "http://h/new"),)
    return View(url, "", "", ("Stock",), forms, controls, (), 0.0, 9, 9, 0.0, 9.0, alerts)


def text(label: str, **more: Any) -> Control:
    return Control("text", label, label.lower(), form=0, **more)


SAVE = Control("button", "Insert", form=0, type="submit", hit=True)
PAGE = view(text("Name"), text("Price"), SAVE)
((INSERT,), _) = functions_of([Explored(PAGE, (), ())])


def test_a_form_that_is_shown_again_says_which_fields_it_refuses() -> None:
    refused = view(text("Name", value="Lamp"), text("Price", value="x", refused="Value is not a number."), SAVE)
    assert refusals(refused, INSERT, {"Name", "Price"}) == (("/new?", "Price", "number"),)
    above = view(text("Name"), text("Price"), SAVE, alerts=("Name and price are required.",))
    assert refusals(above, INSERT, {"Name"}) == (("/new?", "Price", ""),)
    assert not refusals(view(text("Name"), text("Price"), SAVE, alerts=("The price is kept.",)), INSERT, set())
    anew = view(text("Name", refused="Please fill out this field."), text("Price"), SAVE)
    assert not refusals(anew, INSERT, {"Name"}) and refusals(anew, INSERT, {"Price"})
    gone = view(text("Name", refused="It is not one."))
    assert not refusals(gone, INSERT, set()) and not left_empty(gone, INSERT, set())


def test_what_a_form_wants_is_put_in_the_next_time() -> None:
    (function,) = with_required_fields([INSERT], [("/new?", "Price", "number"), ("/other?", "Name", "")])
    assert [each.required for each in function.fields] == [False, True]
    part = draw_part(function, random.Random(0), 1)
    assert part is not None and [move.label for move in part.inputs] == ["Price"] and part.inputs[0].value.isdigit()


def test_a_new_form_that_says_nothing_is_filled_in_whole_once() -> None:
    assert left_empty(PAGE, INSERT, {"Name"}) == (("/new?", "Price", ""),)
    assert not left_empty(PAGE, INSERT, {"Name", "Price"})
    assert not left_empty(PAGE, dataclasses.replace(INSERT, category="edit"), {"Name"})


@pytest.mark.parametrize(
    ("hint", "pattern"),
    [
        ("INTEGER NOT NULL", r"\d+"), ("REAL", r"\d+"), ("DATE", r"\d{4}-\d\d-\d\d"), ("hh:mm", r"\d\d:\d\d"),
        ("DATETIME", r"\d{4}-\d\d-\d\d \d\d:\d\d"), ("BOOL", "[01]"), ("Your e-mail", r"\S+@example\.com"),
        ("my_column", r"[a-z]+\d\d"),
        ("TEXT", r"[A-Z].* .*"), ("It is told to everybody who is on the list, of any number", r"[A-Z].* .*"),
    ],
)  # fmt: skip
def test_a_value_is_of_the_kind_that_the_page_asks_for(hint: str, pattern: str) -> None:
    field = Field(PageMove("fill", "Thing", "thing"), "text", "Thing", hint=hint)
    assert all(re.fullmatch(pattern, draw_value(field, random.Random(seed))) for seed in range(5))
    assert bool(kind_wanted(hint)) == (pattern != r"[A-Z].* .*")


@pytest.mark.parametrize(("hint", "needed"), [("REAL NOT NULL", True), ("not required", False), ("required", True)])
def test_a_field_is_needed_if_the_page_says_so(hint: str, needed: bool) -> None:
    ((function,), _) = functions_of([Explored(view(text("Name", hint=hint), SAVE), (), ())])
    assert function.fields[0].required == needed


def test_what_a_button_brought_up_to_be_made_is_created_and_called_by_it() -> None:
    fields, save = (Control("text", "Payee", form=0, value="Old"),), dataclasses.replace(SAVE, label="Save")
    shown = view(*fields, save)
    for opener, category in (("Add journal entry", "create"), ("Edit entry", "edit")):
        brought = Explored(shown, (PageMove("press", opener),), (), b"", (*fields, save))
        ((function,), _) = functions_of([brought])
        part = draw_part(function, random.Random(0), 1)
        assert function.category == category and part is not None
        assert ("journal entry" in part.instruction) == (category == "create")


class Stock(LocalSite):
    """A site whose only form lies behind a sign, cannot be sent before it is filled in, and is sent by a script."""

    PAGE = """<!doctype html><title>Stock</title><h1>Stock</h1><ul id=all></ul>
    <a href="#new" title="Add product" onclick="document.querySelector('form').hidden = false">+</a>
    <form hidden onsubmit="event.preventDefault(); send(this)" oninput="this.lastElementChild.disabled = false">
      <p><label>Product <input id=name></label> <small>TEXT NOT NULL</small></p>
      <p><label>Pieces <input id=pieces></label> <span class=error></span></p>
      <button disabled>Save</button></form>
    <script>
      async function send({ elements }) {
        const sent = { name: elements.name.value, pieces: elements.pieces.value };
        const answer = await fetch('/', { method: 'POST', body: JSON.stringify(sent) });
        document.querySelector('.error').textContent = answer.ok ? '' : 'This is not a number.';
      }
    </script>"""

    LIST = "<!doctype html><title>Bills</title><h1 id=bills>Bills <a href='#bills' title='Link'>#</a></h1><table>"
    LIST += "".join(
        f"<tr><td>2025-01-01<td>{payer}<td><button title='Delete bill'>×</button>" for payer in ("Ada", "Chen")
    ) + "</table>" + "".join(
        f"<button><div>Dmitri</div><div>Just now</div><div>Invoice from {shop}</div></button>" for shop in ("A", "B")
    )  # fmt: skip

    def __init__(self) -> None:
        self.rows: list[Mapping[str, str]] = []
        super().__init__()

    def get(self, path: str) -> Answer:
        return Answer(self.LIST if path == "/list" else self.PAGE)

    def post(self, path: str, body: str) -> Answer:
        sent = json.loads(body)
        is_right = sent["pieces"].isdigit() and sent["name"] != ""
        self.rows += [sent] if is_right else []
        return Answer(status=200 if is_right else 400)

    async def reset(self) -> None:
        self.rows = []

    async def snapshot(self) -> dict[str, Any]:
        return {"products": list(self.rows)}


@pytest.mark.browser
@pytest.mark.slow
def test_a_form_behind_a_sign_is_found_and_its_refusal_mended_and_entries_are_told_apart() -> None:
    config = WebsiteSynthesisConfig(
        tasks=1, each=3, merged=0, rows=0, questions=0, random_episodes=0,
        exploration=ExplorationConfig(pages=1, presses=1),
    )  # fmt: skip

    async def worked() -> tuple[SiteReport, View]:
        site = Stock()
        try:
            async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=2)) as manager:
                report = await synthesize(manager, site, "stock", config)
                async with open_driver(manager, site) as driver:
                    await driver.open(f"{site.url}list")
                    return report, await driver.view()
        finally:
            site.close()

    report, listed = asyncio.run(worked())
    assert [(each.label, each.row, each.entry) for each in listed.controls] == [
        ("Delete bill", "Ada", False), ("Delete bill", "Chen", False),
        ("Invoice from A", "", True), ("Invoice from B", "", True),
    ]  # fmt: skip
    (task,) = report.tasks
    assert report.rejected[REFUSED] == 1 and task.steps == 4 and task.category == "create"
    values = {move.label: move.value for move in task.plan if move.kind == "fill"}
    assert values["Pieces"].isdigit() and set(values) == {"Product", "Pieces"} and '"Save"' in task.instruction
