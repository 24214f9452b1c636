"""Typed actions: what is valid, and the two ways in and out of them."""

from __future__ import annotations

import pytest

from tars_jax import InputError
from tars_jax.agent import (
    Click,
    Drag,
    Finished,
    Hotkey,
    MouseDown,
    Point,
    Press,
    Scroll,
    ToolCall,
    Type,
    Wait,
    action_from_call,
    action_point,
    call_of,
    pixel_size,
    point_from_pixels,
)
from tars_jax.agent.actions import FUNCTIONS, ActionError, BadArgument, MissingArgument
from tars_jax.environment import ActionSpace, Function


def test_points_become_pixels_inside_the_screen() -> None:
    assert Point(500, 250).pixels(1280, 720) == (640, 180)
    assert Point(1000, 1000).pixels(96, 96) == (95, 95)
    assert Point.from_pixels(640, 180, 1280, 720) == Point(500, 250)


@pytest.mark.parametrize(("x", "y"), [(-1, 0), (0, 1000.5), (float("nan"), 0), (0, float("inf"))])
def test_points_outside_the_grid_are_refused(x: float, y: float) -> None:
    with pytest.raises(InputError, match=r"0 to 1000"):
        Point(x, y)


@pytest.mark.parametrize(
    "value",
    [
        (500, 120),
        [500.0, 120.0],
        Point(500, 120),
        "<point>500 120</point>",
        "<|box_start|>(500,120)<|box_end|>",
        "(500, 120)",
        "[500,120]",
        "500 120",
        "[490, 110, 510, 130]",
        "<bbox>490 110 510 130</bbox>",
    ],
)
def test_every_spelling_of_a_point(value: object) -> None:
    assert action_from_call("click", {"point": value}) == Click(Point(500, 120))
    assert action_from_call("click", {"start_box": value}) == Click(Point(500, 120))


def test_drag_takes_boxes_as_start_and_end() -> None:
    drag = action_from_call("drag", {"start_box": "(1,2)", "end_box": "(3,4)"})
    assert drag == Drag(Point(1, 2), Point(3, 4))
    assert action_point(drag) == Point(3, 4)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ctrl c", ("ctrl", "c")),
        ("Ctrl+Shift+T", ("ctrl", "shift", "t")),
        ("ctrl +", ("ctrl", "+")),
        ("ctrl++", ("ctrl", "+")),
        ("Return", ("enter",)),
        ("page_down", ("pagedown",)),
        ("ArrowUp", ("up",)),
    ],
)
def test_hotkeys_are_read_in_one_spelling(text: str, keys: tuple[str, ...]) -> None:
    assert action_from_call("hotkey", {"key": text}) == Hotkey(keys)


@pytest.mark.parametrize("text", ["", "ctrl alt shift t", "ctrl nokey", "ctrl \udc80"])
def test_impossible_hotkeys(text: str) -> None:
    with pytest.raises(BadArgument):
        action_from_call("hotkey", {"key": text})


def test_defaults() -> None:
    assert action_from_call("wait", {}) == Wait(5.0)
    assert action_from_call("wait", {"time": "3"}) == Wait(3)
    assert action_from_call("finished", {}) == Finished("")
    assert action_from_call("scroll", {"direction": "Left"}) == Scroll(None, "left")
    assert action_from_call("mouse_down", {}) == MouseDown(None, "left")


