"""Actions of OpenAI's computer tool, both ways, and how a policy of ours answers it."""

from __future__ import annotations

import random
from typing import Any

import pydantic
import pytest
from openai.types.responses import ComputerAction

from tars_jax.agent.actions import Action, ActionError, Finished, LongPress, Point, ToolCall
from tars_jax.agent.computer_form import CALL_USER, AnswerParts, ComputerForm
from tars_jax.agent.computer_tool import FORMS, computer_action, read_computer_action
from tars_jax.agent.grammar import format_response
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.agent.random_player import random_action
from tars_jax.agent.response import Response
from tars_jax.environment import ActionSpace

SIZE = (1280, 720)
BROWSER = ActionSpace("browser", PLATFORM_ACTIONS["browser"])
THEIRS: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ComputerAction)
LOOK = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": LOOK}}


def read(action: Any, space: ActionSpace = BROWSER) -> tuple[Action, ...]:
    return read_computer_action(action, space, SIZE)


def test_what_is_said_in_their_form_is_read_as_what_it_was() -> None:
    """By chance, of all actions that have a form; points within a pixel."""
    draws = random.Random(0)
    some = ActionSpace("browser", tuple(sorted(FORMS - {"finished", "wait"})))
    for _ in range(400):
        action = random_action(some, draws)
        said = computer_action(action, SIZE)
        assert said is not None
        assert THEIRS.validate_python(said).type == said["type"], "as the openai package has it"
        (again,) = read(said)
        assert type(again) is type(action)
        for name, value in vars(action).items():
            found = getattr(again, name)
            if isinstance(value, Point):
                assert abs(found.x - value.x) <= 1 and abs(found.y - value.y) <= 1.5
            elif name != "point":
                assert found == value


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ({"type": "click", "button": "left", "x": 640, "y": 0}, "click(point='<point>500 0</point>')"),
        ({"type": "click", "button": "right", "x": 1280, "y": 720}, "right_single(point='<point>1000 1000</point>')"),
        ({"type": "click", "button": "back", "x": 1, "y": 1}, "navigate_back()"),
        ({"type": "double_click", "x": 640, "y": 360}, "left_double(point='<point>500 500</point>')"),
        ({"type": "move", "x": 640, "y": 360}, "move_to(point='<point>500 500</point>')"),
        ({"type": "wait"}, "wait(time='2')"),
        ({"type": "screenshot"}, ""),
        ({"type": "type", "text": "it's\n"}, "type(content='it\\'s\\n')"),
        ({"type": "keypress", "keys": ["CTRL", "SHIFT", "ARROWLEFT"]}, "hotkey(key='ctrl shift left')"),
        ({"type": "keypress", "keys": ["ESC"]}, "hotkey(key='escape')"),
        (
            {"type": "scroll", "x": 640, "y": 360, "scroll_x": 0, "scroll_y": 620},
            "scroll(point='<point>500 500</point>', direction='down')\n\n" * 2,
        ),
        (
            {"type": "scroll", "x": 640, "y": 360, "scroll_x": -10, "scroll_y": 0},
            "scroll(point='<point>500 500</point>', direction='left')",
        ),
        (
            {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 640, "y": 360}]},
            "drag(start_point='<point>0 0</point>', end_point='<point>500 500</point>')",
        ),
        (
            {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 640, "y": 0}, {"x": 640, "y": 360}]},
            "mouse_down(point='<point>0 0</point>')\n\nmove_to(point='<point>500 0</point>')\n\n"
            "move_to(point='<point>500 500</point>')\n\nmouse_up(point='<point>500 500</point>')",
        ),
        (
            {"type": "click", "button": "left", "x": 0, "y": 0, "keys": ["SHIFT"]},
            "press(key='shift')\n\nclick(point='<point>0 0</point>')\n\nrelease(key='shift')",
        ),
    ],
)
def test_their_actions_as_ours(said: dict[str, Any], calls: str) -> None:
    found = read(said)
    written = format_response(Response("", found)) if found else "Action: "
    assert written == f"Action: {calls}".rstrip("\n") or (not found and not calls)


def test_a_path_is_a_drag_where_no_button_can_be_held() -> None:
    path = [{"x": 0, "y": 0}, {"x": 640, "y": 0}, {"x": 640, "y": 360}]
    (found,) = read({"type": "drag", "path": path}, ActionSpace("phone", ("drag",)))
    assert found.name == "drag" and found.end_point == Point(500, 500)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (None, "must be an object with a type; got null"),
        ({"type": 3}, "must be an object with a type"),
        ({"type": "fly"}, "an action of the computer tool must be click, .*; got 'fly'"),
        ({"type": "click", "x": 1, "y": 1, "button": "wheel"}, 'button must be one of left, right, back; got "wheel"'),
        ({"type": "click", "x": 1, "y": 1, "button": ["left"]}, "button must be one of"),
        ({"type": "click", "button": "left"}, r"pixels of a display of 1280x720; got \(null, null\)"),
        ({"type": "click", "x": 1281, "y": 2, "button": "left"}, r"got \(1281, 2\)"),
        ({"type": "click", "x": True, "y": 2, "button": "left"}, r"got \(true, 2\)"),
        ({"type": "click", "x": float("nan"), "y": 2, "button": "left"}, "pixels of a display"),
        ({"type": "drag", "path": [{"x": 1, "y": 1}]}, "path must be a list of two places or more"),
        ({"type": "drag", "path": [[1, 1], [2, 2]]}, "drag: x and y must be pixels"),
        ({"type": "scroll", "x": 1, "y": 1}, "scroll_x or scroll_y must be pixels; got none"),
        ({"type": "scroll", "x": 1, "y": 1, "scroll_y": "down"}, "scroll_y must be a number of pixels"),
        ({"type": "keypress"}, "keypress: keys is missing"),
        ({"type": "keypress", "keys": ["CTRL", "A", "B", "C"]}, "at most 3 keys"),
        ({"type": "keypress", "keys": ["HYPERDRIVE"]}, "a key must be one of a keyboard"),
        ({"type": "type"}, "type: text is missing"),
        ({"type": "type", "text": 5}, "content must be text"),
        ({"type": "move", "x": 1, "y": 1, "keys": "SHIFT"}, "keys must be a list"),
    ],
)
def test_nonsense_is_an_error_with_its_reason(said: Any, error: str) -> None:
    with pytest.raises(ActionError, match=error):
        read(said)


