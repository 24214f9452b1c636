"""How a form is filled in by a reference player: skilled, careless, and where there is no form."""

from __future__ import annotations

import random
from typing import Any

from tars_jax.envs.website_players import reference_move

FORM = {
    "boxes": [["a", "apple", True], ["b", "bread", False], ["c", "cake", True]],
    "button": ["send", "done"],
    "hidden": {"key": "x y"},
}
POINTS = {"send": [90, 50], "a": [10, 100], "b": [10, 200], "c": [10, 300]}


def state(ticked: str, **more: Any) -> dict[str, Any]:
    controls = [{"name": name, "checked": name in ticked, "point": point} for name, point in POINTS.items()]
    controls.append({"name": "send", "checked": False, "point": [90, 900]})  # the same button, below
    return {"form": FORM, "controls": controls, "start": "/form", "solution": [], "by": "gui", **more}


def moves(ticked: str, skill: float) -> list[tuple[str, Any]]:
    rng = random.Random(0)
    made = [reference_move(state(ticked), rng, skill) for _ in range(200)]
    assert {move.function for move in made} == {"click"}
    return [(move.thought, move.parameters["point"]) for move in made]


def test_the_first_box_that_is_wrong_comes_first_and_the_button_last() -> None:
    assert set(moves("", 1.0)) == {("apple", (10, 100)), ("apple, cake to apple", (10, 100))}
    assert set(moves("abc", 1.0)) == {("bread", (10, 200)), ("bread to bread", (10, 200))}
    assert set(moves("ac", 1.0)) == {("done", (90, 50))}


def test_a_careless_player_says_what_it_does_and_does_anything() -> None:
    found = moves("", 0.0)
    assert {point for _, point in found} == {tuple(point) for point in POINTS.values()}
    assert ("cake", (10, 300)) in found and ("apple, cake to done", (90, 50)) in found
    right = sum(point == (10, 100) for _, point in moves("", 0.5)) / 200
    assert 0.5 < right < 0.75  # half of its moves, and a quarter of the others


def test_where_the_form_is_not_in_view_it_is_opened() -> None:
    move = reference_move({**state(""), "controls": []}, random.Random(0), 1.0)
    assert (move.function, move.parameters) == ("navigate", {"content": "/form"})


def test_without_a_page_the_form_is_one_request() -> None:
    move = reference_move({**state(""), "by": "sdk"}, random.Random(0), 1.0)
    assert (move.thought, move.function) == ("apple, cake", "request")
    assert (move.parameters["method"], move.parameters["path"]) == ("POST", "/form")
    assert move.parameters["body"] == "key=x+y&send=1&a=1&c=1"
    careless = {reference_move({**state(""), "by": "sdk"}, random.Random(n), 0.0).thought for n in range(200)}
    assert len(careless) == 8 and {"none", "apple, bread, cake"} < careless


def test_without_a_form_the_recorded_calls_are_made() -> None:
    recorded = {"solution": [("type", {"content": "x"})]}
    assert reference_move(recorded, random.Random(0)).function == "type"
    assert reference_move(recorded, random.Random(0), 0.0).function == "wait"
    assert reference_move({"solution": []}, random.Random(0)).function == "finished"
