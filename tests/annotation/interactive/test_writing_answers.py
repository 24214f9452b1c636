"""Completion by the grammar, and what a person does with mouse and keyboard as actions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent import PLATFORM_ACTIONS, parse_response
from tars_jax.agent import actions as acts
from tars_jax.agent.actions import FUNCTIONS, Point
from tars_jax.agent.response import Response
from tars_jax.annotation.interactive.completion import MOST, complete, signatures
from tars_jax.annotation.interactive.inputs import action_of
from tars_jax.environment import ActionSpace, Function

SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "deep": {"type": "boolean"}, "by": {"enum": ["date", "it's"]}},
    "required": ["query"],
}
SPACE = ActionSpace("computer", PLATFORM_ACTIONS["computer"], (Function("search", "Looks.", SCHEMA),))
ALL = ActionSpace("computer", tuple(FUNCTIONS), SPACE.functions)


def labels(text: str, grammar: str = "text") -> list[str]:
    return [each.label for each in complete(text, len(text), grammar, SPACE)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ["Thought:", "Action:"]),
        ("Th", ["Thought:"]),
        ("Thought: it is there", ["Action:"]),
        ("Thought: it is there\nA", ["Action:"]),
        ("Action: cl", ["click(point)"]),
        ("Action: se", ["search(query, deep?, by?)"]),
        ("Action: click(", ["point=", ")"]),
        ("Action: scroll(point='<point>1 2</point>', ", ["direction="]),
        ("Action: scroll(point='<point>1 2</point>', direction='d", ["'down'"]),
        ("Action: search(query='a', by=", ["'date'", "'it\\'s'"]),
        ("Action: search(query='a', deep=t", ["true"]),
        ("Action: hotkey(key='ent", ["'enter'"]),
        ("Action: wait()\n\nfin", ["finished(content)"]),
    ],
)
def test_what_may_come_next(text: str, wanted: list[str]) -> None:
    found = labels(text)
    assert found[: len(wanted)] == wanted


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize("name", sorted([*PLATFORM_ACTIONS["computer"], "search"]))
def test_an_answer_written_by_completion_alone_can_be_read(grammar: str, name: str) -> None:
    """Always the first completion that goes on: from nothing to a whole call of each function."""
    opening = "Action: " if grammar == "text" else "<seed:tool_call><function="
    text = opening + name[:1]
    for _ in range(40):
        parsed = parse_response(text, grammar, space=SPACE)
        if isinstance(parsed, Response):
            break
        found = complete(text, len(text), grammar, SPACE)
        mine = [each for each in found if each.label.startswith(name)] or list(found)
        typed = "abc" if not mine or (mine[0].label in (")", "</function>") and text.endswith("(")) else mine[0].insert
        if text.endswith(("content=", "app_name=")):
            typed = "'abc'"
        if grammar == "tool" and text.endswith("<parameter=content>"):
            typed = "abc"
        text += typed
    assert isinstance(parsed, Response), text
    assert parsed.actions[0].name == name


@given(st.text(max_size=80), st.integers(-5, 100), st.sampled_from(["text", "tool", "plain"]))
def test_whatever_stands_there_completion_never_fails(text: str, cursor: int, grammar: str) -> None:
    assert len(complete(text, cursor, grammar, ALL)) <= MOST


def test_every_action_has_a_signature() -> None:
    assert [each.name for each in signatures(ALL)] == [*FUNCTIONS, "search"]
    assert all(each.description for each in signatures(ALL))


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"type": "click", "x": 0.5, "y": 0.25}, acts.Click(Point(500, 250))),
        ({"type": "drag", "x": 0, "y": 0, "x2": 1, "y2": 1}, acts.Drag(Point(0, 0), Point(1000, 1000))),
        ({"type": "type", "text": "a\nb"}, acts.Type("a\nb")),
        ({"type": "hotkey", "keys": ["Ctrl", "c"]}, acts.Hotkey(("ctrl", "c"))),
        ({"type": "scroll", "x": 0.1, "y": 0.1, "direction": "up"}, acts.Scroll(Point(100, 100), "up")),
        ({"type": "call", "name": "search", "parameters": {"query": "x"}}, acts.ToolCall("search", {"query": "x"})),
        ({"type": "wait"}, acts.Wait(1.0)),
    ],
)
def test_mouse_and_keyboard_are_actions(given: dict[str, Any], action: acts.Action) -> None:
    assert action_of(given, ALL) == action


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "type must be one of"),
        ({"type": ["click"]}, "type must be one of"),
        ({"type": "click", "x": 2, "y": 0}, "x must be"),
        ({"type": "click", "x": float("nan"), "y": 0}, "x must be"),
        ({"type": "click", "x": True, "y": 0}, "x must be"),
        ({"type": "click", "x": 0.5}, "y must be"),
        ({"type": "click", "x": 0.5, "y": 0.5, "z": 1}, "no other fields"),
        ({"type": "open_app", "text": "x"}, "something that this episode has"),
        ({"type": "type", "text": ""}, "1 to"),
        ({"type": "type", "text": "\ud800"}, "text must be"),
        ({"type": "hotkey", "keys": []}, "1 to 3 keys"),
        ({"type": "hotkey", "keys": ["nokey"]}, "keyboard"),
        ({"type": "scroll", "x": 0, "y": 0, "direction": "sideways"}, "direction must be"),
        ({"type": "wait", "seconds": 1e9}, "seconds must be"),
        ({"type": "call", "name": "fly", "parameters": {}}, "function of this episode"),
        ({"type": "call", "name": "search", "parameters": {}}, "query"),
    ],
)
def test_inputs_that_are_none_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        action_of(given, SPACE)
