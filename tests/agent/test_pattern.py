"""Patterns of responses: what they match is read, and what is printed they match."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent import parse_response
from tars_jax.agent.actions import FUNCTIONS
from tars_jax.agent.grammar import GRAMMARS, format_response
from tars_jax.agent.pattern import response_pattern
from tars_jax.agent.response import ParseError, Response

TOOLS = {"execute_bash": ("cmd", "timeout"), "Search": ()}


@pytest.mark.parametrize("grammar", GRAMMARS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_text_of_the_pattern_is_parsed(grammar: str, data: st.DataObject) -> None:
    pattern = response_pattern(grammar, tools=TOOLS, most_calls=3)
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    response = parse_response(text, grammar, tools=frozenset(TOOLS))
    assert not isinstance(response, ParseError), response
    # Nothing of the call was taken for something else: it is printed and read back as the same.
    again = parse_response(format_response(response, grammar), grammar, tools=frozenset(TOOLS))
    assert again == response


@pytest.mark.parametrize(
    "text",
    [
        "Thought: the way is left\nAction: click(point='<point>500 120</point>')",
        "Thought: one\n\n two\nAction: drag(start_point='<point>0 0</point>', end_point='<point>1000 7</point>')",
        r"Action: type(content='it\'s\n')",
        "Action: hotkey(key='ctrl shift t')",
        r"Action: hotkey(key='\'')",
        "Action: wait()",
        "Action: wait(time='60')",
        "Action: scroll(direction='down')",
        "Action: scroll(point='<point>1 2</point>', direction='down')",
        "Action: mouse_down()",
        "Action: mouse_down(button='right')",
        "Action: Search()",
        "Action: execute_bash(timeout='5')",
        "Action: finished()",
    ],
)
def test_canonical_texts_match(text: str) -> None:
    assert re.fullmatch(response_pattern("text", tools=TOOLS), text)
    response = parse_response(text, tools=frozenset(TOOLS))
    assert isinstance(response, Response)
    assert re.fullmatch(response_pattern("tool", tools=TOOLS), format_response(response, "tool"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thought: no call",
        "Action: click()",
        "Action: click(point='<point>500</point>')",
        "Action: click(point='<point>5000 1</point>')",
        "Action: drag(end_point='<point>1 2</point>')",
        "Action: wait(time='61')",
        "Action: hotkey(key='a b c d')",
        "Action: hotkey(key='C')",
        "Action: type(content='it's')",
        "Action: wait()\n\nwait()",
        "Action: fly()",
        "Thought: x\nAction: wait()\nAction: wait()",
    ],
)
def test_other_texts_do_not_match(text: str) -> None:
    assert not re.fullmatch(response_pattern("text"), text)


def test_a_thought_may_be_required_or_forbidden() -> None:
    with_thought, without = "Thought: x\nAction: wait()", "Action: wait()"
    matches = {
        thought: [bool(re.fullmatch(response_pattern(thought=thought), text)) for text in (with_thought, without)]
        for thought in ("optional", "required", "never")
    }
    assert matches == {"optional": [True, True], "required": [True, False], "never": [False, True]}


def test_only_the_given_functions() -> None:
    pattern = response_pattern(functions=("wait",))
    assert re.fullmatch(pattern, "Action: wait()")
    assert not any(re.fullmatch(pattern, f"Action: {name}()") for name in FUNCTIONS if name != "wait")


@pytest.mark.parametrize(
    "arguments, named",
    [
        ({"grammar": "xml"}, "grammar"),
        ({"functions": ("fly",)}, "fly"),
        ({"functions": ()}, "functions"),
        ({"tools": {"a b": ()}}, "a b"),
        ({"thought": "maybe"}, "maybe"),
        ({"most_calls": 0}, "most_calls"),
    ],
)
def test_impossible_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        response_pattern(**arguments)  # type: ignore[arg-type]
