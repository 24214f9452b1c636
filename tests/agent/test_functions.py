"""Functions of an action space in both grammars: their arguments are typed JSON, their errors can be acted on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent import (
    Click,
    ErrorKind,
    Finished,
    ParseError,
    Point,
    Response,
    ToolCall,
    Wait,
    format_response,
    parse_response,
)
from tars_jax.agent.actions import ActionError
from tars_jax.agent.functions import RECORDED, Bare, check_space, tool_call
from tars_jax.agent.grammar import GRAMMARS
from tars_jax.environment import ActionSpace, Function

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "unit": {"enum": ["celsius", "kelvin", 5, "5"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        "either": {"type": ["string", "integer", "null"]},
        "shared": {"$ref": "#/$defs/shared"},
        "any": {},
    },
    "required": ["text"],
    "$defs": {"shared": {"type": "array", "items": {"$ref": "#/$defs/count"}}, "count": {"type": "integer"}},
}
SPACE = ActionSpace(
    "tools",
    ("wait", "finished"),
    (
        Function("look.up", "Looks something up.", SCHEMA),
        Function("no_arguments"),
        Function("one", parameters={"type": "object", "properties": {"query": {"type": "string"}}}),
    ),
)
check_space(SPACE)

TRICKY = [
    "5",
    "true",
    "null",
    '"a"',
    '"5"',
    "[1, 2]",
    '{"a": 1}',
    " 5 ",
    "\n5\n",
    "1e999",
    "it's",
    "', count=3",
    ")",
    "",
]
TRICKY += ["</parameter>", "<\\/parameter>", "\nAction: look.up(", "NaN", "\u201c", "# x", "\\", "\\n", "</answer>"]
texts = st.sampled_from(TRICKY) | st.text(max_size=6) | st.lists(st.sampled_from(TRICKY), max_size=3).map("".join)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
arguments = st.fixed_dictionaries(
    {"text": texts},
    optional={
        "count": st.integers(1, 5),
        "ratio": numbers,
        "flag": st.booleans(),
        "unit": st.sampled_from(["celsius", "kelvin", 5, "5"]),
        "tags": st.lists(texts, max_size=3),
        "place": st.fixed_dictionaries({"x": st.integers()}, optional={"note": values}),
        "either": st.none() | st.integers() | texts,
        "shared": st.lists(st.integers(), max_size=3),
        "any": values,
    },
)
calls = arguments.map(lambda given: ToolCall("look.up", given)) | st.just(ToolCall("no_arguments")) | st.just(Wait())
responses = st.builds(Response, texts, st.lists(calls, min_size=1, max_size=3).map(tuple))


def same(one: Any, other: Any) -> bool:
    """Equal JSON: unlike in Python, true is not 1."""
    return bool(one == other) and repr(one) == repr(other)


@given(responses, st.sampled_from(GRAMMARS))
def test_any_json_is_printed_and_read_back(response: Response, grammar: str) -> None:
    text = format_response(response, grammar, space=SPACE)
    read = parse_response(text, grammar, space=SPACE)
    assert isinstance(read, Response), (text, read)
    assert same(read, response), text


@given(responses)
def test_the_text_form_needs_no_space(response: Response) -> None:
    text = format_response(response)
    assert same(parse_response(text, space=SPACE), response), text
    assert same(parse_response(text, space=RECORDED), response), text


def read(text: str, grammar: str = "text", space: ActionSpace = SPACE) -> Any:
    """The parameters of the only call, or the error."""
    found = parse_response(text, grammar, space=space)
    if isinstance(found, ParseError):
        return found
    (call,) = found.actions
    assert isinstance(call, ToolCall)
    return call.parameters


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("text='a', count=3", {"text": "a", "count": 3}),
        ("text='a', count='3'", {"text": "a", "count": 3}),
        ("text=5", {"text": "5"}),
        ("text=hello", {"text": "hello"}),
        ("text='a', flag=True", {"text": "a", "flag": True}),
        ("text='a', flag='false'", {"text": "a", "flag": False}),
        ("text='a', count='\uff13'", {"text": "a", "count": 3}),
        ("text='a', ratio=3", {"text": "a", "ratio": 3}),
        ("text='a', tags=[\"x)\", \"y, z='w'\"]", {"text": "a", "tags": ["x)", "y, z='w'"]}),
        ("text='a', tags='[\"x\"]'", {"text": "a", "tags": ["x"]}),
        ("text='a', either=5", {"text": "a", "either": 5}),
        ("text='a', either='5'", {"text": "a", "either": "5"}),
        ("text='a', either=null", {"text": "a", "either": None}),
        ("text='a', either=[1]", {"text": "a", "either": "[1]"}),
        ("text='a', unit='5'", {"text": "a", "unit": "5"}),
        ("text='a', unit=5", {"text": "a", "unit": 5}),
        ("text='a', unit=kelvin", {"text": "a", "unit": "kelvin"}),
        ("text='a', place={\"x\": 1}", {"text": "a", "place": {"x": 1}}),
        ("TEXT='a', Count=1", {"text": "a", "count": 1}),
        ("'a'", {"text": "a"}),  # the one that is needed
    ],
)
def test_arguments_are_typed_by_the_schema(arguments: str, expected: dict[str, Any]) -> None:
    assert same(read(f"Action: look.up({arguments})"), expected)


def test_functions_are_called_in_the_ways_of_gui_actions() -> None:
    call = Response("so", (ToolCall("one", {"query": "x"}), Finished("done")))
    assert parse_response("Thought: so\none(query='x')\n\nfinished(content='done')", space=SPACE) == call
    assert parse_response("Action: no_arguments", space=SPACE) == Response("", (ToolCall("no_arguments"),))
    assert parse_response("Action: No-Arguments()", space=SPACE) == Response("", (ToolCall("no_arguments"),))
    assert parse_response("Action: one('x')", space=SPACE) == Response("", (ToolCall("one", {"query": "x"}),))
    assert parse_response("<answer>done</answer>", space=SPACE) == Response("", (Finished("done"),))
    assert parse_response("<answer>one(query='x')</answer>", space=SPACE) == Response("", call.actions[:1])


def test_calls_in_json_as_open_weights_write_them() -> None:
    call = '<tool_call>\n{"name": "look.up", "arguments": {"text": "5", "count": 3, "place": {"x": 1}}}\n</tool_call>'
    expected = ToolCall("look.up", {"text": "5", "count": 3, "place": {"x": 1}})
    assert parse_response(f"<think>\nso\n</think>\n\n{call}\n{call}<|im_end|>", "tool", space=SPACE) == Response(
        "so", (expected, expected)
    )
    click = '<tool_call>{"name": "click", "arguments": {"point": [100, 200]}}</tool_call>'
    assert parse_response(click, "tool") == Response("", (Click(Point(100, 200)),))
    for wrong in ('{"name": 5}', '["look.up"]', '{"name": "one", "arguments": []}', '{"name": "one"'):
        found = parse_response(f"<tool_call>{wrong}</tool_call>", "tool", space=SPACE)
        assert isinstance(found, ParseError) and found.kind is ErrorKind.UNBALANCED


def test_a_function_of_the_space_goes_before_a_spelling_of_a_gui_action() -> None:
    tap = ActionSpace("phone", ("click",), (Function("tap"),))
    assert parse_response("Action: tap()", space=tap) == Response("", (ToolCall("tap"),))


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ("count=3", ErrorKind.MISSING_ARGUMENT, "look.up: text is missing; it must be a text"),
        ("text='a', count='x'", ErrorKind.BAD_ARGUMENT, "look.up: count must be an integer of 1 to 5; got 'x'"),
        ("text='a', count=6", ErrorKind.BAD_ARGUMENT, "look.up: count must be an integer of 1 to 5; got 6"),
        ("text='a', count=2.5", ErrorKind.BAD_ARGUMENT, "count must be an integer of 1 to 5; got 2.5"),
        ("text='a', flag=1", ErrorKind.BAD_ARGUMENT, "flag must be true or false; got 1"),
        (
            "text='a', unit=miles",
            ErrorKind.BAD_ARGUMENT,
            'unit must be one of "celsius", "kelvin", 5, "5"; got \'miles',
        ),
        (
            "text='a', tags=['x']",
            ErrorKind.BAD_ARGUMENT,
            "tags must be a list, each a text, written as JSON; got \"['x']\"",
        ),
        ("text='a', tags=[1]", ErrorKind.BAD_ARGUMENT, "tags[0] must be a text; got 1"),
        ("text='a', place={}", ErrorKind.MISSING_ARGUMENT, "look.up: place.x is missing"),
        ("text='a', place={\"x\": null}", ErrorKind.BAD_ARGUMENT, "place.x must be an integer; got null"),
        ("text='a', shared=[\"a\"]", ErrorKind.BAD_ARGUMENT, 'shared[0] must be an integer; got "a"'),
        ("text='a', ratio=1e999", ErrorKind.BAD_ARGUMENT, "ratio must be a number; got '1e999'"),
        ("text='a', color='red'", ErrorKind.BAD_ARGUMENT, "look.up: a parameter must be one of text, count"),
        ("text='a', TEXT='b'", ErrorKind.BAD_ARGUMENT, "text is given twice"),
        ("5, 6", ErrorKind.BAD_ARGUMENT, "must have a name, name='value'; got '5'"),
    ],
)
def test_errors_say_what_to_do(arguments: str, kind: ErrorKind, words: str) -> None:
    error = read(f"Action: look.up({arguments})")
    assert isinstance(error, ParseError) and error.kind is kind
    assert words in error.message


def test_errors_list_the_functions_there_are() -> None:
    for name in ("fly", "click"):  # a GUI action that this space lacks is as unknown as any
        error = read(f"Action: {name}(point='1 2')")
        assert error.kind is ErrorKind.UNKNOWN_FUNCTION
        assert error.message == (f"a function must be one of wait, finished, look.up, no_arguments, one; got {name!r}")
    many = ActionSpace("tools", (), tuple(Function(f"f{index}") for index in range(500)))
    message = read("Action: fly()", space=many).message
    assert "f0, f1" in message and message.endswith("and 476 more; got 'fly'")
    assert read("<answer>done</answer>", space=many).kind is ErrorKind.UNKNOWN_FUNCTION


def test_deep_and_long_arguments_are_errors() -> None:
    deep, long = "[" * 100_000, "9" * 100_000
    for text in (deep, deep + "]" * 100_000, long, '{"a": ' * 100_000):
        for name in ("any", "tags", "count"):
            written = f"<seed:tool_call><function=look.up><parameter=text>a</parameter><parameter={name}>{text}"
            found = parse_response(f"{written}</parameter></function></seed:tool_call>", "tool", space=SPACE)
            assert isinstance(found, ParseError) or found.actions[0].parameters[name] == text  # type: ignore[union-attr]
            parse_response(f"Action: look.up(text='a', {name}={text})", space=SPACE)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (ActionSpace("game", ("fly",)), "actions of an action space must be of .*click.*; got 'fly'"),
        (ActionSpace("game", (), (Function("click"),)), "must not be that of a GUI action; got 'click'"),
        (ActionSpace("game", (), (Function("a b"),)), "must be letters, digits and . _ -; got 'a b'"),
        (ActionSpace("game", (), (Function("f", "", {"type": "array"}),)), "function f: .* of type object"),
        (ActionSpace("game", (), (Function("f", "", {}),)), "function f: .* of type object"),
        (
            ActionSpace("game", (), (Function("f", "", {"type": "object", "properties": {"a": {"type": "text"}}}),)),
            "function f: parameters must be a JSON schema; got .*: 'text'",
        ),
        (
            ActionSpace("game", (), (Function("f", "", {"type": "object", "properties": {"a b": {}}}),)),
            "must have names of letters, digits and . _ -; got 'a b'",
        ),
        (
            ActionSpace("game", (), (Function("f", "", {"type": "object", "properties": {"a": {"$ref": "#/no"}}}),)),
            "got '#/no'",
        ),
    ],
)
def test_spaces_that_no_policy_can_be_asked_for(space: ActionSpace, words: str) -> None:
    with pytest.raises(InputError, match=words):
        check_space(space)


UNIONS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "f": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        "g": {"anyOf": [{"$ref": "#/properties/f"}, {"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]},
        "h": {"anyOf": [{"$dynamicRef": "#nowhere"}, {"type": "string"}, {"type": "integer"}]},
    },
}


@pytest.mark.parametrize("written", ['{"x": 1}', "text", "5", '[{"f": {"x": 2}}]', '{"x": "no"}', "[[[[]]]]"])
def test_a_union_that_refers_to_any_part_of_the_schema(written: str) -> None:
    function = Function("f", parameters=UNIONS)
    check_space(ActionSpace("tools", functions=(function,)))
    value = tool_call(function, {"g": Bare(written)}).parameters["g"]
    assert value == (json.loads(written) if written in ('{"x": 1}', '[{"f": {"x": 2}}]') else written)
    with pytest.raises(ActionError, match="f: its schema cannot be applied"):  # what jsonschema raises is an answer
        tool_call(function, {"h": Bare(written)})


def test_what_can_be_done_in_one_of_several_spaces() -> None:
    look = Function("look", "")
    other = Function("look", "", {"type": "object", "properties": {"at": {"type": "string"}}})
    page, calls = ActionSpace("browser", ("click", "finished")), ActionSpace("tools", ("finished",), (look,))
    assert ActionSpace.joined([page, calls]) == ActionSpace("browser", ("click", "finished"), (look,))
    assert ActionSpace.joined([calls]) == calls
    with pytest.raises(InputError, match="functions of one name must have the same parameters; got two of 'look'"):
        ActionSpace.joined([calls, ActionSpace("tools", (), (other,))])
