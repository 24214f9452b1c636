"""Both grammars: what they print, what they read, and that no text whatever upsets them."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.agent import (
    Action,
    CallUser,
    Click,
    Drag,
    ErrorKind,
    Finished,
    Hotkey,
    LeftDouble,
    LongPress,
    MouseDown,
    MouseUp,
    MoveTo,
    Navigate,
    NavigateBack,
    OpenApp,
    ParseError,
    Point,
    Press,
    PressBack,
    PressHome,
    Release,
    Response,
    RightSingle,
    Scroll,
    ToolCall,
    Type,
    Wait,
    format_response,
    parse_response,
)
from tars_jax.agent.actions import FUNCTIONS
from tars_jax.agent.keys import NAMED_KEYS
from tars_jax.environment import ActionSpace, Function

TEXTS = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}
TOOLS = ("execute_bash", "mcp.read-file")
SPACE = ActionSpace("computer", tuple(FUNCTIONS), tuple(Function(name, parameters=TEXTS) for name in TOOLS))

TRICKY = [
    *(
        "'",
        '"',
        "\\",
        "\n",
        "\r\n",
        "\\n",
        ")",
        "',",
        "', a=",
        "it's",
        "：",
        "é",
        "猫",
        "<point>1 2</point>",
        "click(point=",
    ),
    *("Action:", "\nAction: ", "\n\\Action:", "Thought: ", "<think>", "</think>", "<\\\\/think>", "<seed:tool_call>"),
    *("</seed:tool_call>", "<function=click>", "</function>", "</parameter>", "<\\/parameter>", "```"),
    *("\n**Action:** ", "# c", "`", "[EOS]", "<answer>", "</answer>", "\u201c", "\u2019", "\uff08", "\nClick(", ";"),
]
texts = st.lists(st.sampled_from(TRICKY) | st.text(max_size=8), max_size=8).map("".join)
points = st.builds(Point, *[st.integers(0, 1000) | st.floats(0, 1000)] * 2)
keys = st.sampled_from(sorted(NAMED_KEYS)) | st.sampled_from(list("abc019+-=,.'\"<\\é"))
buttons = st.sampled_from(["left", "right"])
actions: st.SearchStrategy[Action] = st.one_of(
    *[st.builds(kind, points) for kind in (Click, LeftDouble, RightSingle, LongPress, MoveTo)],
    *[st.builds(kind, st.none() | points, buttons) for kind in (MouseDown, MouseUp)],
    *[st.builds(kind, texts) for kind in (Type, Finished, OpenApp, Navigate)],
    *[st.builds(kind, keys) for kind in (Press, Release)],
    *[st.builds(kind) for kind in (CallUser, PressHome, PressBack, NavigateBack)],
    st.builds(Drag, points, points),
    st.builds(Hotkey, st.lists(keys, min_size=1, max_size=3).map(tuple)),
    st.builds(Scroll, st.none() | points, st.sampled_from(["up", "down", "left", "right"])),
    st.builds(Wait, st.integers(1, 60) | st.floats(0, 60, exclude_min=True)),
    st.builds(ToolCall, st.sampled_from(sorted(TOOLS)), st.dictionaries(st.sampled_from(["a", "b_2", "c-d"]), texts)),
)
responses = st.builds(Response, texts, st.lists(actions, min_size=1, max_size=4).map(tuple))


@given(responses, st.sampled_from(["text", "tool"]), st.sampled_from(["think", "thinkt"]))
def test_what_is_printed_reads_back(response: Response, grammar: str, think_tag: str) -> None:
    text = format_response(response, grammar, think_tag=think_tag)
    assert parse_response(text, grammar, space=SPACE, think_tag=think_tag) == response


@given(st.text() | texts, st.sampled_from(["text", "tool"]))
def test_no_text_raises(text: str, grammar: str) -> None:
    result = parse_response(text, grammar)
    assert isinstance(result, Response | ParseError)
    if isinstance(result, ParseError):
        assert 0 <= result.position <= len(text)


@given(responses, st.sampled_from(["text", "tool"]), st.randoms(use_true_random=False))
def test_no_mutation_of_a_valid_text_raises(response: Response, grammar: str, rng: random.Random) -> None:
    characters = list(format_response(response, grammar))
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(characters) + 1)
        match rng.randrange(3):
            case 0:
                characters[place : place + rng.randrange(1, 12)] = []
            case 1:
                characters.insert(place, rng.choice("'\"\\()<>/=,\n \udc80猫"))
            case 2:
                characters[place:place] = characters[: rng.randrange(30)]
    result = parse_response("".join(characters), grammar, space=SPACE)
    if isinstance(result, Response):
        assert parse_response(format_response(result, grammar), grammar, space=SPACE) == result


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize(
    ("before", "unit", "after"),
    [
        ("", "<", ""),
        ("Action: ", "click(", ""),
        ("Action: click(point=", "(", ""),
        ("Action: click(point=", "[", ")" * 50_000),
        ("Action: type(content='", "'", ""),
        ("Action: type(content='", "', a", ""),
        ("Action: type(content='", "'   ", ""),
        ("Action: type(content='", "')   ", "'"),
        ("", "Action: ```a ", ""),
        ("Action: click(point='", "[", "1 2')"),
        ("Action: type(content='", "\\", "')"),
        ("Action: ", " ", "x"),
        ("", "Action", ""),
        ("", "\n", ""),
        ("", "\\Action: ", ""),
        ("Thought: ", "\nThought: ", "\nAction: wait()"),
        ("Action: hotkey(key='", "+", "')"),
        ("Action: hotkey(key='", "a+", "')"),
        ("Action: click(point='", "1 ", "')"),
        ("Action: wait(time='", "9", "')"),
        ("<think>", "<think>", ""),
        ("<think>", "<\\", "</think><seed:tool_call>"),
        ("<think>", "</think", ""),
        ("", "<computer_env> ", "Action: wait()"),
        ("", "Action: a", ""),
        ("", "Action: a ", ""),
        ("", "Action:\n", ""),
        ("Action:", "\n", ""),
        ("Action: wait()", " </a>", "x"),
        ("Action: hotkey(key='", " +", "')"),
        ("Action: hotkey(key='", "page ", "')"),
        ("", "<seed:tool_call>", ""),
        ("<seed:tool_call>", "<function=wait>", ""),
        ("", "<answer>", ""),
        ("<answer>", "</answer>", "x"),
        ("", "**", "Action:"),
        ("", "Action: **", ""),
        (" ", " ", "Action"),
        ("Action: wait() ", "# a\n", "x"),
        ("Action: wait()", "; wait()", "x"),
        ("Action: wait(", "1, ", ")"),
        ("Action: drag(", "'1 2', ", ")"),
        ("Action: click('<point>", "<point>", "')"),
        ("Action: wait", "[EOS] ", "x"),
        ("Action: hotkey(key='", "ctrl-", "')"),
        ("Action: hotkey(key='[", "a, ", "')"),
        ("<answer>", "Action: ", "</answer>"),
        ("<seed:tool_call>", "<function=wait></function>", "</seed:tool_call>"),
        ("<seed:tool_call><function=type>", "<parameter=content>", ""),
        ("<seed:tool_call><function=type>", "<parameter=a></parameter>", ""),
        (
            "<seed:tool_call><function=type><parameter=content>",
            "<" + "\\" * 50,
            "</parameter></function></seed:tool_call>",
        ),
    ],
)
def test_time_is_linear(grammar: str, before: str, unit: str, after: str) -> None:
    text = before + unit * (100_000 // len(unit)) + after
    start = time.thread_time()  # other threads of the tests' process have work of their own
    parse_response(text, grammar)
    assert time.thread_time() - start < 1.0  # milliseconds if linear, minutes if quadratic


def test_the_canonical_text_form() -> None:
    response = Response("it's up", (Click(Point(500, 120)), Type("it's\n")))
    text = "Thought: it's up\nAction: click(point='<point>500 120</point>')\n\ntype(content='it\\'s\\n')"
    assert format_response(response, "text") == text
    assert format_response(Response("", (Wait(),)), "text") == "Action: wait()"


def test_the_canonical_tool_form() -> None:
    response = Response("up", (Click(Point(500, 120)), Wait(3)))
    text = (
        "<think>up</think><seed:tool_call>"
        "<function=click><parameter=point><point>500 120</point></parameter></function>"
        "<function=wait><parameter=time>3</parameter></function></seed:tool_call>"
    )
    assert format_response(response, "tool") == text
    assert format_response(response, "tool", think_tag="thinkt") == text.replace("think>", "thinkt>")
    assert format_response(Response("", (Wait(),)), "tool") == (
        "<seed:tool_call><function=wait></function></seed:tool_call>"
    )


HERE = Click(Point(100, 200))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Action: click(start_box='<|box_start|>(100,200)<|box_end|>')", Response("", (HERE,))),
        ("Thought: a\nAction: click(start_box='(100,200)')", Response("a", (HERE,))),
        ('click(start_box="(100,200)")', Response("", (HERE,))),
        ("Thought: a\nAction：click(start_box='(100,200)')", Response("a", (HERE,))),
        ("\n\nAction：click(start_box='<bbox>100 200 100 200</bbox>')", Response("", (HERE,))),
        ("Thought: a\n  Action :   click( point = '<point>100 200</point>' , )  \n", Response("a", (HERE,))),
        ("Thought: a Action: click(point='<point>100 200</point>')", Response("a", (HERE,))),
        ("Thought: a\nclick(point='<point>100 200</point>')", Response("a", (HERE,))),
        ("just words\nAction: click(point=<point>100 200</point>)", Response("just words", (HERE,))),
        ("Action: click(start_box=(100, 200))", Response("", (HERE,))),
        ("<think>\nlong\n</think>\nThought: a\nAction: click(point='100 200')", Response("a", (HERE,))),
        ("<think>b</think>\nAction: click(point='100 200')", Response("b", (HERE,))),
        ("Action: wait()\nAction: click(point='100 200')", Response("", (Wait(), HERE))),
        ("Action: wait()\n\n\nclick(point='100 200')", Response("", (Wait(), HERE))),
        ("Action: type(content='it's fine')", Response("", (Type("it's fine"),))),
        (r"Action: type(content='it\'s fine\n')", Response("", (Type("it's fine\n"),))),
        ('Action: type(content="say \'hi\', then \\"go\\"")', Response("", (Type("say 'hi', then \"go\""),))),
        (r"Action: type(content='C:\dir')", Response("", (Type(r"C:\dir"),))),
        ("Action: type(content='a) b, c')", Response("", (Type("a) b, c"),))),
        ("Action: finished(content='two\nlines')", Response("", (Finished("two\nlines"),))),
        ("Thought: a\ntype(content='Action: buy milk')", Response("a", (Type("Action: buy milk"),))),
        ("type(content='Action: buy milk')", Response("", (Type("Action: buy milk"),))),
        ("Thought: a Action: type(content='my Action: list')", Response("a", (Type("my Action: list"),))),
        (
            "Thought: the next Action: is a click.\nclick(point='100 200')",
            Response("the next Action: is a click.", (HERE,)),
        ),
        ("Thought: a\nAction: I will wait\nAction: wait()", Response("a\nAction: I will wait", (Wait(),))),
        ("Action: click(point='100 200')<|endoftext|>", Response("", (HERE,))),
        ("Action: click(point='<point>100 200<point>')", Response("", (HERE,))),
        ("Action: click(point='<point>100 200')", Response("", (HERE,))),
        ("Action: click(start_box='(100,200)<|box_end|>')", Response("", (HERE,))),
        ("Action: click(point='100 200')<|im_end|>", Response("", (HERE,))),
        ("```\nAction: click(point='100 200')\n```", Response("```", (HERE,))),
        ("<think_x1>b</think_x1>\n<computer_env>\nAction: wait()\n</computer_env>", Response("b", (Wait(),))),
        ("Thought: b\nAction:\n```python\nclick(point='100 200')\n```", Response("b", (HERE,))),
        ("Thought: b Action: ```wait()\nwait()```", Response("b", (Wait(), Wait()))),
        ("Action: type(content='print('hello')')", Response("", (Type("print('hello')"),))),
        ("Action: type(content='f('a', 'b')')\n\nwait()", Response("", (Type("f('a', 'b')"), Wait()))),
        ("Action: click(start_box='<|box_start|>(50,150),(150,250)<|box_end|>')", Response("", (HERE,))),
        ("Action: click(start_box='[[100, 200]]')", Response("", (HERE,))),
        ("Action: click(start_point='<point>100 200</point>')", Response("", (HERE,))),
        ("<Thought>b</Thought>\nAction: wait()\n</Output>\n", Response("b", (Wait(),))),
        ("Action: hotkey(key='Ctrl + C')", Response("", (Hotkey(("ctrl", "c")),))),
        ("Action: hotkey(key='ctrl + shift+t')", Response("", (Hotkey(("ctrl", "shift", "t")),))),
        ("Action: hotkey(key='ctrl +')", Response("", (Hotkey(("ctrl", "+")),))),
        ("Action: hotkey(key='ctrl plus c')", Response("", (Hotkey(("ctrl", "+", "c")),))),
        ("Action: hotkey(key='Page Down')", Response("", (Hotkey(("pagedown",)),))),
        ("Action: hotkey(key='alt arrow left')", Response("", (Hotkey(("alt", "left")),))),
        ("Thought: a\nAction: scroll(point='1 2', direction='left')", Response("a", (Scroll(Point(1, 2), "left"),))),
    ],
)
def test_text_that_models_write(text: str, expected: Response) -> None:
    assert parse_response(text, "text") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "<think>\n a \n</think>\n<seed:tool_call>\n<function=click>\n"
            "<parameter=point><point>100 200</point></parameter>\n</function>\n\n"
            "<function=wait>\n</function>\n</seed:tool_call>\n",
            Response("a", (HERE, Wait())),
        ),
        (
            "a</think><seed:tool_call>"
            "<function=type><parameter=content>\nx && y\n</parameter></function></seed:tool_call>",
            Response("a", (Type("x && y"),)),
        ),
        ("a<seed:tool_call><function=wait></function></seed:tool_call>", Response("a", (Wait(),))),
        (
            "a<seed:tool_call><function=wait></function></seed:tool_call>\n"
            "<seed:tool_call>\n<function=wait></function></seed:tool_call><|im_end|>\n",
            Response("a", (Wait(), Wait())),
        ),
        ("<think>a</think>b<seed:tool_call><function=wait></function></seed:tool_call>", Response("a\nb", (Wait(),))),
        (
            "<think>no <seed:tool_call> yet</think><seed:tool_call><function=wait></function></seed:tool_call>",
            Response("no <seed:tool_call> yet", (Wait(),)),
        ),
    ],
)
def test_tool_calls_that_models_write(text: str, expected: Response) -> None:
    assert parse_response(text, "tool") == expected


CALL = "<seed:tool_call>", "</seed:tool_call>"


@pytest.mark.parametrize(
    ("grammar", "text", "kind", "position"),
    [
        ("text", "", ErrorKind.EMPTY, 0),
        ("text", " \n\t", ErrorKind.EMPTY, 0),
        ("text", "Thought: a", ErrorKind.NO_ACTION, 10),
        ("text", "Thought: a\nAction:", ErrorKind.NO_ACTION, 18),
        ("text", "Action: go left", ErrorKind.NO_ACTION, 8),
        ("text", "Action: fly(height='3')", ErrorKind.UNKNOWN_FUNCTION, 8),
        ("text", "Action: execute_bash(command='ls')", ErrorKind.UNKNOWN_FUNCTION, 8),
        ("text", "Action: click()", ErrorKind.MISSING_ARGUMENT, 8),
        ("text", "Action: click(start_box='')", ErrorKind.BAD_ARGUMENT, 8),
        ("text", "Action: click(point='<point>1001 0</point>')", ErrorKind.BAD_ARGUMENT, 8),
        ("text", "Action: click(point='1 0', '2 3')", ErrorKind.BAD_ARGUMENT, 27),
        ("text", "Action: wait(time='1', time='2')", ErrorKind.BAD_ARGUMENT, 23),
        ("text", "Action: click(point='<point>1 0</point>'", ErrorKind.UNBALANCED, 20),
        ("text", "Action: click(point=(1,2)", ErrorKind.UNBALANCED, 20),
        ("text", "Action: wait(", ErrorKind.UNBALANCED, 13),
        ("text", "Action: wait(time='1_0')", ErrorKind.BAD_ARGUMENT, 8),
        ("text", "Action: type(content='a'), type(content='b')", ErrorKind.TRAILING_TEXT, 25),
        ("text", "Action: wait() and then?", ErrorKind.TRAILING_TEXT, 15),
        ("text", "Action: wait()\n</Output> and then?", ErrorKind.TRAILING_TEXT, 15),
        ("tool", "  ", ErrorKind.EMPTY, 0),
        ("tool", "<think>a</think>", ErrorKind.NO_ACTION, 16),
        ("tool", "<think>a<seed:tool_call>", ErrorKind.UNBALANCED, 0),
        ("tool", "".join(CALL), ErrorKind.NO_ACTION, 16),
        ("tool", CALL[0], ErrorKind.UNBALANCED, 16),
        ("tool", "<function=wait></function>".join(CALL) + ".", ErrorKind.TRAILING_TEXT, 59),
        ("tool", "<function=fly></function>".join(CALL), ErrorKind.UNKNOWN_FUNCTION, 16),
        ("tool", "<function=type></function>".join(CALL), ErrorKind.MISSING_ARGUMENT, 16),
        ("tool", "<function=wait>".join(CALL), ErrorKind.UNBALANCED, 31),
        ("tool", "<function=wait><parameter=time>1</function>".join(CALL), ErrorKind.UNBALANCED, 31),
    ],
)
def test_malformed_output_is_a_typed_error(grammar: str, text: str, kind: ErrorKind, position: int) -> None:
    error = parse_response(text, grammar)
    assert isinstance(error, ParseError)
    assert (error.kind, error.position) == (kind, position)


def test_tools_must_be_allowed() -> None:
    text = "<function=execute_bash><parameter=command>a && b</parameter></function>".join(CALL)
    assert parse_response(text, "tool", space=SPACE) == Response("", (ToolCall("execute_bash", {"command": "a && b"}),))
    assert isinstance(parse_response(text, "tool"), ParseError)


def test_absolute_pixels() -> None:
    text = "Action: click(start_box='(966,546)')"
    assert parse_response(text, "text", pixel_size=(1932, 1092)) == Response("", (Click(Point(500, 500)),))
    outside = parse_response("Action: click(start_box='(1933,546)')", "text", pixel_size=(1932, 1092))
    assert isinstance(outside, ParseError) and outside.kind is ErrorKind.BAD_ARGUMENT


def test_bad_arguments_of_the_caller() -> None:
    with pytest.raises(InputError, match="grammar must be one of text, tool, plain; got 'json'"):
        parse_response("Action: wait()", "json")
    with pytest.raises(InputError, match="grammar must be one of text, tool"):
        format_response(Response("", (Wait(),)), "json")
    for size in ((0, 10), (10, -1), (float("nan"), 10), (float("inf"), 10)):
        with pytest.raises(InputError, match="pixel_size must be a width and height above 0"):
            parse_response("Action: wait()", pixel_size=size)
    with pytest.raises(InputError, match="think_tag"):
        parse_response("", "tool", think_tag="<>")
    with pytest.raises(InputError, match="at least one action"):
        Response("a", ())
