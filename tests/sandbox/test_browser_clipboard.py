"""The clipboard of a page, full screen and the lock of the pointer: within the step, and gone at the next start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tars_jax.sandbox.browser import InputEvent, KeyDown, KeyUp, MouseDown, MouseMove, MouseUp

pytestmark = pytest.mark.browser

FIELDS = """<style>body { margin: 0 } #one, #two, #rich, #secret { position: absolute; left: 0; width: 90px;
  height: 16px }</style>
  <input id=one style="top:0"><input id=two style="top:24px"><div id=rich contenteditable
  style="top:50px"></div>
  <input id=secret type=password value=hidden style="top:75px"><script>window.log = [];
  for (const type of ['copy', 'cut', 'paste', 'beforeinput'])
    addEventListener(type, ({ inputType }) => log.push(inputType ?? type));</script>"""


def click(x: float, y: float, button: str = "left") -> list[InputEvent]:
    return [MouseMove(x, y), MouseDown(x, y, button), MouseUp(x, y, button)]


def hotkey(*names: str) -> list[InputEvent]:
    return [*(KeyDown(name) for name in names), *(KeyUp(name) for name in reversed(names))]


ALL, COPY, CUT, PASTE = (hotkey("Control", key) for key in "acxv")
FIRST, SECOND, RICH, SECRET = (click(40, y) for y in (8, 32, 58, 84))


class EpisodeRunner:
    def __init__(self, laboratory: Any, html: str, begin: str = "0") -> None:
        self.laboratory, self.page = laboratory, laboratory.open(html)
        self.begin(begin)

    def begin(self, expression: str) -> None:
        self.laboratory.run(self.page.start(expression, seed=0))

    def act(self, events: Sequence[InputEvent], read: str, advance_ms: float = 20) -> Any:
        return self.laboratory.run(self.page.act(events, advance_ms=advance_ms, read=read)).data


def test_each_page_has_a_clipboard_that_is_empty_at_each_start(laboratory: Any) -> None:
    seats = [EpisodeRunner(laboratory, FIELDS, f"one.value = 'of {name}'") for name in ("me", "you")]
    for seat in seats:
        seat.act([*FIRST, *ALL, *COPY], "0")
    assert [seat.act([*SECOND, *PASTE], "two.value") for seat in seats] == ["of me", "of you"]
    seats[0].begin("two.value = ''")
    assert seats[0].act([*SECOND, *PASTE], "two.value") == ""


def test_keys_of_the_clipboard(laboratory: Any) -> None:
    seat = EpisodeRunner(laboratory, FIELDS, "one.value = 'text'")
    assert seat.act([*FIRST, *ALL, *CUT], "one.value") == ""
    assert seat.act([*SECOND, *hotkey("Shift", "Insert")], "two.value") == "text"
    assert seat.act([], "log") == ["cut", "deleteByCut", "paste", "insertFromPaste"]
    assert seat.act(hotkey("Control", "z"), "two.value") == ""
    seat.act([*SECRET, *ALL, *COPY], "one.value = 'more'")
    assert seat.act([*SECOND, *PASTE], "two.value") == "text", "a password was copied"
    assert seat.act([*FIRST, *ALL, *hotkey("Control", "Insert"), *SECOND, *ALL, *PASTE], "two.value") == "more"
    assert seat.act([*SECRET, *ALL, *CUT], "secret.value") == "hidden"
    seat.act([*RICH], "rich.innerHTML = 'a <b>bold</b> word'")
    assert seat.act([*ALL, *COPY, *SECOND, *ALL, *PASTE], "two.value") == "a bold word"
    assert seat.act([*RICH, *ALL, *hotkey("Delete"), *PASTE], "rich.innerHTML") == "a <b>bold</b> word"
    assert seat.act([*ALL, *hotkey("Control", "Shift", "v")], "rich.innerHTML") == "a bold word"


def test_a_middle_click_pastes_what_was_selected(laboratory: Any) -> None:
    seat = EpisodeRunner(laboratory, FIELDS, "one.value = 'chosen'")
    assert seat.act([*FIRST, *ALL, *click(40, 32, "middle")], "two.value") == "chosen"


def test_what_a_page_does_with_the_clipboard(laboratory: Any) -> None:
    html = """<body style="margin:0"><p id=p style="margin:0">some text</p>
      <textarea id=to style="margin-top:30px"></textarea>
      <script>window.done = [];
      addEventListener('copy', (event) => { if (!window.own) return;
        event.clipboardData.setData('text/plain', own); event.preventDefault(); });
      addEventListener('paste', (event) => { done.push(event.clipboardData.getData('text/plain'));
        if (window.refuse) event.preventDefault(); });
      p.onclick = () => { getSelection().selectAllChildren(p);
        done.push(document.execCommand('copy'), document.execCommand('paste')); };</script>"""
    seat = EpisodeRunner(laboratory, html)
    assert seat.act(click(10, 8), "done.splice(0)") == [True, False]
    paste = [*click(20, 60), *PASTE]
    assert seat.act(paste, "[to.value, done.splice(0)]") == ["some text", ["some text"]]
    seat.act([], "window.own = 'mine'")
    seat.act(COPY, "window.refuse = 1")
    assert seat.act(paste, "[to.value, done.splice(0)]") == ["some text", ["mine"]]
    late = seat.act([], "document.execCommand('copy')", 6_000)
    assert late is False or seat.act([], "document.execCommand('copy')") is False, "copied long after an input"


def test_full_screen_comes_within_the_step_and_goes_at_the_start(laboratory: Any) -> None:
    html = """<style>body { margin: 0 } #box { width: 50px; height: 50px }
      :fullscreen { background: rgb(0, 200, 0) }</style>
      <div id=box></div><script>window.log = [];
      for (const type of ['fullscreenchange', 'fullscreenerror', 'keydown'])
        addEventListener(type, () => log.push([type, performance.now()]), true);
      addEventListener('click', () => {
        document.fullscreenElement ? document.exitFullscreen() : box.requestFullscreen() });
      </script>"""
    seat = EpisodeRunner(laboratory, html)
    state = "[document.fullscreenElement?.id ?? null, log.splice(0)]"
    for step in range(3):
        shown = laboratory.run(seat.page.act(click(20, 20), advance_ms=100, read=state))
        is_full = step % 2 == 0
        assert shown.data == ["box" if is_full else None, [["fullscreenchange", step * 100]]]
        assert (shown.pixels[80, 80] == ((0, 200, 0) if is_full else (255, 255, 255))).all()
    assert seat.act(hotkey("Escape"), state) == [None, [["fullscreenchange", 300]]]
    assert seat.act(click(20, 20), state)[0] == "box"
    path = seat.page.screenshot_path
    seat.begin("log.length = 0")
    if laboratory.gives_frames:
        assert (path, seat.page.screenshot_path) == ("plain", "frame"), "the picture is made as before"
    assert seat.act([], state) == [None, []]
    assert seat.act([], "(box.requestFullscreen().catch(() => {}), 0)", 10_000) == 0
    assert seat.act([], state) == [None, [["fullscreenerror", 10_020]]]


def test_a_locked_pointer_tells_how_it_moves(laboratory: Any) -> None:
    html = """<style>body { margin: 0 } div { height: 40px }</style><div id=box></div><div id=other></div>
      <script>window.log = [];
      for (const type of ['pointerlockchange', 'pointerlockerror'])
        document.addEventListener(type, () => log.push([type, performance.now()]));
      addEventListener('mousemove', ({ target, movementX, movementY, clientX, clientY }) =>
        log.push([target.id, movementX, movementY, clientX, clientY]));
      box.onclick = () => { box.requestPointerLock().catch(({ name }) => log.push(name)) };</script>"""
    seat = EpisodeRunner(laboratory, html)
    state = "[document.pointerLockElement?.id ?? null, log.splice(0)]"
    seat.act([MouseMove(20, 20)], state)
    assert seat.act(click(20, 20), state) == ["box", [["box", 0, 0, 20, 20], ["pointerlockchange", 20]]]
    moves = ["box", [["box", 10, 5, 20, 20], ["box", 5, 35, 20, 20]]]
    assert seat.act([MouseMove(30, 25), MouseMove(35, 60)], state) == moves
    assert seat.act(hotkey("Escape"), state) == [None, [["pointerlockchange", 60]]]
    assert seat.act([MouseMove(40, 60)], state) == [None, [["other", 5, 0, 40, 60]]]
    seat.act(click(20, 20), state)
    seat.begin("log.length = 0")
    assert seat.act([MouseMove(10, 10)], state)[0] is None
    assert seat.act([], "(box.click(), 0)") == 0
    assert seat.act([], state) == [None, [["pointerlockerror", 40], "NotAllowedError"]]
