"""A thought and calls, as people write them, in the policy's grammar."""

from __future__ import annotations

import pytest

from tars_jax import InputError
from tars_jax.agent import parse_response
from tars_jax.agent.actions import Click, Drag, Point, Type
from tars_jax.agent.platforms import platform_space
from tars_jax.agent.response import ParseError
from tars_jax.annotation.interactive.answers import answer_text, complete_calls

SPACE = platform_space("browser")
CALLS = "click(point='<point>250 500</point>')\n\ntype(content='it\\'s </parameter>')"


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("thought", ["", "on", "so:\nAction: click(\n</think>", "<script>\u202e שלום 🙃"])
def test_what_is_written_is_what_the_policy_would_have_said(grammar: str, thought: str) -> None:
    read = parse_response(answer_text(thought, CALLS, grammar, SPACE), grammar, space=SPACE)
    assert not isinstance(read, ParseError)
    assert read.thought == thought and read.actions == (Click(Point(250, 500)), Type("it's </parameter>"))


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("size", [(1288, 728), (112, 3024), (1000, 1000)])
def test_a_place_lands_where_it_was_placed_in_pixels_too(grammar: str, size: tuple[int, int]) -> None:
    calls = (
        "click(point='<point>0 1000</point>')\n\n"
        "drag(start_point='<point>250 500</point>', end_point='<point>999 1</point>')"
    )
    text = answer_text("there", calls, grammar, SPACE, size)
    read = parse_response(text, grammar, space=SPACE, pixel_size=size)
    assert not isinstance(read, ParseError)
    click, drag = read.actions
    assert isinstance(click, Click) and isinstance(drag, Drag)
    for found, placed in ((click.point, (0, 1000)), (drag.start_point, (250, 500)), (drag.end_point, (999, 1))):
        for at, wanted, side in zip((found.x, found.y), placed, size, strict=True):
            assert abs(at - wanted) * side / 1000 <= 0.5 + 1e-9  # pixels
    assert f"<point>0 {size[1]}</point>" in text


@pytest.mark.parametrize("calls", ["", "clock()", "click(", "click(point='<point></point>')", "open_app(app_name='x')"])
def test_what_cannot_be_read_is_refused(calls: str) -> None:
    with pytest.raises(InputError):
        answer_text("on", calls, "tool", SPACE)


def test_calls_alone_are_completed() -> None:
    assert [each.insert for each in complete_calls("left", 4, SPACE)] == ["_double("]
    assert complete_calls("", 0, SPACE)[0].insert == "click("
