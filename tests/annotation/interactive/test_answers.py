"""A thought and calls, as people write them, in the policy's grammar."""

from __future__ import annotations

import pytest

from tars_jax import InputError
from tars_jax.agent import parse_response
from tars_jax.agent.actions import Click, Point, Type
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


@pytest.mark.parametrize("calls", ["", "clock()", "click(", "click(point='<point></point>')", "open_app(app_name='x')"])
def test_what_cannot_be_read_is_refused(calls: str) -> None:
    with pytest.raises(InputError):
        answer_text("on", calls, "tool", SPACE)


def test_calls_alone_are_completed() -> None:
    assert [each.insert for each in complete_calls("left", 4, SPACE)] == ["_double("]
    assert complete_calls("", 0, SPACE)[0].insert == "click("
