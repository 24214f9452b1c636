"""What hands do, event by event, becomes steps with typed actions."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Iterable, Sequence

import hypothesis
import hypothesis.strategies as st
import pytest

from tars_jax import InputError
from tars_jax.annotation.in_situ.annotated import read_actions
from tars_jax.annotation.in_situ.events import (
    Button,
    Ended,
    FocusedWindow,
    KeyStroke,
    Moved,
    Paused,
    RecordedEvent,
    Resumed,
    ScreenFrame,
    Scrolled,
    Secret,
    SourceGone,
)
from tars_jax.annotation.in_situ.key_names import (
    CHARACTERS,
    character_of_x,
    key_of,
    name_of_x,
    x_of_character,
    x_of_name,
)
from tars_jax.annotation.in_situ.steps import RecordedStep, recorded_steps
from tests.annotation.in_situ.measuring import calls, matched
from tests.annotation.in_situ.scripted import a_day, session

SCREEN = (1000, 500)
AT = "point='<point>100.5 401</point>'"  # of pixel (100, 200)


def steps_of(*events: RecordedEvent | Iterable[RecordedEvent], changed: bool = False) -> list[RecordedStep]:
    flat = itertools.chain.from_iterable([each] if isinstance(each, RecordedEvent) else each for each in events)
    return list(recorded_steps(flat, SCREEN, (lambda one, other: one != other) if changed else None))


def done(*events: RecordedEvent | Iterable[RecordedEvent]) -> list[str]:
    return [calls(step) for step in steps_of(*events)]


def click(
    time: float, x: int = 100, y: int = 200, button: str = "left", to: tuple[int, int] | None = None
) -> list[RecordedEvent]:
    end = to or (x, y)
    return [
        Button(time=time, x=x, y=y, button=button, down=True),  # type: ignore[arg-type]
        Button(time=time + 0.08, x=end[0], y=end[1], button=button, down=False),  # type: ignore[arg-type]
    ]


def strike(time: float, key: str, text: str | None = None) -> list[RecordedEvent]:
    typed = text if text is not None else {"space": " "}.get(key, key if len(key) == 1 else "")
    return [KeyStroke(time=time, key=key, down=True, text=typed), KeyStroke(time=time + 0.03, key=key, down=False)]


def typed(time: float, keys: Sequence[str], pause: float = 0.1) -> list[RecordedEvent]:
    return [event for number, key in enumerate(keys) for event in strike(time + pause * number, key)]


def hold(key: str, begins: float, ends: float, inside: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    return [KeyStroke(time=begins, key=key, down=True), *inside, KeyStroke(time=ends, key=key, down=False)]


def test_a_click_a_double_one_and_a_triple_one_are_told_apart() -> None:
    assert done(click(1)) == [f"click({AT})"]
    assert done(click(1), click(1.2)) == [f"left_double({AT})"]
    assert done(click(1), click(1.2), click(1.4)) == [f"left_double({AT})\n\nclick({AT})"]
    assert done(click(1), click(2)) == [f"click({AT})"] * 2  # too late
    assert done(click(1), click(1.2, 160)) != [f"left_double({AT})"]  # elsewhere
    assert done(click(1, button="right")) == [f"right_single({AT})"]


def test_a_drag_goes_from_where_the_button_was_pressed() -> None:
    (drag,) = done(click(1, to=(400, 200)))
    assert drag == "drag(start_point='<point>100.5 401</point>', end_point='<point>400.5 401</point>')"
    assert done(click(1, to=(104, 203))) == [f"click({AT})"]  # a hand that trembles


def test_what_no_action_says_is_named() -> None:
    (middle,) = steps_of(click(1, button="middle"))
    assert middle.actions == () and middle.cannot_say == "a click of the middle button"
    (outside,) = steps_of(click(1, 1200))
    assert outside.cannot_say == "a click outside of the screen"
    (key,) = steps_of(strike(1, "XF86AudioMute"))
    assert key.cannot_say == "the key XF86AudioMute"


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("hello", "hello"),
        (["h", "e", "l", "o", "Left", "l", "End", "space", "y"], "hello y"),
        (["h", "q", "BackSpace", "i"], "hi"),
        (["a", "b", "Left", "Left", "Delete"], "b"),
        (["a", "b", "Left", "Return"], "ab\\n"),  # a field's text is sent whole, wherever the cursor stands
        (["x", "KP_5", "KP_Enter"], "x5\\n"),
    ],
)
def test_corrections_are_folded_into_the_text_that_results(keys: Sequence[str], text: str) -> None:
    events = [
        event
        for number, key in enumerate(keys)
        for event in strike(1 + 0.1 * number, key, "5" if key == "KP_5" else None)
    ]
    assert done(events) == [f"type(content='{text}')"]


def test_a_key_that_leaves_the_text_is_a_step_of_its_own() -> None:
    assert done(typed(1, ["a", "BackSpace", "BackSpace"])) == ["hotkey(key='backspace')"]
    assert done(typed(1, ["a", "b", "Left", "Left", "Left"])) == [
        "type(content='ab')\n\nhotkey(key='left')\n\nhotkey(key='left')", "hotkey(key='left')"
    ]  # fmt: skip
    assert done(typed(1, ["a", "Tab", "b"])) == ["type(content='a')", "hotkey(key='tab')", "type(content='b')"]
    assert done(strike(1, "Return")) == ["hotkey(key='enter')"]


def test_a_word_is_taken_away_by_control_and_backspace() -> None:
    word = hold("Control_L", 2.0, 2.2, strike(2.1, "BackSpace"))
    assert done(typed(1, ["a", "space", "b", "c"]), word, typed(3, "d")) == ["type(content='a d')"]


def test_lines_go_on_at_once_or_are_steps_of_their_own() -> None:
    assert done(typed(1, ["a", "Return", "b"])) == ["type(content='a\\nb')"]
    assert done(typed(1, ["a", "Return"]), strike(5, "b")) == ["type(content='a\\n')", "type(content='b')"]


def test_modifiers_are_held_while_something_else_is_done() -> None:
    assert done(hold("Control_L", 1, 2, strike(1.5, "c", "\x03"))) == ["hotkey(key='ctrl c')"]
    assert done(hold("Control_L", 1, 2, click(1.5))) == [f"press(key='ctrl')\n\nclick({AT})\n\nrelease(key='ctrl')"]
    assert done(hold("Shift_L", 1, 2, strike(1.5, "A"))) == ["type(content='A')"]
    both = hold("Control_L", 1, 2, hold("Shift_L", 1.1, 1.9, strike(1.5, "T")))
    assert done(both) == ["hotkey(key='ctrl shift t')"]


def test_windows_are_gone_through_while_alt_stays_down() -> None:
    assert done(hold("Alt_L", 1, 3, [*strike(1.2, "Tab"), *strike(1.6, "Tab")])) == [
        "press(key='alt')\n\nhotkey(key='tab')\n\nhotkey(key='tab')\n\nrelease(key='alt')"
    ]
    apart = [*hold("Alt_L", 1, 1.3, strike(1.2, "Tab")), *hold("Alt_L", 1.5, 1.8, strike(1.6, "Tab"))]
    assert done(apart) == ["hotkey(key='alt tab')\n\nhotkey(key='alt tab')"]


def test_a_key_that_repeats_itself_and_a_modifier_alone() -> None:
    held = [KeyStroke(time=1 + 0.03 * number, key="Down", down=True) for number in range(4)]
    assert done(held) == ["\n\n".join(["hotkey(key='down')"] * 4)]
    assert done(hold("Super_L", 1, 1.1, [])) == ["hotkey(key='meta')"]
    assert done(hold("Shift_L", 1, 1.1, []), hold("Alt_L", 2, 9, [])) == []


def test_notches_of_the_wheel_are_merged_by_threes() -> None:
    turned = [Scrolled(time=1 + 0.1 * number, x=100, y=200, dy=1) for number in range(6)]
    assert done(turned) == [f"scroll({AT}, direction='down')\n\nscroll({AT}, direction='down')"]
    back = [Scrolled(time=2, x=100, y=200, dy=-1), Scrolled(time=2.1, x=100, y=200, dx=2)]
    assert done(turned, back) == [
        *done(turned), f"scroll({AT}, direction='up')", f"scroll({AT}, direction='right')"
    ]  # fmt: skip


def test_a_step_is_seen_as_it_was_before_the_hand_set_out() -> None:
    way = [Moved(time=2 + 0.03 * number, x=10 * number, y=200) for number in range(10)]
    (step,) = steps_of(
        ScreenFrame(time=1, file="before"), way[:5], ScreenFrame(time=2.14, file="hovered"), way[5:], click(2.4),
        ScreenFrame(time=2.6, file="after"),
    )  # fmt: skip
    assert (step.frame, step.begins, step.time) == ("before", 2, 2.4)


def test_what_the_last_action_led_to_is_seen_though_the_hand_was_on_its_way() -> None:
    way = [Moved(time=1.02 + 0.03 * number, x=10 * number, y=200) for number in range(10)]
    _, step = steps_of(
        ScreenFrame(time=0.5, file="first"), click(0.9, 500), way, ScreenFrame(time=1.295, file="menu"), click(1.3)
    )
    assert step.frame == "menu"


def test_who_acts_once_the_screen_has_settled_has_waited() -> None:
    opened = [ScreenFrame(time=1.3, file="empty"), ScreenFrame(time=5.1, file="loaded")]
    events = [ScreenFrame(time=0.5, file="start"), *click(1), *opened, *click(6)]
    assert [calls(step) for step in steps_of(events, changed=True)] == [
        f"click({AT})", "wait(time='4')", f"click({AT})"
    ]  # fmt: skip
    assert done(events) == [f"click({AT})"] * 2  # nobody looks at the pictures
    quick = [ScreenFrame(time=0.5, file="start"), *click(1), ScreenFrame(time=1.3, file="loaded"), *click(6)]
    assert [calls(step) for step in steps_of(quick, changed=True)] == [f"click({AT})"] * 2  # it was a thought


def test_another_window_ends_a_text() -> None:
    first, second = (FocusedWindow(time=time, application="a", allowed=True, title=f"{time}") for time in (0, 2))
    one, two = steps_of(first, typed(1, "ab"), second, typed(3, "cd"))
    assert (calls(one), calls(two)) == ("type(content='ab')", "type(content='cd')")
    assert (one.window, two.window) == (first, second)


def test_what_is_struck_while_a_button_is_held_comes_first() -> None:
    down, up = Button(time=1, x=9, y=9, button="left", down=True), Button(time=3, x=9, y=9, button="left", down=False)
    found = steps_of(down, strike(2, "Escape"), up)
    assert [step.time for step in found] == [2, 2] and calls(found[0]) == "hotkey(key='escape')"


def test_a_window_that_is_not_allowed_has_no_steps() -> None:
    closed = FocusedWindow(time=1, application="", allowed=False)
    assert done(
        closed, click(2), typed(3, "secret"), FocusedWindow(time=5, application="a", allowed=True), click(6)
    ) == [f"click({AT})"]


def test_what_a_pause_takes_away_is_not_guessed() -> None:
    down, up = click(1)
    assert done(down, Paused(time=1.02), Resumed(time=5), Button(time=6, x=9, y=9, button="left", down=False)) == []
    assert done(up) == []
    control = KeyStroke(time=1, key="Control_L", down=True)
    assert done(control, SourceGone(time=2, source="keys", message="gone"), strike(3, "c")) == ["type(content='c')"]


def test_a_secret_is_left_to_the_user() -> None:
    hidden = [Secret(time=1, begins=True), *typed(2, "pw"), Secret(time=4, begins=False)]
    assert done(ScreenFrame(time=0.5, file="form"), hidden, strike(5, "Return")) == [
        "call_user()",
        "hotkey(key='enter')",
    ]
    assert done(hidden[:3], Ended(time=9)) == ["call_user()"]


@pytest.mark.parametrize("time", [math.nan, math.inf, -1.0, 0.5])
def test_times_that_go_back_are_refused(time: float) -> None:
    with pytest.raises(InputError, match="time of an event must be a number of seconds from 1 on"):
        steps_of(click(0.92), Moved(time=time, x=0, y=0))


def test_a_screen_has_pixels() -> None:
    with pytest.raises(InputError, match="screen must have"):
        list(recorded_steps([], (0, 500)))


TIMES = st.floats(0, 100, allow_nan=False)
PLACES = st.integers(-50, 1100)
NAMES = st.sampled_from((
    "a", "x", "space", "Return", "BackSpace", "Left", "Right", "End", "Delete", "Tab", "KP_1", "F35", "dead_acute",
    "Control_L", "Alt_R", "Super_L", "Shift_L", "\ud800",
))  # fmt: skip
TYPED = st.sampled_from(("", "a", "\n", "\x03", "\ud800", "é"))
BUTTONS = st.sampled_from(("left", "middle", "right"))
EVENTS = st.one_of(
    st.builds(Moved, time=TIMES, x=PLACES, y=PLACES),
    st.builds(Button, time=TIMES, x=PLACES, y=PLACES, button=BUTTONS, down=st.booleans()),
    st.builds(Scrolled, time=TIMES, x=PLACES, y=PLACES, dx=st.integers(-99, 99), dy=st.integers(-99, 99)),
    st.builds(KeyStroke, time=TIMES, key=NAMES, down=st.booleans(), text=TYPED),
    st.builds(FocusedWindow, time=TIMES, application=st.just("a"), allowed=st.booleans()),
    st.builds(ScreenFrame, time=TIMES, file=st.sampled_from(["a", "b"])),
    st.builds(Secret, time=TIMES, begins=st.booleans()),
    st.builds(Paused, time=TIMES), st.builds(Resumed, time=TIMES), st.builds(Ended, time=TIMES),
)  # fmt: skip


@hypothesis.given(st.lists(EVENTS, max_size=40), st.booleans())
@hypothesis.settings(max_examples=300)
def test_any_events_give_steps_or_are_refused(events: list[RecordedEvent], in_order: bool) -> None:
    given = sorted(events, key=lambda event: event.time) if in_order else events
    try:
        steps = steps_of(given, changed=True)
    except InputError:
        assert not in_order
        return
    for step in steps:
        assert bool(step.actions) != bool(step.cannot_say)
        assert 0 <= step.begins <= step.time <= step.ends
        if step.actions:
            assert read_actions(calls(step)) == step.actions
    assert [step.time for step in steps] == sorted(step.time for step in steps)


def test_scripted_sessions_come_out_as_they_were_played() -> None:
    for seed in range(20):
        played = session(seed, held_out=seed % 2 == 1)
        assert len(matched(list(recorded_steps(played.events, (1280, 720))), played)) == len(played.steps)


def test_a_days_events_go_through_in_bounded_memory() -> None:
    """Held is no more after two hours than after a quarter of one; tests/benchmarks/think_aloud.py has all eight."""
    piece = session(3, steps=6)
    peaks = []
    for hours in (0.25, 2.0):
        tracemalloc.start()
        count = sum(1 for _ in recorded_steps(a_day(piece, hours), (1280, 720), lambda one, other: False))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert count > 100 * hours
    assert peaks[1] < 1.5 * peaks[0] + 100_000


def test_keys_have_one_name_in_x_in_pynput_and_in_actions() -> None:
    for name, character in CHARACTERS.items():
        assert x_of_character(character) == name and character_of_x(name) == character
        assert key_of(name) == ("space" if character == " " else character)
    assert [key_of(name) for name in ("Return", "Prior", "KP_5", "C", "KP_Add", "nonsense")] == [
        "enter", "pageup", "5", "c", "+", None,
    ]  # fmt: skip
    assert x_of_name("ctrl_l") == "Control_L" and name_of_x("Next") == "page_down" and name_of_x("space") == ""
