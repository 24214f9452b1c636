"""What models write in their own ways: read where it means one thing, refused with a reason where it may mean two."""

from __future__ import annotations

import pytest

from tars_jax.agent import (
    Action,
    Click,
    Drag,
    ErrorKind,
    Finished,
    Hotkey,
    LeftDouble,
    MoveTo,
    NavigateBack,
    OpenApp,
    ParseError,
    Point,
    Press,
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
from tars_jax.environment import ActionSpace, Function

QUERY = {"type": "object", "properties": {"query": {"type": "string"}, "where": {"type": "string"}}}
SPACE = ActionSpace("browser", tuple(FUNCTIONS), (Function("Search", parameters=QUERY),))
HERE, THERE = Click(Point(100, 200)), Point(300, 400)
BOX = "start_box='<|box_start|>(100,200)<|box_end|>'"


def _reads(text: str, grammar: str, thought: str, *actions: Action) -> None:
    response = parse_response(text, grammar, space=SPACE)
    assert response == Response(thought, actions)
    assert parse_response(format_response(response, grammar), grammar, space=SPACE) == response


@pytest.mark.parametrize(
    "around",
    [
        "Thought: a\n**Action:** {}",
        "Thought: a\n**Action**: {}",
        "**Thought:** a\n\n**Action:** `{}`",
        "Thought: a\n### Action: {}",
        "Thought: a\nAction: `{}`",
        "Thought: a\nAction: **{}**",
        "Thought: a\nActions: {}",
        "Thought: a\nAction 1: {}",
        "Thought: a\nAction: Action: {}",
        "Thought: a\naction: {}.",
        "Thought: a\nAction: {};",
        "Thought: a\nAction: {}。",
        "Thought: a\nAction: `{}`.",
        "Thought: a\nAction: {}  # the button",
        "Thought: a\nAction: {} [EOS]",
        "Thought: a\nAction: {}</s>",
        "Thought: a\nAction: {}.<|im_end|>\n",
        "Thought: a\nAction: {} # it's 'here'\n<|end|>",
        "Thought: a\nAction:\n```\n{}\n```",
        "<think>a</think>\n<action>{}</action>",
        "<think>a</think><answer>{}</answer>",
        "<think>a</think>\n<answer>\nAction: {}\n</answer>[EOS]",
    ],
)
@pytest.mark.parametrize("call", [f"click({BOX})", "Click(point='<point>100 200</point>')"])
def test_what_stands_around_a_call(around: str, call: str) -> None:
    _reads(around.format(call), "text", "a", HERE)


@pytest.mark.parametrize(
    ("call", "actions"),
    [
        ("wait(5)", [Wait(5)]),
        ("wait('5')", [Wait(5)]),
        ("wait(time='3s')", [Wait(3)]),
        ("wait(duration=2 seconds)", [Wait(2)]),
        ("wait", [Wait()]),
        ("Finished.", [Finished()]),
        ("finish(content='ok')", [Finished("ok")]),
        ("finished('it's done')", [Finished("it's done")]),
        ("type('x')", [Type("x")]),
        ('type("say \\"hi\\"")', [Type('say "hi"')]),
        ("type(content='f(x) = (\\'a\\')\\n')", [Type("f(x) = ('a')\n")]),
        ("type(content=“你好，世界”)", [Type("你好，世界")]),
        ("type(content=‘it’s’)", [Type("it’s")]),
        ("type（content='好（一）'）", [Type("好（一）")]),
        ("type(content='a # b')", [Type("a # b")]),
        ("type(content='x; wait()')", [Type("x; wait()")]),
        ("type(content='Hello', point='<point>100 200</point>')", [HERE, Type("Hello")]),
        (f"type({BOX}, content='Hello\\n')", [HERE, Type("Hello\n")]),
        ("type(content='Hello', start_box=(100, 200))", [HERE, Type("Hello")]),
        ("type(text='Hello', x=100, y=200)", [HERE, Type("Hello")]),
        ("left_click(point='100 200')", [HERE]),
        ("LEFT_SINGLE(point='100 200')", [HERE]),
        ("click('<point>100 200</point>')", [HERE]),
        ("click(100, 200)", [HERE]),
        ("click((100, 200))", [HERE]),
        ("click([100, 200])", [HERE]),
        ("click(x=100, y=200)", [HERE]),
        ("click(coordinate=[100, 200])", [HERE]),
        ("click(Point='[100.0,200.0]')", [HERE]),
        ("click（point＝‘（100，200）’）", [HERE]),
        ("click(point='<point>100 200</point>)", [HERE]),
        ("click(point='<point>100 200</point>\")", [HERE]),
        ("click(start_box=\"'(100,200)'\")", [HERE]),
        ("double_click(point='100 200')", [LeftDouble(HERE.point)]),
        ("leftDouble(point='100 200')", [LeftDouble(HERE.point)]),
        ("right_click(point='100 200')", [RightSingle(HERE.point)]),
        ("hover(point='100 200')", [MoveTo(HERE.point)]),
        ("drag(start_box='(100,200)', end_box='(300,400)')", [Drag(HERE.point, THERE)]),
        ("drag('<point>100 200</point>', '<point>300 400</point>')", [Drag(HERE.point, THERE)]),
        ("drag(100, 200, 300, 400)", [Drag(HERE.point, THERE)]),
        ("scroll(direction='Down')", [Scroll(None, "down")]),
        ("scroll('down')", [Scroll(None, "down")]),
        ("scroll('(100,200)', 'UP')", [Scroll(HERE.point, "up")]),
        ("hotkey('ctrl c')", [Hotkey(("ctrl", "c"))]),
        ("hotkey(hotkey='Ctrl-C')", [Hotkey(("ctrl", "c"))]),
        ("hotkey(keys=['ctrl', 'c'])", [Hotkey(("ctrl", "c"))]),
        ("hotkey(key='ctrl, shift, t')", [Hotkey(("ctrl", "shift", "t"))]),
        ("hotkey(key='ctrl-page-down')", [Hotkey(("ctrl", "pagedown"))]),
        ("hotkey(key='[')", [Hotkey(("[",))]),
        ("key_down(key='shift')", [Press("shift")]),
        ("keyup(key='shift')", [Release("shift")]),
        ("open_app(app='Clock')", [OpenApp("Clock")]),
        ("PressHome()", [PressHome()]),
        ("press_home", [PressHome()]),
        ("go_back()", [NavigateBack()]),
        ("click(100, 200); wait(1)", [HERE, Wait(1)]),
        ("click(100, 200)\ntype('a').\nhotkey('enter')", [HERE, Type("a"), Hotkey(("enter",))]),
        ("click(100, 200) # first\n\nAction: wait() # then", [HERE, Wait()]),
        ("Search(query='a')", [ToolCall("Search", {"query": "a"})]),
    ],
)
def test_calls(call: str, actions: list[Action]) -> None:
    _reads(f"Thought: why\nAction: {call}", "text", "why", *actions)


@pytest.mark.parametrize(
    ("call", "actions"),
    [
        ("<function=Click><parameter=start_box>(100,200)</parameter></function>", [HERE]),
        ("<function=left_click><parameter=Point>\n[100, 200]\n</parameter></function>", [HERE]),
        (
            "<function=type><parameter=content>Hello</parameter>\n<parameter=point>100 200</parameter></function>",
            [HERE, Type("Hello")],
        ),
        ("<function=scroll><parameter=direction>'Down'</parameter></function>", [Scroll(None, "down")]),
        ("<function=hotkey><parameter=key>Ctrl-C</parameter></function>", [Hotkey(("ctrl", "c"))]),
        ("<function=wait><parameter=time>5</parameter></function>", [Wait(5)]),
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "<think>why</think><seed:tool_call>{}</seed:tool_call>",
        "<think>why</think><seed:tool_call>{}",
        "<think>why</think><seed:tool_call>\n{}\n[EOS]",
        "<think>why</think>\n<tool_call>{}</tool_call><|im_end|>",
        "<think>why</think>\n{}\n",
        "<think>why</think>\n```xml\n<seed:tool_call>{}</seed:tool_call>\n```",
        "<think>why</think>\n<code_env>\n{}\n</code_env>",
        "<think>why</think>\n<mcp_env>\n{}\n</mcp_env><|im_end|>",
    ],
)
def test_tool_calls(around: str, call: str, actions: list[Action]) -> None:
    _reads(around.format(call), "tool", "why", *actions)


@pytest.mark.parametrize(
    "around",
    [
        "<think>why</think>\n<mcp_env>\n<|FunctionCallBegin|>{}<|FunctionCallEnd|>\n</mcp_env>",
        "<think>why</think><mcp_env><|FunctionCallBegin|>\n{}\n<|FunctionCallEnd|></mcp_env>[EOS]",
        "<think>why</think><|FunctionCallBegin|>{}<|FunctionCallEnd|>",
        "<think>why</think><mcp_env>{}<|FunctionCallEnd|></mcp_env>",
        "<think>why</think><mcp_env><|FunctionCallBegin|>{}",
        "<think>why</think><tool_call>{}</tool_call>",
    ],
)
def test_calls_of_mcp_tools(around: str) -> None:
    """As the report's own agent writes them: a list of JSON in tags of its own."""
    one = '{"name": "Search", "parameters": {"query": "Ä [b] </mcp_env>"}}'
    call = ToolCall("Search", {"query": "Ä [b] </mcp_env>"})
    forms: tuple[tuple[str, list[Action]], ...] = (
        (f"[{one}]", [call]),
        (one, [call]),
        (f'[{one},\n{{"name": "wait"}}, {one}]', [call, Wait(), call]),
    )
    for written, calls in forms:
        read = parse_response(around.replace("{}", written), "tool", space=SPACE)
        assert read == Response("why", tuple(calls))
    for wrong in ("[]", "[1]", '[{"name": "Search", "parameters": [1]}]', '[{"parameters": {}}]', "[[", f"[{one}"):
        read = parse_response(around.replace("{}", wrong), "tool", space=SPACE)
        assert isinstance(read, ParseError) and read.kind == ErrorKind.UNBALANCED, wrong
    read = parse_response(around.replace("{}", one.replace("Search", "Find")), "tool", space=SPACE)
    assert isinstance(read, ParseError) and read.kind == ErrorKind.UNKNOWN_FUNCTION


@pytest.mark.parametrize("grammar", ["text", "tool"])
@pytest.mark.parametrize(
    ("text", "thought", "content"),
    [
        ("<think>why</think>\n<answer>\nIt is Paris.\n</answer>", "why", "It is Paris."),
        ("<think>an <answer> soon</think><answer>a\n\n'b'</answer>[EOS]\n", "an <answer> soon", "a\n\n'b'"),
        ("<answer></answer>", "", ""),
        (
            "<think>why</think><answer>click on (1, 2), then wait</answer><|im_end|>",
            "why",
            "click on (1, 2), then wait",
        ),
        ("<think>why</think>so\n<answer>f(x)\\n</answer>", None, "f(x)\\n"),
    ],
)
def test_an_answer_in_tags_is_the_end(grammar: str, text: str, thought: str | None, content: str) -> None:
    response = parse_response(text, grammar)
    assert isinstance(response, Response) and response.actions == (Finished(content),)
    assert thought is None or response.thought == thought
    assert parse_response(format_response(response, grammar), grammar) == response


def test_an_answer_behind_a_thought_in_words() -> None:
    for text in ("Thought: a\n<answer>Paris</answer>", "Thought: a\nAction:\n<answer>Paris</answer>"):
        _reads(text, "text", "a", Finished("Paris"))


@pytest.mark.parametrize(
    ("grammar", "text", "kind"),
    [
        ("text", "Thought: a\nAction: wait()\n<answer>b</answer>", ErrorKind.AMBIGUOUS),  # wait, or end?
        ("text", "<answer>a</answer>\n<answer>b</answer>", ErrorKind.AMBIGUOUS),
        ("text", "<answer>wait() does it</answer>", ErrorKind.TRAILING_TEXT),
        ("text", "<think>a</think><answer>It is", ErrorKind.UNBALANCED),
        ("text", "<answer>a</answer> or so", ErrorKind.NO_ACTION),
        ("tool", "<answer>a</answer><seed:tool_call><function=wait></function></seed:tool_call>", ErrorKind.AMBIGUOUS),
        ("text", "<answer>a</answer>\nAction: wait()", ErrorKind.AMBIGUOUS),
        ("tool", "<seed:tool_call><function=wait></function></seed:tool_call><answer>a</answer>", ErrorKind.AMBIGUOUS),
        ("tool", "<think>a</think><answer>click(start_box='(1,2)')</answer>", ErrorKind.AMBIGUOUS),
        ("tool", "<think>a</think><answer>It is", ErrorKind.UNBALANCED),
        ("tool", "<seed:tool_call><function=type><parameter=content>a", ErrorKind.UNBALANCED),
        ("text", "Action: swipe(direction='up')", ErrorKind.UNKNOWN_FUNCTION),  # the finger, or the page?
        ("text", "Action: pyautogui.click(x=1, y=2)", ErrorKind.UNKNOWN_FUNCTION),  # pixels, or the grid?
        ("text", "Action: middle_click(point='1 2')", ErrorKind.UNKNOWN_FUNCTION),
        ("text", "Action: click(point='1 2', x=3, y=4)", ErrorKind.BAD_ARGUMENT),
        ("text", "Action: click('1 2', point='3 4')", ErrorKind.BAD_ARGUMENT),
        ("text", "Action: click(1, 2, 3)", ErrorKind.BAD_ARGUMENT),
        ("text", "Action: wait(5, 6)", ErrorKind.BAD_ARGUMENT),
        ("text", "Action: type(content='a', point='nowhere')", ErrorKind.BAD_ARGUMENT),
        ("text", "Action: type(point='1 2')", ErrorKind.MISSING_ARGUMENT),
        ("text", "Action: hotkey(key='ctrl c', point='1 2')", ErrorKind.BAD_ARGUMENT),
        ("text", "Action: scroll(point='1 2', direction='down', amount='3')", ErrorKind.BAD_ARGUMENT),
        ("text", "Action: Search('a')", ErrorKind.BAD_ARGUMENT),  # which of its parameters?
        ("text", "Action: click", ErrorKind.MISSING_ARGUMENT),
        ("text", "Action: wait for the page", ErrorKind.NO_ACTION),
        ("text", "Action: wait() Then I click(1, 2)", ErrorKind.TRAILING_TEXT),
        ("text", "Thought: a\nAction: wait()\nThought: b\nAction: wait()", ErrorKind.TRAILING_TEXT),
    ],
)
def test_what_may_mean_two_things_is_refused(grammar: str, text: str, kind: ErrorKind) -> None:
    error = parse_response(text, grammar, space=SPACE)
    assert isinstance(error, ParseError)
    assert error.kind is kind and error.message
