"""A step's actions at the place that somebody has shown on the picture."""

from __future__ import annotations

import pytest

from tars_jax import InputError
from tars_jax.agent.actions import Click, Drag, LeftDouble, Point, Press, Release, Scroll, Type
from tars_jax.annotation.in_situ.review.changes import placed, read_place

THERE, HERE = Point(100, 200), Point(700, 800)


def test_all_that_points_goes_to_the_place_and_the_rest_stays() -> None:
    triple = (LeftDouble(HERE), Click(HERE))
    assert placed(triple, [THERE]) == (LeftDouble(THERE), Click(THERE))
    held = (Press("ctrl"), Click(HERE), Release("ctrl"))
    assert placed(held, [THERE]) == (Press("ctrl"), Click(THERE), Release("ctrl"))
    assert placed((Scroll(None, "down"), Scroll(None, "down")), [THERE]) == (Scroll(THERE, "down"),) * 2


def test_a_drag_takes_the_place_of_clicks_and_a_click_that_of_a_drag() -> None:
    assert placed((LeftDouble(HERE), Click(HERE)), [THERE, HERE]) == (Drag(THERE, HERE),)
    held = (Press("ctrl"), Click(HERE), Release("ctrl"))
    assert placed(held, [THERE, HERE]) == (Press("ctrl"), Drag(THERE, HERE), Release("ctrl"))
    assert placed((Drag(THERE, HERE),), [HERE]) == (Click(HERE),)


def test_what_no_action_said_becomes_a_click_or_a_drag() -> None:
    assert placed((), [THERE]) == (Click(THERE),)
    assert placed((), [THERE, HERE]) == (Drag(THERE, HERE),)


def test_typing_has_no_place() -> None:
    with pytest.raises(InputError, match="must click, scroll or drag to have a place; this one has type"):
        placed((Type("hello"),), [THERE])


@pytest.mark.parametrize("given", [[1], [1, 2, 3], [1, 1001], [-1, 5], [float("nan"), 1], ["1", 2], None, {}])
def test_what_is_no_place_is_refused(given: object) -> None:
    with pytest.raises(InputError, match="place must be"):
        read_place(given)
