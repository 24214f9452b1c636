"""The adversary makes the wrong ends that somebody would; a whole effect takes none, and a lenient one is caught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.mutants import KINDS, RightEnd, mutants, passing, similar_values
from tars_jax.tasks.websites.effect import Change, Effect
from tars_jax.tasks.websites.tables import Tables, fingerprint, to_tables

LAMP = {"name": "Lamp", "note": "old", "by": "ada"}
DESK = {"name": "Desk", "note": "new", "by": "bo"}
RUG = {"name": "Rug", "note": "red", "by": "ada"}
DOOR = {"name": "Door", "note": "loud bell", "by": "bo"}
BEFORE = to_tables({"things": [LAMP, DESK, RUG], "users": [{"login": "ada"}, {"login": "bo"}]})
FILLED = (PageMove("fill", "Name", value="Door"), PageMove("fill", "Note", value="loud bell"))


def ending(*rows: Mapping[str, Any], users: Sequence[str] = ("ada", "bo")) -> Tables:
    return to_tables({"things": list(rows), "users": [{"login": each} for each in users]})


ADDED = RightEnd(BEFORE, ending(LAMP, DESK, RUG, DOOR), Effect((Change("things", is_=DOOR),)), FILLED)
BELL = {**DESK, "note": "loud bell"}
EDITED = RightEnd(
    BEFORE, ending(LAMP, BELL, RUG), Effect((Change("things", {"name": "Desk"}, is_={"note": "loud bell"}),)),
    FILLED[1:],
)  # fmt: skip
DELETED = RightEnd(BEFORE, ending(LAMP, RUG), Effect((Change("things", {"name": "Desk"}, gone=True),)))


def of_kind(end: RightEnd, kind: str) -> set[str]:
    return {fingerprint(each.tables) for each in mutants(end) if each.kind == kind}


# Of each kind ends that were written down by hand.
BY_HAND: list[tuple[str, RightEnd, Tables]] = [
    ("nothing is done", ADDED, BEFORE),
    ("a part is left out", RightEnd(BEFORE, ending(LAMP, BELL, RUG, DOOR), Effect(), FILLED), ending(LAMP, BELL, RUG)),
    ("a part is left out", RightEnd(BEFORE, ending(LAMP, {**BELL, "by": "ada"}, RUG), Effect()),
     ending(LAMP, {**DESK, "by": "ada"}, RUG)),
    ("a text is left out", ADDED, ending(LAMP, DESK, RUG, {**DOOR, "note": ""})),
    ("it is done to another", EDITED, ending({**LAMP, "note": "loud bell"}, DESK, RUG)),
    ("it is done to another", DELETED, ending(DESK, RUG)),
    ("it is done to another", ADDED, ending(LAMP, DESK, RUG, {**DOOR, "by": "ada"})),
    ("a value is only similar", ADDED, ending(LAMP, DESK, RUG, {**DOOR, "name": "dOOR"})),
    ("a value is only similar", EDITED, ending(LAMP, {**DESK, "note": "loud bel"}, RUG)),
    ("a value is only similar", EDITED, ending(LAMP, {**DESK, "note": "red"}, RUG)),
    ("a text is in another field", ADDED, ending(LAMP, DESK, RUG, {"name": "loud bell", "note": "Door", "by": "bo"})),
    ("a text is in another field", EDITED, ending(LAMP, {**DESK, "by": "loud bell"}, RUG)),
    ("it is done twice", ADDED, ending(LAMP, DESK, RUG, DOOR, DOOR)),
    ("something is done beside it", EDITED, ending(LAMP, BELL)),
    ("something is done beside it", EDITED, ending(LAMP, BELL, {**RUG, "by": "ada something else"})),
    ("something is done beside it", EDITED, ending(LAMP, BELL, {**RUG, "by": "ada\n"})),
    ("something is done beside it", DELETED, ending(LAMP, RUG, users=("ada", "bo", "something else"))),
    ("everything else is overwritten", DELETED, to_tables(
        {"things": [dict.fromkeys(LAMP, "something else")] * 2, "users": [{"login": "something else"}] * 2})),
    ("everything else is overwritten", EDITED, ending(LAMP, {**BELL, "name": "something else"}, RUG)),
    ("everything else is deleted", EDITED, ending(BELL, users=())),
    ("everything else is deleted", ADDED, ending(LAMP, DESK, RUG, DOOR, users=())),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "end", "made"), BY_HAND)
def test_a_wrong_end_of_each_kind_is_made(kind: str, end: RightEnd, made: Tables) -> None:
    assert fingerprint(made) in of_kind(end, kind)


def test_undone_again_is_told_where_something_open_stays() -> None:
    before = {**BEFORE, "log": []}
    after = {**ADDED.after, "log": [{"said": "added"}]}
    end = RightEnd(before, after, Effect(ADDED.effect.changes, {"log": ("*",)}), FILLED)
    undone = {**BEFORE, "log": after["log"]}
    assert of_kind(end, "it is undone again") == {fingerprint(undone)}
    assert {each for each, *_ in BY_HAND} | {"it is undone again"} == set(KINDS)


@pytest.mark.parametrize("end", [ADDED, EDITED, DELETED], ids=["added", "edited", "deleted"])
def test_no_wrong_end_passes_the_whole_effect_and_the_right_one_does(end: RightEnd) -> None:
    assert not end.effect.wrong(end.before, end.after)
    count, passed = passing(end)
    assert passed == [] and count > 20


@pytest.mark.parametrize(
    ("end", "effect", "caught"),
    [
        # What checks once were: a text that is somewhere, a row that is there, a number of rows.
        (ADDED, Effect((Change("things", contains={"name": ("Door",)}, open=("note", "by")),)), "a text is left out"),
        (ADDED, Effect((Change("things", is_={"name": "Door", "by": "bo"}, open=("note",)),)), "a text is left out"),
        (ADDED, Effect((Change("things", is_=DOOR),), {"users": ("*",)}), None),
        (EDITED, Effect((Change("things", {"name": "Desk"}, open=("note",)),)), "a text is left out"),
        (EDITED, Effect(open={"things": ("*",)}), "nothing is done"),
        (EDITED, Effect((Change("things", {"name": "Desk"}, is_={"note": "loud bell"}, open=("by",)),)),
         "everything else is overwritten"),
    ],
)  # fmt: skip
def test_an_effect_that_is_too_lenient_is_caught(end: RightEnd, effect: Effect, caught: str | None) -> None:
    """None: a reader that is open as a whole says nothing of what a task is about."""
    _, passed = passing(RightEnd(end.before, end.after, effect, end.inputs))
    assert (caught in passed) if caught else not passed


def test_of_several_texts_in_one_field_each_is_needed() -> None:
    before = to_tables({"lines": [{"text": "begun"}]})
    after = to_tables({"lines": [{"text": "begun"}, {"text": "7 Bakery, Two buns"}]})
    inputs = (PageMove("fill", "Payee", value="Bakery"), PageMove("fill", "Narration", value="Two buns"))
    whole = Effect((Change("lines", contains={"text": ("Bakery", "Two buns")}),))
    last = Effect((Change("lines", contains={"text": ("Two buns",)}),))
    assert passing(RightEnd(before, after, whole, inputs))[1] == []
    assert "a text is left out" in passing(RightEnd(before, after, last, inputs))[1]


def test_similar_values_are_other_values() -> None:
    for value in ("loud bell", "7", "-3", "0", "a", "é"):
        assert value not in similar_values(value) and len(similar_values(value)) >= 3
    assert "8" in similar_values("7") and "LOUD BELL" in similar_values("loud bell")
