"""Another way of doing what a recorded solution does: fields in another order, the keyboard in place of the mouse.

It goes by the recorded points alone, and asks the page only which control is there and where the focus is, so that
whoever tabs to a control knows when to stop. What cannot be done that way is done as it was recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tars_jax.agent.actions import Action, Click, Hotkey, Point, Type
from tars_jax.data.website_synthesis.driver import PageDriver

MOST_TABS = 12
# Remembers the controls at some points, and says what each is; empty: none that keys could reach.
_AIM = """((points) => {
  const controls = 'input, textarea, select, button, a[href]';
  window.__aims = points.map(([x, y]) => {
    const top = document.elementFromPoint(x, y);
    const found = top?.closest('label')?.control ?? top?.closest(controls) ?? null;
    return found && !found.closest('.CodeMirror') ? found : null;
  });
  return window.__aims.map((each) => each === null ? '' : each.localName === 'input' ? each.type : each.localName);
})(%s)"""
# Where the focus is: at what was aimed at, in an editor that a tabulator is text of, where it was, or elsewhere.
_FOCUS = """(() => {
  const now = document.activeElement, before = window.__focus;
  window.__focus = now;
  if (now === window.__aims[%d]) return 'there';
  if (now === null || now.closest('.CodeMirror, [contenteditable], iframe')) return 'editor';
  return now === before && now !== document.body ? 'stuck' : 'away';
})()"""
_FORGET = "(() => { window.__focus = null; })()"
# The middle of what was aimed at, in pixels; null: it is not in sight.
_PLACE = """(() => {
  const { x, y, width, height } = window.__aims[%d]?.getBoundingClientRect() ?? { x: -1, y: -1, width: 0, height: 0 };
  const [left, top] = [x + width / 2, y + height / 2];
  return left > 0 && top > 0 && left < innerWidth && top < innerHeight ? [left, top] : null;
})()"""
_BUTTONS = ("button", "submit", "a", "image")


class Lost(Exception):
    """The way cannot be gone to its end."""


@dataclasses.dataclass(frozen=True)
class Part:
    """What fills in one field, or one other action."""

    actions: tuple[Action, ...]

    @property
    def fills(self) -> bool:
        return len(self.actions) > 1

    @property
    def point(self) -> Point | None:
        first = self.actions[0]
        return first.point if isinstance(first, Click) else None


def parts_of(actions: Sequence[Action]) -> list[Part]:
    """A click with what is typed after it is one part."""
    parts: list[list[Action]] = []
    for action in actions:
        if isinstance(action, Type | Hotkey) and parts and isinstance(parts[-1][0], Click):
            parts[-1].append(action)
        else:
            parts.append([action])
    return [Part(tuple(each)) for each in parts]


def reordered(parts: Sequence[Part]) -> list[Part]:
    """Fields that are filled in one after the other, from the last to the first."""
    found: list[Part] = []
    run: list[Part] = []
    for part in [*parts, None]:
        if part is not None and part.fills:
            run.append(part)
            continue
        found += reversed(run)
        run = []
        if part is not None:
            found.append(part)
    return found


async def go_another_way(driver: PageDriver, actions: Sequence[Action], *, keys: bool = True) -> bool:
    """Whether anything of it was done in another way. Raises Lost, and what `PageDriver.act` raises.

    `keys`: the last form is filled in and sent by the keyboard, where that comes to its fields.
    """
    recorded = parts_of(actions)
    last = max((n for n, part in enumerate(recorded) if part.point is not None and not part.fills), default=-1)
    first = last
    while first > 0 and recorded[first - 1].fills:
        first -= 1
    before = reordered(recorded[:first]) if last >= 0 else reordered(recorded)
    for part in before:
        await driver.replay(part.actions)
    if last < 0:
        return before != recorded
    run = [*reversed(recorded[first:last]), recorded[last]]
    points = [part.point.pixels(*driver.size) for part in run if part.point is not None]
    kinds = await driver.evaluate(_AIM % [list(point) for point in points])
    other = before != recorded[:first] or last - first > 1
    for number, part in enumerate(run):
        begins = number == 0 and part.fills  # somebody has to bring the focus to the page
        if keys and kinds[number] and not begins and await _tabbed_to(driver, number, back=part.fills):
            other = True
            await _by_keys(driver, part, kinds[number])
        else:
            await _by_mouse(driver, part, number)
    await driver.replay([action for part in recorded[last + 1 :] for action in part.actions])
    return other


async def _by_keys(driver: PageDriver, part: Part, kind: str) -> None:
    if part.fills:
        typed = part.actions[1:]
        if kind.startswith("select") and isinstance(typed[-1], Type):  # no list is open that Enter would close
            typed = (*typed[:-1], Type(typed[-1].content.removesuffix("\n")))
        await driver.replay(typed)
    else:
        await driver.act(Hotkey(("enter" if kind in _BUTTONS else "space",)))
        await driver.look()


async def _by_mouse(driver: PageDriver, part: Part, number: int) -> None:
    """Tabulators may have scrolled the page."""
    place = await driver.evaluate(_PLACE % number)
    moved = place is not None and part.point is not None and part.point.pixels(*driver.size) != tuple(place)
    if place is not None and moved:
        await driver.replay([Click(Point.from_pixels(*place, *driver.size)), *part.actions[1:]])
    else:
        await driver.replay(part.actions)


async def _tabbed_to(driver: PageDriver, number: int, *, back: bool) -> bool:
    """Whether the focus has come to what was aimed at; not from an editor, which has a tabulator as text.

    Raises Lost where the tabulator does something else, or comes to other things, which that may change.

    `back`: to what stands before, as the fields of a form are filled in from the last to the first.
    """
    await driver.evaluate(_FORGET)
    for _ in range(MOST_TABS):
        match await driver.evaluate(_FOCUS % number):
            case "there":
                return True
            case "editor":
                return False
            case "stuck":
                raise Lost
        await driver.act(Hotkey(("shift", "tab") if back else ("tab",)))
    raise Lost