@pytest.mark.parametrize(
    ("name", "parameters", "error", "words"),
    [
        ("fly", {}, ActionError, "a function must be one of .*; got 'fly'"),
        ("click", {}, MissingArgument, "point is missing"),
        ("scroll", {"point": (1, 2)}, MissingArgument, "direction is missing"),
        ("scroll", {"direction": "sideways"}, BadArgument, "up, down, left, right"),
        ("click", {"point": (1, 2), "speed": "3"}, BadArgument, "a parameter must be one of point; got 'speed'"),
        ("click", {"point": (1, 2), "start_box": (1, 2)}, BadArgument, "given twice"),
        ("click", {"point": (1, 2, 3)}, BadArgument, "<point>x y</point>"),
        ("click", {"point": ("a", None)}, BadArgument, "<point>x y</point>"),
        ("click", {"point": 7}, BadArgument, "<point>x y</point>"),
        ("click", {"point": (10**400, 1)}, BadArgument, "<point>x y</point>"),
        ("click", {"point": b"ab"}, BadArgument, "<point>x y</point>"),
        ("click", {"point": {3: 1, 4: 2}}, BadArgument, "<point>x y</point>"),
        ("hotkey", {"key": None}, BadArgument, "key must be names of keys; got NoneType"),
        ("wait", {"time": 10**400}, BadArgument, "a number of seconds"),
        ("wait", {"time": True}, BadArgument, "a number of seconds"),
        ("wait", {"time": "1e9"}, BadArgument, "60 seconds"),
        ("wait", {"time": "soon"}, BadArgument, "a number of seconds"),
        ("wait", {"time": "nan"}, BadArgument, "a number of seconds"),
        ("type", {"content": 5}, BadArgument, "content must be text"),
        ("press", {"key": "ctrl c"}, BadArgument, "a key must be one of a keyboard; got 'ctrl c'"),
    ],
)
def test_impossible_calls(name: str, parameters: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        action_from_call(name, parameters)
    assert type(raised.value) is error


def test_actions_cannot_be_made_wrong() -> None:
    for make in (
        lambda: Scroll(None, "north"),
        lambda: Hotkey(()),
        lambda: Press("Enter"),
        lambda: Wait(0),
        lambda: MouseDown(None, "middle"),
        lambda: ToolCall("click", {}),
        lambda: ToolCall("a b", {}),
        lambda: ToolCall("search", {"n": float("nan")}),
        lambda: ToolCall("search", {"n": {1, 2}}),
    ):
        with pytest.raises(InputError):
            make()


def test_tools_are_calls_only_where_the_caller_names_them() -> None:
    with pytest.raises(ActionError):
        action_from_call("Search", {"query": "x"})
    query = {"type": "object", "properties": {"query": {"type": "string"}}}
    space = ActionSpace("tools", (), (Function("Search", parameters=query),))
    assert action_from_call("Search", {"query": "x"}, space=space) == ToolCall("Search", {"query": "x"})


def test_calls_print_integers_without_decimals_and_leave_out_defaults() -> None:
    assert call_of(Click(Point(12.0, 0.5))) == ("click", {"point": "<point>12 0.5</point>"})
    assert call_of(Wait()) == ("wait", {})
    assert call_of(Wait(2.0)) == ("wait", {"time": "2"})
    assert call_of(Scroll(None, "up")) == ("scroll", {"direction": "up"})
    assert call_of(Type("a")) == ("type", {"content": "a"})


def test_the_functions_of_both_action_spaces_exist() -> None:
    computer = "click left_double right_single drag hotkey type scroll wait finished call_user"
    mobile = "click long_press type scroll open_app drag press_home press_back finished"
    gui = "navigate navigate_back press release mouse_down mouse_up move_to"
    assert {*computer.split(), *mobile.split(), *gui.split()} == set(FUNCTIONS)


def test_the_size_of_the_image_that_a_model_points_in() -> None:
    # 1080/28 = 38.57 -> 39*28 = 1092; 1920/28 = 68.57 -> 69*28 = 1932; within both bounds.
    assert pixel_size(1080, 1920) == (1092, 1932)
    # 56x56 = 3136 is below 100*784 = 78400: grow by 5 to exactly 280x280.
    assert pixel_size(56, 56) == (280, 280)
    # 8000x8000 exceeds 16384*784 = 3584 squared: shrink to 3584x3584.
    assert pixel_size(8000, 8000) == (3584, 3584)
    with pytest.raises(InputError, match="at most 200 times the other; got 1 x 500"):
        pixel_size(1, 500)
    with pytest.raises(InputError, match="1 pixel or more; got 0 x 500"):
        pixel_size(0, 500)


def test_pixels_of_the_resized_screenshot() -> None:
    assert point_from_pixels(966, 546, 1920, 1080) == Point(500, 500)
    assert action_from_call("click", {"point": "(966,546)"}, pixel_size=(1932, 1092)) == Click(Point(500, 500))
    with pytest.raises(InputError):
        point_from_pixels(2000, 546, 1920, 1080)
