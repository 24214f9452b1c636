"""What each action does with mouse and keyboard."""

from __future__ import annotations

from tars_jax.agent import (
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    Hotkey,
    LongPress,
    Navigate,
    Point,
    Press,
    Release,
    Scroll,
    ToolCall,
    Type,
    Wait,
)
from tars_jax.agent import MouseDown as MouseDownAction
from tars_jax.agent import MouseUp as MouseUpAction
from tars_jax.agent import MoveTo as MoveToAction
from tars_jax.agent.keys import NAMED_KEYS
from tars_jax.envs.gui import acts_on_page, browser_key, held_after, mouse_after, to_events
from tars_jax.sandbox.browser import (
    InputEvent,
    InsertText,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
    is_key,
)

HALF = Point(500, 500)


def events(action: Action, mouse: tuple[float, float] | None = None) -> list[InputEvent]:
    found, advance_ms = to_events(action, 200, 100, mouse)
    assert advance_ms == 0
    return found


def test_a_click_at_the_far_edge_stays_on_the_page() -> None:
    assert events(MoveToAction(Point(1000, 1000))) == [MouseMove(199, 99)]


def test_hotkeys_go_down_in_order_and_up_in_reverse() -> None:
    down, up = [KeyDown("Control"), KeyDown("c")], [KeyUp("c"), KeyUp("Control")]
    assert events(Hotkey(("ctrl", "c"))) == down + up
    assert events(Hotkey(("up",))) == [KeyDown("ArrowUp"), KeyUp("ArrowUp")]
    assert events(Press("pagedown")) == [KeyDown("PageDown")]
    assert events(Release("f5")) == [KeyUp("F5")]


def test_every_named_key_has_a_name_in_the_browser() -> None:
    assert all(browser_key(key) != key and is_key(browser_key(key)) for key in NAMED_KEYS)


def test_keys_that_the_keyboard_lacks_do_nothing() -> None:
    assert events(Press("é")) == events(Release("猫")) == events(Hotkey(("é",))) == []


def test_typing_submits_once_and_inserts_what_no_key_has() -> None:
    enter = [KeyDown("Enter"), KeyUp("Enter")]
    assert events(Type("aB\n")) == [KeyDown("a"), KeyUp("a"), KeyDown("B"), KeyUp("B"), *enter]
    assert events(Type("é\r\n")) == [InsertText("é"), *enter]
    assert events(Type("")) == []


def test_scroll_is_over_its_point_or_over_the_mouse() -> None:
    assert events(Scroll(HALF, "down")) == [MouseMove(100, 50), Wheel(100, 50, 0, 300)]
    assert events(Scroll(None, "left"), mouse=(7, 8)) == [MouseMove(7, 8), Wheel(7, 8, -300, 0)]
    assert events(Scroll(None, "up")) == [MouseMove(100, 50), Wheel(100, 50, 0, -300)]


def test_mouse_buttons_without_a_point() -> None:
    assert events(MouseDownAction(None, "right"), mouse=(7, 8)) == [MouseMove(7, 8), MouseDown(7, 8, button="right")]
    assert events(MouseUpAction(HALF)) == [MouseMove(100, 50), MouseUp(100, 50)]


def test_only_waiting_takes_time() -> None:
    assert to_events(Wait(1.5), 200, 100) == ([], 1500)


def test_actions_that_mean_nothing_on_a_page() -> None:
    for action in (Finished(), CallUser(), Navigate("x"), LongPress(HALF), ToolCall("bash", {})):
        assert not acts_on_page(action)
        assert events(action) == []


def test_the_mouse_stays_where_it_was_left() -> None:
    assert mouse_after(events(Drag(Point(0, 0), HALF)), None) == (100, 50)
    assert mouse_after([KeyDown("a")], (1, 2)) == (1, 2)


def test_what_is_held_down_is_remembered() -> None:
    held = held_after(events(Press("shift")), {})
    held = held_after(events(MouseDownAction(HALF)), held)
    assert list(held.values()) == [KeyUp("Shift"), MouseUp(100, 50)]
    assert list(held_after(events(Release("shift")), held).values()) == [MouseUp(100, 50)]
    assert held_after(events(Click(HALF)), {}) == {}
