"""Controls that open something, or go on while they are held: drawn in the page, on virtual time, on every path."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tars_jax.sandbox.browser import (
    BrowserConfig,
    BrowserManager,
    InputEvent,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
)

pytestmark = pytest.mark.browser

PLACE = "style='position:absolute; left:0; top:0; width:190px; height:40px; margin:0; box-sizing:border-box'"
LOG = """<script>window.log = [];
  for (const type of ['mousedown', 'mouseup', 'click', 'focus', 'input', 'change', 'keydown', 'keyup', 'cancel'])
    addEventListener(type, ({ key, target }) => log.push(key ? `${type} ${key}` : type), true);</script>"""
LIST = f"""<select id=it {PLACE}><option>apple<option>bean<option disabled>cherry<optgroup label=more><option>date
  <option hidden>fig</optgroup><hr><option>grape</select>"""
SIZE = 240  # of the viewport, CSS pixels
ROW = 18  # CSS pixels; the list begins below the control, with a border of one


def click(x: float, y: float, button: str = "left") -> list[InputEvent]:
    return [MouseMove(x, y), MouseDown(x, y, button), MouseUp(x, y, button)]


def keys(*names: str) -> list[InputEvent]:
    return [event for name in names for event in (KeyDown(name), KeyUp(name))]


def row(index: int) -> list[InputEvent]:
    return click(40, 41 + ROW * index + ROW / 2)


class Bench:
    """One page in use: what it says after a step, and what it showed."""

    def __init__(self, laboratory: Any, html: str) -> None:
        manager = laboratory.manager
        self.laboratory = laboratory
        self.page = laboratory.run(manager.open_page(laboratory.site(LOG + html), size=(SIZE, SIZE)))
        self.closed = laboratory.run(self.page.start("log.length = 0", seed=0)).pixels

    def act(self, events: Sequence[InputEvent] = (), advance_ms: float = 0, read: str = "it.value") -> Any:
        shown = self.laboratory.run(self.page.act(events, advance_ms=advance_ms, read=f"[{read}, log.splice(0)]"))
        self.pixels = shown.pixels
        value, self.log = shown.data
        return value

    @property
    def is_open(self) -> bool:
        """Whether there is something below the control."""
        return bool((self.pixels[44:170] != self.closed[44:170]).any())


def test_an_option_is_chosen_by_a_click(laboratory: Any) -> None:
    bench = Bench(laboratory, LIST)
    assert bench.act(click(60, 20)) == "apple" and bench.is_open
    assert bench.log == ["mousedown", "focus", "mouseup", "click"]
    assert bench.act(row(2)) == "apple" and bench.is_open, "a disabled option was chosen"
    assert bench.act(row(3)) == "apple" and bench.is_open, "the name of a group was chosen"
    assert bench.log == []
    assert bench.act(row(4)) == "date" and not bench.is_open
    assert bench.log == ["input", "change", "mouseup", "click"]


def test_a_list_closes_without_a_choice(laboratory: Any) -> None:
    bench = Bench(laboratory, LIST + "<button style='position:absolute; top:200px' onclick='log.push(1)'>x</button>")
    for away in (keys("Escape"), click(10, 210), click(60, 20), [Wheel(10, 230, 0, 10)], keys("F4")):
        bench.act(click(60, 20))
        assert bench.is_open
        assert bench.act([KeyDown("ArrowDown"), KeyUp("ArrowDown"), *away]) == "apple" and not bench.is_open
        if away == click(10, 210):
            assert 1 in bench.log, "the press elsewhere was swallowed"
    bench.act(click(60, 20))
    bench.act(read="it.disabled = true")
    assert bench.act() == "apple" and not bench.is_open


@pytest.mark.parametrize("opens", [["Enter"], [" "], ["F4"]])
def test_keys_open_move_and_choose(laboratory: Any, opens: list[str]) -> None:
    bench = Bench(laboratory, LIST + "<input id=next>")
    bench.act(read="it.focus()")
    assert bench.act(keys(*opens)) == "apple" and bench.is_open
    assert bench.act(keys("ArrowDown", "ArrowDown")) == "apple" and bench.log == []
    assert bench.act([KeyDown("Enter")]) == "date" and not bench.is_open
    assert bench.log == ["input", "change"]
    bench.act(keys("Enter") + keys("End", "Tab"))  # as in Chromium, Tab chooses and stays
    assert bench.act(read="[it.value, document.activeElement.id]") == ["grape", "it"]
    bench.act(keys("Enter", "Home", "PageDown", "Enter"))
    assert bench.act() == "grape"


def test_typing_ahead_is_on_virtual_time(laboratory: Any) -> None:
    words = "".join(f"<option>{word}" for word in ("ant", "bat", "bee", "ewe"))
    bench = Bench(laboratory, f"<select id=it {PLACE}>{words}</select>")
    bench.act(read="it.focus()")
    assert bench.act(keys("b"), 900) == "bat" and "change" in bench.log
    assert bench.act(keys("e"), 1_100) == "bee"
    assert bench.act(keys("e"), 1_000) == "ewe"
    assert bench.act(keys("Enter", "a", "Enter")) == "ant"


def test_a_list_finds_its_place(laboratory: Any) -> None:
    """Above where there is more room, within the viewport, over frames, dialogs and the page's own popovers."""
    options = "".join(f"<option>{number}" for number in range(60))
    low = Bench(
        laboratory, f"<select id=it style='position:fixed; left:190px; top:200px; width:50px'>{options}</select>"
    )
    low.act(click(210, 210))
    changed = (low.pixels != low.closed).any(axis=2)
    assert changed[:190, 190:].any() and not changed[:, :180].any()
    low.act([MouseMove(210, 60), Wheel(210, 60, 0, 18 * 30)])
    assert int(low.act(click(210, 60))) > 30
    frame = Bench(
        laboratory,
        """<iframe width=100 height=30 style="border:0; position:absolute; left:20px; top:10px"
      srcdoc="<body style='margin:0'><select style='width:90px; height:20px'><option>a<option>b<option>c">
      </iframe>""",
    )
    frame.act(click(60, 20), read="0")
    assert frame.act(click(60, 30 + 1 + ROW * 2.5), read="frames[0].document.querySelector('select').value") == "c"
    for kind in ("dialog", "div popover"):
        top = Bench(
            laboratory,
            f"""<{kind} id=box style="width:150px; height:100px; margin:10px">
          <select id=it style="position:fixed; left:30px; top:30px; width:90px; height:20px"><option>a<option>b</select>
          <script>box.showModal?.() ?? box.showPopover()</script>""",
        )
        top.act(click(40, 40))
        assert top.act(click(40, 50 + 1 + ROW * 1.5)) == "b"
        assert top.act(read="box.matches(':is([open], :popover-open)')") is True
    for mode in ("open", "closed"):
        shadow = Bench(
            laboratory,
            f"""<div id=host></div><script>window.root = host.attachShadow({{ mode: '{mode}' }});
          root.innerHTML = `{LIST}`</script>""",
        )
        shadow.act(click(60, 20), read="0")
        assert shadow.act(row(1), read="root.querySelector('select').value") == "bean"