def test_what_the_space_has_not_is_an_error() -> None:
    with pytest.raises(ActionError, match="a function must be one of click, drag"):
        read({"type": "move", "x": 1, "y": 1}, ActionSpace("computer", ("click", "drag")))


MIDDLE = {"type": "click", "button": "left", "x": 640, "y": 360}
TRAINED, OTHER = ComputerForm("text"), ComputerForm()


@pytest.mark.parametrize(
    ("form", "text", "heard"),
    [
        (
            TRAINED,
            "Thought: there\nAction: click(point='<point>500 500</point>')\n\ntype(content='x')",
            ("there", "", [{"actions": [MIDDLE, {"type": "type", "text": "x"}]}]),
        ),
        (TRAINED, "Thought: done\nAction: finished(content='42')", ("done", "42", [])),
        (TRAINED, "Thought: done\nAction: finished(content='')", ("done", "done", [])),
        (TRAINED, "Action: call_user()", ("", CALL_USER, [])),
        (TRAINED, "Action: look(query='it')", ("", "", [{"name": "look", "arguments": '{"query": "it"}'}])),
        (TRAINED, "Action: click(", ("", "Action: click(", [])),
        (TRAINED, "Action: press_home()", ("", "press_home()", [])),
        (
            ComputerForm("tool"),
            "<seed:tool_call><function=wait></function></seed:tool_call>",
            ("", "", [{"actions": [{"type": "wait"}]}]),
        ),
        (
            OTHER,
            'I see it.\n<tool_call>\n{"name": "click", "arguments": {"point": [500, 500]}}\n</tool_call>',
            ("I see it.", "", [{"actions": [MIDDLE]}]),
        ),
        (
            OTHER,
            '<tool_call>\n{"name": "look", "arguments": {"query": "it"}}\n</tool_call>',
            ("", "", [{"name": "look", "arguments": '{"query": "it"}'}]),
        ),
        (OTHER, "Action: wait()", ("", "", [{"actions": [{"type": "wait"}]}])),
        (OTHER, "It is done.", ("", "It is done.", [])),
    ],
)  # fmt: skip
def test_an_answer_is_taken_apart(form: ComputerForm, text: str, heard: Any) -> None:
    thought, words, calls = form.read(text, [TOOL], SIZE)
    assert (thought, words, list(calls)) == heard


def test_an_answer_is_written_as_the_policy_would_have() -> None:
    text = "Thought: there\nAction: click(point='<point>500 500</point>')\n\nlook(query='it')"
    assert TRAINED.write(TRAINED.read(text, [TOOL], SIZE), [TOOL], SIZE) == text
    calls = ({"actions": [{"type": "fly"}]},)
    assert "fly" in TRAINED.write(AnswerParts("", "words", calls), [], SIZE)
    assert TRAINED.write(AnswerParts("", "", ({"actions": [{"type": "wait"}]},)), [], None) == "Action: wait(time='2')"


def test_an_action_without_a_form_is_a_function_that_the_client_has() -> None:
    tool = {"type": "function", "function": {"name": "long_press", "parameters": {}}}
    assert computer_action(LongPress(Point(1, 2)), SIZE) is None
    _, words, calls = TRAINED.read("Action: long_press(point='<point>1 2</point>')", [tool], SIZE)
    assert calls == ({"name": "long_press", "arguments": '{"point": [1.0, 2.0]}'},) and not words


def test_a_policy_that_is_no_run_s_is_told_what_it_can_call() -> None:
    told = OTHER.told("browser", [TOOL], screen=True)
    names = [tool["function"]["name"] for tool in told.tools]
    assert "click" in names and "look" in names and "press_home" not in names and "0 to 1000" in str(told.tools)
    assert "Act by calling the tools" in told.system
    press = {"type": "function", "function": {"name": "press", "parameters": {}}}
    assert TRAINED.told("browser", [TOOL, press], screen=True).tools == (TOOL,), "actions it knows by its training"
    listing = ComputerForm("text", list_actions=True).told("linux", [TOOL], screen=True)
    assert "look(query='...')" in listing.before and not listing.tools and not listing.system
    assert isinstance(Finished(), Finished) and ToolCall("look", {}).name == "look"
