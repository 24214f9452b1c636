"""What a real page hears of each action."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tars_jax.agent import (
    Action,
    Click,
    Drag,
    Hotkey,
    LeftDouble,
    MoveTo,
    Point,
    Press,
    Release,
    RightSingle,
    Scroll,
    Type,
    Wait,
)
from tars_jax.envs.gui import DRAG_MOVES, to_events
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, Site

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><body style="margin:0"><textarea style="width:200px;height:80px"></textarea><script>
window.heard = [];
for (const kind of ["mousedown", "mouseup", "mousemove", "click", "dblclick", "contextmenu"])
  addEventListener(kind, (event) => heard.push([kind, event.clientX, event.clientY, event.button, event.buttons]));
addEventListener("wheel", (event) => heard.push(["wheel", event.deltaX, event.deltaY]));
for (const kind of ["keydown", "keyup"])
  addEventListener(kind, (event) => heard.push([kind, event.key, event.ctrlKey, event.shiftKey]));
</script>"""
HERE = Point(500, 900)  # pixel (100, 180), below the text area


def hear(tmp_path: Path, *turns: Sequence[Action]) -> list[list[Any]]:
    """What the page hears of each turn's actions, and at last the text of its text area and its time."""
    (tmp_path / "index.html").write_text(PAGE)

    async def play() -> list[list[Any]]:
        async with BrowserManager(BrowserConfig(width=200, height=200, browsers=1, pages_per_browser=1)) as manager:
            page = await manager.open_page(Site(tmp_path))
            await page.start("0", seed=0)
            heard = []
            for actions in turns:
                for action in actions:
                    events, own_ms = to_events(action, 200, 200)
                    await page.act(events, advance_ms=own_ms)
                heard.append(json.loads(await page.evaluate("JSON.stringify(heard.splice(0))")))
            heard.append(await page.evaluate("[document.querySelector('textarea').value, performance.now()]"))
            return heard

    return asyncio.run(play())


def test_mouse_and_keyboard(tmp_path: Path) -> None:
    clicked, doubled, right, dragged, scrolled, combined, held, typed, (text, now) = hear(
        tmp_path,
        [Click(HERE)],
        [LeftDouble(HERE)],
        [RightSingle(HERE)],
        [Drag(Point(0, 900), HERE)],
        [Scroll(HERE, "down"), Scroll(HERE, "left")],
        [Hotkey(("ctrl", "shift", "up"))],
        [Press("shift"), MoveTo(HERE), Release("shift")],
        [Click(Point(100, 100)), Type('It\'s "5"\né\n'), Wait(2)],
    )
    assert ["mousemove", 100, 180] in [event[:3] for event in clicked]
    assert clicked[-3:] == [["mousedown", 100, 180, 0, 1], ["mouseup", 100, 180, 0, 0], ["click", 100, 180, 0, 0]]
    assert [event[0] for event in doubled if event[0] in ("click", "dblclick")] == ["click", "click", "dblclick"]
    assert ["contextmenu", 100, 180, 2, 2] in right
    moves = [event for event in dragged if event[0] == "mousemove" and event[4] == 1]
    assert (len(moves), moves[-1][1:3]) == (DRAG_MOVES, [100, 180])
    assert [event for event in scrolled if event[0] == "wheel"] == [["wheel", 0, 300], ["wheel", -300, 0]]
    assert [(event[0], event[1]) for event in combined] == [
        ("keydown", "Control"),
        ("keydown", "Shift"),
        ("keydown", "ArrowUp"),
        ("keyup", "ArrowUp"),
        ("keyup", "Shift"),
        ("keyup", "Control"),
    ]
    assert combined[2] == ["keydown", "ArrowUp", True, True]
    assert [event[:2] for event in held if event[0].startswith("key")] == [["keydown", "Shift"], ["keyup", "Shift"]]
    assert [event[1] for event in typed if event[0] == "keydown"].count("Enter") == 2
    assert text == 'It\'s "5"\né\n'
    assert now == 2000