def test_the_page_decides_and_notices_little(laboratory: Any) -> None:
    """A press that is prevented opens nothing, one that is stopped does, and between openings nothing is there."""
    bench = Bench(
        laboratory,
        LIST
        + """<script>window.seen = []; window.mode = '';
      it.addEventListener('mousedown', (event) => { if (mode === 'prevent') event.preventDefault();
        if (mode === 'stop') event.stopImmediatePropagation(); seen.push(event.defaultPrevented); });
      const nodes = () => document.querySelectorAll('*').length;</script>""",
    )
    bench.act(click(60, 20))
    assert bench.is_open
    bench.act(keys("Escape"), read="mode = 'prevent'")
    bench.act(click(60, 20))
    assert not bench.is_open and bench.act(read="seen") == [False, True]
    bench.act(read="mode = 'stop'")
    before = bench.act(read="nodes()")
    bench.act(click(60, 20))
    assert bench.is_open and bench.act(read="document.body.lastElementChild.localName") == "script"
    assert bench.act(keys("Escape"), read="nodes()") == before
    many = Bench(laboratory, f"<select multiple id=it {PLACE}><option>a<option>b</select>")
    many.act(click(60, 10))
    assert not many.is_open


@pytest.mark.parametrize(
    ("field", "press", "choices"),
    [
        ("type=date value=2024-02-10 min=2024-02-05", (180, 20), {"ArrowDown": "2024-02-17", "ArrowUp": "2024-02-10"}),
        ("type=date", (180, 20), {"": "2025-01-01"}),  # the day of the virtual clock
        ("type=month value=2024-02", (180, 20), {"ArrowRight": "2024-03", "PageDown": "2025-03"}),
        ("type=week value=2024-W02", (180, 20), {"ArrowDown": "2024-W03"}),
        ("type=time value=10:30 step=900", (180, 20), {"ArrowDown": "10:45"}),
        ("type=datetime-local value=2024-02-10T10:30", (180, 20), {"ArrowDown": "2024-02-17T10:30"}),
        ("type=color value=#000000", (60, 20), {"ArrowUp": "#242424", "ArrowLeft": None}),
        ("list=some><datalist id=some><option>one<option>two</datalist", (60, 20), {"ArrowDown": "one"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.first(4)
def test_fields_with_pickers(
    laboratory: Any, field: str, press: tuple[int, int], choices: dict[str, str | None]
) -> None:
    bench = Bench(laboratory, f"<input id=it {PLACE} {field}>")
    for key, value in choices.items():
        if value is None:
            continue
        before = bench.act()
        assert bench.act(click(*press)) == before
        assert (bench.pixels != bench.closed).any()
        bench.log.clear()
        assert bench.act(keys(*[key] if key else [], "Enter")) == value
        if value != before:
            assert [kind for kind in bench.log if not kind.startswith("key")] == ["input", "change"]


def test_a_day_is_chosen_by_a_click(laboratory: Any) -> None:
    bench = Bench(laboratory, f"<input id=it type=date value=2024-02-10 min=2024-02-05 {PLACE}>")
    bench.act(click(180, 20))
    first = (5 + 10, 45 + 18 * 2 + 9)  # Sunday, January 28
    assert bench.act(click(*first)) == "2024-02-10", "a day that may not be was chosen"
    assert bench.act(click(first[0] + 21 * 3, first[1] + 18 * 2)) == "2024-02-14"


def test_what_else_would_open(laboratory: Any) -> None:
    """A script's showPicker() and click(), a chooser of files, and what is said of a wrong field."""
    bench = Bench(
        laboratory,
        f"""<button {PLACE} onclick="this.nextElementSibling.showPicker()">x</button>
      <input type=date id=it style="position:absolute; top:50px">""",
    )
    bench.act(click(60, 20))
    assert bench.is_open and bench.act(keys("Enter")) == "2025-01-01"
    refused = "(() => { try { it.showPicker(); return 0 } catch ({ name }) { return name } })()"
    assert bench.act(advance_ms=5_000, read=refused) == "NotAllowedError"
    files = Bench(laboratory, f"<input type=file id=it {PLACE}>")
    files.act(click(60, 20))
    assert files.log[-1] == "cancel"
    form = Bench(laboratory, f"<form><button {PLACE}>x</button><input id=it required style='margin-top:60px'></form>")
    form.act(click(60, 20), 4_000)
    assert (form.pixels[110:] != form.closed[110:]).any() and form.act(read="document.activeElement.id") == "it"
    form.act(advance_ms=2_000)
    assert (form.pixels[110:] == form.closed[110:]).all()


@pytest.mark.full
@pytest.mark.parametrize("path", ["cdp", "plain"])
def test_pictures_are_the_same_on_every_path(laboratory: Any, path: str) -> None:
    async def shots(manager: BrowserManager) -> list[np.ndarray]:
        found = []
        for html in (LIST, f"<input type=datetime-local {PLACE}>", f"<input type=color {PLACE}>"):
            page = await manager.open_page(laboratory.site(html), size=(SIZE, SIZE))
            await page.start("0", seed=0)
            found.append((await page.act(click(180, 20), advance_ms=0)).pixels)
            await page.close()
        return found

    async def others() -> list[np.ndarray]:
        async with BrowserManager(BrowserConfig(browsers=1, screenshot=path)) as manager:
            return await shots(manager)

    for one, two in zip(laboratory.run(shots(laboratory.manager)), laboratory.run(others()), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("think_s", [0.0, 0.4])
def test_held_arrows_of_a_number_are_on_virtual_time(laboratory: Any, think_s: float) -> None:
    bench = Bench(laboratory, f"<input id=it type=number value=5 max=40 {PLACE}>")
    values = [bench.act([MouseMove(184, 17), MouseDown(184, 17)], 100)]
    for _ in range(3):
        laboratory.run(asyncio.sleep(think_s))
        values.append(bench.act(advance_ms=200))
    assert values == ["6", "8", "12", "16"]
    assert bench.act([MouseUp(184, 17)], 500) == "16"
    assert bench.act(click(184, 24)) == "15"


def test_the_key_follows_the_modifiers_of_the_moment(laboratory: Any) -> None:
    bench = Bench(laboratory, "<input id=it>")
    bench.act([KeyDown("Shift"), *keys("a", "1", "/"), KeyDown("b"), KeyUp("Shift"), KeyUp("b")])
    assert bench.log == [
        "keydown Shift", "keydown A", "keyup A", "keydown !", "keyup !", "keydown ?", "keyup ?", "keydown B",
        "keyup Shift", "keyup b",
    ]  # fmt: skip
    bench.act([*keys("CapsLock", "a", "1"), KeyDown("Shift"), *keys("a"), KeyUp("Shift"), *keys("CapsLock", "a")])
    assert [entry for entry in bench.log if len(entry) == len("keyup a")] == [
        "keyup A",
        "keyup 1",
        "keyup a",
        "keyup a",
    ]


ROWS = "[...Array(900)].map((_, number) => `row ${number}`).join"
PLAIN = "<style>* { margin: 0; padding: 0; border: 0 } #it { display: block; width: 150px; height: 80px }</style>"
AREA = f"<textarea id=it></textarea><script>it.value = {ROWS}('\\n')</script>"
OPTIONS = f"<select id=it size=5></select><script>it.innerHTML = '<option>' + {ROWS}('<option>')</script>"
BOX = f"<div id=it style='overflow: auto'></div><script>it.innerHTML = {ROWS}('<br>')</script>"
VIEWPORT = f"<div id=text></div><script>text.innerHTML = {ROWS}('<br>')</script>"
FIELD = f"<input id=it style='height: 20px'><script>it.value = {ROWS}(' ')</script>"
SELECTED = "getSelection().toString().length"


@pytest.mark.parametrize(
    ("html", "start", "end", "offset", "selected", "step"),
    [  # the step: from the edge to the mouse, the belt of 20 pixels, and 1
        (BOX, (20, 40), (20, 120), "it.scrollTop", SELECTED, 61),
        (BOX, (20, 20), (20, 70), "it.scrollTop", SELECTED, 11),
        (AREA, (20, 40), (20, 120), "it.scrollTop", "it.selectionEnd", 61),
        (FIELD, (40, 10), (170, 10), "it.scrollLeft", "it.selectionEnd", 41),
        (OPTIONS, (20, 40), (20, 120), "it.scrollTop", "0", 61),
        (VIEWPORT, (20, 40), (20, SIZE - 5), "scrollY", SELECTED, 16),
    ],
    ids=["box", "belt", "area", "field", "options", "viewport"],
)  # fmt: skip
@pytest.mark.first(2)
def test_a_drag_beyond_the_edge_scrolls_each_frame(
    laboratory: Any, html: str, start: tuple[int, int], end: tuple[int, int], offset: str, selected: str, step: int
) -> None:
    def drag(thinking_s: float) -> list[Any]:
        bench = Bench(laboratory, PLAIN + html)
        seen = [bench.act([MouseMove(10, 10), MouseDown(10, 10), MouseMove(*start)], 90, f"[{offset}, {selected}]")]
        for events in ([MouseMove(*end)], [], [MouseUp(*end)]):
            seen.append([*bench.act(events, 100, f"[{offset}, {selected}]"), bench.pixels.tobytes()])
            laboratory.run(asyncio.sleep(thinking_s))
        return seen

    seen = drag(0)
    assert [offset for offset, *_ in seen] == [0, 6 * step, 12 * step, 12 * step]
    if selected != "0":
        assert seen[0][1] < seen[1][1] < seen[2][1] == seen[3][1], "the selection did not follow"
    assert drag(0.3) == seen


def test_the_page_hears_of_each_scroll_of_a_drag(laboratory: Any) -> None:
    listener = "<script>it.onscroll = () => log.push([Math.round(performance.now()), it.scrollTop])</script>"
    bench = Bench(laboratory, PLAIN + BOX + listener)
    bench.act([MouseMove(10, 10), MouseDown(10, 10), MouseMove(10, 40)], 90)
    bench.act([MouseMove(10, 120)], 50, "0")
    assert bench.log == [[100, 61], [117, 122], [133, 183]]
    laboratory.run(asyncio.sleep(0.2))
    bench.act([], 10, "it.scrollBy(0, 1000)")
    bench.act([], 5, "it.scrollTop")
    assert bench.log[0] == [150, 1244] and len(bench.log) == 1, "what the page scrolls itself was undone"
    bench.act([MouseUp(10, 120)], 100, "it.scrollTop")
    assert bench.log == ["mouseup", "click"]


def test_what_is_dragged_itself_scrolls_nothing(laboratory: Any) -> None:
    page = "<div id=it style='overflow: auto'></div>"
    page += f"<script>it.innerHTML = '<a href=#x>drag this</a><br>' + {ROWS}('<br>')</script>"
    bench = Bench(laboratory, PLAIN + page + "<script>ondragover = () => log.push('over')</script>")
    bench.act([MouseMove(20, 10), MouseDown(20, 10), MouseMove(24, 20), MouseMove(26, 40), MouseMove(20, 75)])
    assert "over" in bench.log
    for _ in range(3):
        laboratory.run(asyncio.sleep(0.3))  # Chromium would begin after 0.2
        assert bench.act([], 100, "it.scrollTop") == 0
    assert bench.act([MouseUp(20, 75)], 100, "it.scrollTop") == 0
