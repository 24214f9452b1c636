"""Patterns of responses: what they match is read, and what is printed they match."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent import parse_response
from tars_jax.agent.actions import FUNCTIONS
from tars_jax.agent.grammar import GRAMMARS, format_response
from tars_jax.agent.pattern import response_pattern
from tars_jax.agent.response import ParseError, Response
from tars_jax.agent.value_patterns import integers_between, numbers_between
from tars_jax.environment import ActionSpace, Function


def parameters(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT, POSITIVE = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 300}
PLACE = parameters(("x",), x={"type": "integer"}, note=TEXT, far={"type": "boolean"})
FUNCTIONS_OF_TEST = (
    Function("execute_bash", parameters=parameters(cmd=TEXT, timeout=POSITIVE)),
    Function("Search"),
    Function(
        "everything",
        parameters=parameters(
            ("ratio", "unit"),
            ratio={"type": "number", "exclusiveMinimum": -2.5, "maximum": 3},
            unit={"enum": ["a'b", "</parameter>", "\n5\n", "5", 5, None, ["x", {"y": 1}]]},
            short={"type": "string", "minLength": 2, "maxLength": 4},
            either={"anyOf": [{"type": "string", "maxLength": 3}, POSITIVE, {"type": "null"}]},
            tags={"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            grid={"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}},
            places={"type": "array", "items": {"$ref": "#/$defs/place"}, "maxItems": 2},
            code={"type": "string", "pattern": r"^[a-c'\\\n<\u0434]+$", "maxLength": 4},
            pair={"type": "array", "prefixItems": [TEXT, POSITIVE], "items": {"type": "null"}, "maxItems": 3},
            speeds={"type": "array", "items": {"type": "number", "minimum": -0.5, "maximum": 0.07}, "minItems": 9},
            any=True,
        )
        | {"$defs": {"place": PLACE}},
    ),
)
SPACE = ActionSpace("computer", tuple(FUNCTIONS), FUNCTIONS_OF_TEST)
ONLY = ActionSpace("tools", (), FUNCTIONS_OF_TEST[2:])


@pytest.mark.parametrize("grammar", GRAMMARS)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_every_text_of_the_pattern_is_parsed(grammar: str, data: st.DataObject) -> None:
    space = data.draw(st.sampled_from([None, ONLY]))
    pattern = response_pattern(grammar, space=space, most_calls=3)
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    response = parse_response(text, grammar, space=space)
    assert not isinstance(response, ParseError), (text, response)
    # Nothing of the call was taken for something else: it is printed and read back as the same.
    assert parse_response(format_response(response, grammar, space=space), grammar, space=space) == response


bounds = st.integers(-1200, 1200) | st.floats(-30, 30).map(lambda bound: round(bound, 2))


@settings(deadline=None)
@given(bounds, bounds, st.booleans(), st.booleans(), st.data())
def test_numbers_between_bounds(one: float, other: float, open_low: bool, open_high: bool, data: st.DataObject) -> None:
    low, high = sorted((one, other))
    pattern = numbers_between(low, high, open_low, open_high)
    empty = low == high and (open_low or open_high)
    for bound, is_open in ((low, open_low), (high, open_high)):
        written = "0" if bound == 0 else f"{bound:g}"
        assert bool(re.fullmatch(pattern or "", written)) is not (is_open or empty)
    if pattern is None:
        assert high - low < 2e-6 or (low == high and (open_low or open_high))
    else:
        number = float(data.draw(st.from_regex(pattern, fullmatch=True)))
        assert (low < number if open_low else low <= number) and (number < high if open_high else number <= high)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 9), (1, 300), (-12, 7), (-30, -11), (95, 1003), (199, 201)])
def test_integers_between_bounds_are_all_of_them(low: int, high: int) -> None:
    pattern = integers_between(low, high)
    found = [number for number in range(-2000, 2000) if re.fullmatch(pattern, str(number))]
    assert found == list(range(low, high + 1))
    assert not re.fullmatch(pattern, "007") and not re.fullmatch(pattern, "-0")


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
        "Action: execute_bash(timeout=5)",
        "Action: everything(ratio=-2, unit=5)",
        "Action: everything(ratio=-1.4, unit='5')",
        r"Action: everything(ratio=2.25, unit='a\'b', short='abcd', either=null)",
        'Action: everything(ratio=0, unit=null, tags=["it\\"s", "x"])',
        "Action: everything(ratio=0, unit='</parameter>', grid=[[], [1, 2]])",
        'Action: everything(ratio=0, unit=["x", {"y": 1}], places=[{"x": 1, "far": true}], any=\'a\')',
        "Action: everything(ratio=0, unit=5, code='ab', pair=[], speeds=[0.07, -0.5, 0, -0.12345, 0, 0, 0, 0, 0.06])",
        'Action: everything(ratio=0, unit=5, pair=["a", 7, null])',
        "Action: finished()",
    ],
)
def test_canonical_texts_match(text: str) -> None:
    assert re.fullmatch(response_pattern("text", space=SPACE), text)
    response = parse_response(text, space=SPACE)
    assert isinstance(response, Response)
    assert re.fullmatch(response_pattern("tool", space=SPACE), format_response(response, "tool", space=SPACE))


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
        "Action: execute_bash(timeout=301)",
        "Action: execute_bash(timeout='5')",
        "Action: execute_bash(cmd=ls)",
        "Action: execute_bash(timeout=5, cmd='ls')",
        "Action: everything(unit=5)",
        "Action: everything(ratio=-3, unit=5)",
        "Action: everything(ratio=0, unit=6)",
        "Action: everything(ratio=0, unit=5, short='abcde')",
        "Action: everything(ratio=0, unit=5, tags=[])",
        "Action: everything(ratio=0, unit=5, either=301)",
        "Action: everything(ratio=0, unit=5, code='')",
        "Action: everything(ratio=0, unit=5, code='d')",
        'Action: everything(ratio=0, unit=5, pair=[7, "a"])',
        "Action: everything(ratio=0, unit=5, speeds=[0, 0, 0, 0, 0, 0, 0, 0])",
        "Action: everything(ratio=0, unit=5, speeds=[0, 0, 0, 0, 0, 0, 0, 0, 0.08])",
        "Thought: x\nAction: wait()\nAction: wait()",
    ],
)
def test_other_texts_do_not_match(text: str) -> None:
    assert not re.fullmatch(response_pattern("text", space=SPACE), text)


def test_a_thought_may_be_required_or_forbidden() -> None:
    with_thought, without = "Thought: x\nAction: wait()", "Action: wait()"
    matches = {
        thought: [bool(re.fullmatch(response_pattern(thought=thought), text)) for text in (with_thought, without)]
        for thought in ("optional", "required", "never")
    }
    assert matches == {"optional": [True, True], "required": [True, False], "never": [False, True]}


def test_only_the_given_functions() -> None:
    pattern = response_pattern(space=ActionSpace(actions=("wait",)))
    assert re.fullmatch(pattern, "Action: wait()")
    assert not any(re.fullmatch(pattern, f"Action: {name}()") for name in FUNCTIONS if name != "wait")


@pytest.mark.parametrize(
    "arguments, named",
    [
        ({"grammar": "xml"}, "grammar"),
        ({"space": ActionSpace(actions=("fly",))}, "fly"),
        ({"space": ActionSpace(functions=(Function("a b"),))}, "a b"),
        ({"thought": "maybe"}, "maybe"),
        ({"most_calls": 0}, "most_calls"),
    ],
)
def test_impossible_arguments_are_named(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        response_pattern(**arguments)  # type: ignore[arg-type]


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object"}, "f: x must be an object with named properties"),
        ({"type": "string", "pattern": "a+"}, "f: x must have a pattern of one class of characters, .*; got 'a.'"),
        ({"type": "array", "uniqueItems": True}, "got uniqueItems"),
        ({"type": "number", "multipleOf": 0.5}, "got multipleOf"),
        ({"type": "integer", "multipleOf": 2}, "multipleOf must be of few integers"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, "a number between its bounds"),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, "a number between its bounds"),
        ({"type": "string", "minLength": 999}, "room for 999"),
        ({"type": "array", "minItems": 65}, "must have room for 65 items; a pattern has at most 64"),
        ({"type": "array", "minItems": 3, "maxItems": 2}, "room for 3 items"),
        ({"not": {"type": "string"}}, "got not"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf of different kinds"),
        ({"$ref": "#/$defs/node"}, "nested more than"),
    ],
)
def test_schemas_that_a_pattern_cannot_say_are_named(schema: dict[str, Any], words: str) -> None:
    function = Function("f", parameters=parameters(x=schema) | {"$defs": {"node": NODE}})
    with pytest.raises(InputError, match=words):
        response_pattern(space=ActionSpace("tools", (), (function,)))
