"""Parts of the page by themselves: where a gesture goes in an answer, and what a step costs a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Route

import tars_jax.annotation.interactive
from tests.sandbox.service.chromium import on_a_page

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
PAGE = Path(tars_jax.annotation.interactive.__file__).parent / "page"
CLICK = {"type": "click", "x": 0.25, "y": 0.5, "button": "left"}
RIGHT = {**CLICK, "button": "right"}
DOUBLE = {**CLICK, "type": "double_click"}
DRAG = {"type": "drag", "x": 0, "y": 0, "x2": 1, "y2": 1, "button": "left"}
WHEEL = {"type": "scroll", "x": 0.25, "y": 0.5, "dx": 0, "dy": -3}
P, Q = "<point>250 500</point>", "<point>1 2</point>"
DRAGGED = "drag(start_point='<point>0 0</point>', end_point='<point>1000 1000</point>')"

GESTURES: list[tuple[str, int, dict[str, Any], str | None]] = [
    ("", 0, CLICK, f"click(point='{P}')"),
    ("", 0, RIGHT, f"right_single(point='{P}')"),
    ("", 0, DRAG, DRAGGED),
    ("", 0, WHEEL, f"scroll(point='{P}', direction='up')"),
    (f"click(point='{Q}')", 0, CLICK, f"click(point='{P}')"),
    (f"click(point='{Q}')", 0, DOUBLE, f"left_double(point='{P}')"),
    (f"click(point='{Q}')", 0, DRAG, DRAGGED),
    (f"move_to(point='{Q}')", 0, CLICK, f"move_to(point='{P}')"),
    (f"drag(start_point='{Q}', end_point='{Q}')", 0, DRAG, DRAGGED),
    (f"drag(start_point='{Q}', end_point='{Q}')", 60, CLICK, f"drag(start_point='{Q}', end_point='{P}')"),
    ("drag(start_point='<point>1 2</point>', end_point='<point></point>')", 0, CLICK,
     f"drag(start_point='{Q}', end_point='{P}')"),
    ("click(", 6, CLICK, f"click(point='{P}')"),
    ("scroll(point=", 13, CLICK, f"scroll(point='{P}', direction='down')"),
    ("type(content='a')", 15, CLICK, f"type(content='a{P}')"),
    ("type(content='a')", 15, DRAG, None),
    ("type(content='a')", 15, WHEEL, None),
    (f"click(point='{Q}')\n\nclick(point='{Q}')", 55, CLICK, f"click(point='{Q}')\n\nclick(point='{P}')"),
]  # fmt: skip


def evaluated(script: str, argument: Any = None) -> Any:
    """What a script says on an empty page beside which the page's modules lie."""
    found = []

    async def served(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if name.endswith(".js"):
            await route.fulfill(body=(PAGE / name).read_text(encoding="utf-8"), content_type="text/javascript")
        else:
            await route.fulfill(body="<!doctype html><title>.</title>", content_type="text/html")

    async def use(page: Page) -> None:
        await page.route("http://page.test/**", served)
        await page.goto("http://page.test/")
        found.append(await page.evaluate(script, argument))

    on_a_page(use)
    return found[0]


def test_a_gesture_goes_where_it_is_meant() -> None:
    script = """async (cases) => {
      const { placeGesture } = await import("http://page.test/placing.js");
      return cases.map(([text, caret, gesture]) => placeGesture(text, caret, gesture, () => true)?.text ?? null);
    }"""
    found = evaluated(script, [case[:3] for case in GESTURES])
    assert found == [case[3] for case in GESTURES]


def test_what_is_written_is_drawn_and_read() -> None:
    script = """async (texts) => {
      const { marksOf, readable } = await import("http://page.test/placing.js");
      return texts.map((text) => [marksOf(text).map(({ kind, x, y, x2, y2 }) => [kind, x, y, x2, y2]), readable(text)]);
    }"""
    texts = [f"click(point='{P}')", DRAGGED, "click(point='<point></point>')", "type(content='<point>x</point>')"]
    assert evaluated(script, texts) == [
        [[["point", 0.25, 0.5, None, None]], "click(250 500)"],
        [[["drag", 0, 0, 1, 1]], "drag(0 0 → 1000 1000)"],
        [[], "click(point='<point></point>')"],
        [[], "type(content='<point>x</point>')"],
    ]


# What a hand does, in milliseconds between two deeds, and what reaches the environment.
HANDS: dict[str, list[list[Any]]] = {
    "click(.5); wait(500)": [["click", 0.5]],
    "click(.5); wait(100); click(.501); browser(.501); wait(500)": [["double_click", 0.5]],
    "click(.5); wait(500); click(.5); browser(.5); wait(500)": [["click", 0.5], ["click", 0.5]],
    "click(.5); click(.8); wait(500)": [["click", 0.5], ["click", 0.8]],
    "click(.5); click(.5); click(.5); wait(500)": [["double_click", 0.5], ["click", 0.5]],
    "click(.5); key('a'); click(.5); finish()": [["click", 0.5], ["type", "a"], ["click", 0.5]],
    "click(.5); drag(.1); wait(500)": [["click", 0.5], ["drag", 0.1]],
    "right(.5); right(.5); wait(500)": [["right_click", 0.5], ["right_click", 0.5]],
    "single(); click(.5); click(.5)": [["click", 0.5], ["click", 0.5]],  # where nothing can be clicked twice
}


def test_either_a_click_or_a_double_click_reaches_the_environment() -> None:
    script = """async (hands) => {
      const { createHand } = await import("http://page.test/hand.js");
      const lived = async (deeds) => {
        const sent = [];
        let doubles = true;
        const send = async ({ type, x, text }) => { sent.push([type, x ?? text]); };
        const hand = createHand(send, () => {}, () => {}, () => doubles);
        const gesture = (type, button = "left") => (x) => hand.gesture({ type, x, y: .5, x2: 1, y2: 1, button });
        const key = (name) => hand.key(new KeyboardEvent("keydown", { key: name }));
        const wait = (ms) => new Promise((done) => setTimeout(done, ms));
        const does = { click: gesture("click"), browser: gesture("double_click"), drag: gesture("drag"), key, wait,
          right: gesture("click", "right"), finish: hand.finish, single: () => { doubles = false; } };
        for (const deed of deeds.split("; ")) {
          await new Function(...Object.keys(does), `return ${deed}`)(...Object.values(does));
        }
        return sent;
      };
      return Promise.all(hands.map(lived));
    }"""
    assert evaluated(script, list(HANDS)) == list(HANDS.values())


LIVED = {
    "at(2); key('a'); at(5)": (5, 1),
    "at(2); key('Shift'); key('A'); key('A'); at(3)": (3, 2),
    "at(2); key('a'); at(500)": (32, 1),  # nobody moves for long: away after half a minute
    "at(4); hide(true); at(400); hide(false); at(401)": (5, 0),
    "hide(true); at(9); effort.begin(); at(12)": (0, 0),
}


def test_a_step_costs_active_seconds_and_keystrokes() -> None:
    script = """async (lives) => {
      const { measureEffort } = await import("http://page.test/effort.js");
      return lives.map((lived) => {
      const page = new EventTarget();
      let now = 0;
      page.hidden = false;
      const effort = measureEffort(page, () => now);
      const at = (seconds) => { now = 1000 * seconds; };
      const key = (name) => page.dispatchEvent(Object.assign(new Event("keydown"), { key: name }));
      const hide = (hidden) => { page.hidden = hidden; page.dispatchEvent(new Event("visibilitychange")); };
      effort.begin();
      new Function("at", "key", "hide", "effort", lived)(at, key, hide, effort);
      return Object.values(effort.taken());
      });
    }"""
    assert evaluated(script, list(LIVED)) == [list(each) for each in LIVED.values()]
