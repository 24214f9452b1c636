"""Alternative solutions of a task, besides the recorded one: fields in another order, the keyboard in place of the
mouse.

It goes by the recorded points alone, and asks the page only which control is there and where the focus is, so that
whoever tabs to a control knows when to stop. What cannot be done that way is done as it was recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tars_jax.agent.actions import Action, Click, Hotkey, Point, Type
from tars_jax.data.website_synthesis.driver import PageDriver

MOST_TABS = 40
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
# How many tabulators lie between the focus and what was aimed at, less than 0 where it stands before; null: none leads
# there, or one would be text of an editor on the way.
_AWAY = """(() => {
  const listed = 'a[href], button, input, select, textarea, summary, iframe, [tabindex], [contenteditable]';
  const isIn = (each) => each.tabIndex >= 0 && !each.disabled && each.getClientRects().length && each.checkVisibility();
  const isPassed = (each) => each.type === 'radio' && !each.checked &&
    [...document.getElementsByName(each.name)].some((other) => other.checked && other.form === each.form);
  const rank = ({ tabIndex }) => tabIndex > 0 ? tabIndex : Infinity;
  const order = [...document.querySelectorAll(listed)].filter((each) => isIn(each) && !isPassed(each))
    .toSorted((one, other) => rank(one) === rank(other) ? 0 : rank(one) - rank(other));
  const aim = window.__aims[%d], to = order.indexOf(aim), now = document.activeElement, from = order.indexOf(now);
  if (to < 0 || (from < 0 && now !== document.body)) return null;
  const passed = order.slice(Math.max(0, Math.min(from, to)), Math.max(from, to));
  return passed.some((each) => each.closest('.CodeMirror, [contenteditable], iframe')) ? null : to - from;
})()"""
_IS_THERE = "document.activeElement === window.__aims[%d]"
# The middle of what was aimed at, in pixels; null: it is not in sight.
_PLACE = """(() => {
  const { x, y, width, height } = window.__aims[%d]?.getBoundingClientRect() ?? { x: -1, y: -1, width: 0, height: 0 };
  const [left, top] = [x + width / 2, y + height / 2];
  return left > 0 && top > 0 && left < innerWidth && top < innerHeight ? [left, top] : null;
})()"""
_BUTTONS = ("button", "submit", "a", "image")


class WayBlocked(Exception):
    """The way cannot be gone to its end."""


@dataclasses.dataclass(frozen=True)
class WayPart:
    """A part of a way through a page: it fills in one field, or is one other action."""

    actions: tuple[Action, ...]

    @property
    def fills(self) -> bool:
        return len(self.actions) > 1

    @property
    def point(self) -> Point | None:
        first = self.actions[0]
        return first.point if isinstance(first, Click) else None


def parts_of(actions: Sequence[Action]) -> list[WayPart]:
    """A click with what is typed after it is one part."""
    parts: list[list[Action]] = []
    for action in actions:
        if isinstance(action, Type | Hotkey) and parts and isinstance(parts[-1][0], Click):
            parts[-1].append(action)
        else:
            parts.append([action])
    return [WayPart(tuple(each)) for each in parts]


def reordered(parts: Sequence[WayPart]) -> list[WayPart]:
    """Fields that are filled in one after the other, from the last to the first."""
    found: list[WayPart] = []
    run: list[WayPart] = []
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
    """Whether anything of it was done in another way. Raises WayBlocked, and what `PageDriver.act` raises.

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
        if keys and kinds[number] and not begins and await _tabbed_to(driver, number):
            other = True
            await _by_keys(driver, part, kinds[number])
        else:
            await _by_mouse(driver, part, number)
    await driver.replay([action for part in recorded[last + 1 :] for action in part.actions])
    return other


async def _by_keys(driver: PageDriver, part: WayPart, kind: str) -> None:
    if part.fills:
        typed = part.actions[1:]
        if kind.startswith("select") and isinstance(typed[-1], Type):  # no list is open that Enter would close
            typed = (*typed[:-1], Type(typed[-1].content.removesuffix("\n")))
        await driver.replay(typed)
    else:
        await driver.act(Hotkey(("enter" if kind in _BUTTONS else "space",)))
        await driver.look()


async def _by_mouse(driver: PageDriver, part: WayPart, number: int) -> None:
    """Tabulators may have scrolled the page."""
    place = await driver.evaluate(_PLACE % number)
    moved = place is not None and part.point is not None and part.point.pixels(*driver.size) != tuple(place)
    if place is not None and moved:
        (x, y), (width, height) = place, driver.size
        await driver.replay([Click(Point.from_pixels(x, y, width, height)), *part.actions[1:]])
    else:
        await driver.replay(part.actions)


async def _tabbed_to(driver: PageDriver, number: int) -> bool:
    """Whether the focus has come to what was aimed at; not where no tabulator leads there.

    Raises WayBlocked where the tabulator does something else.
    """
    away = await driver.evaluate(_AWAY % number)
    if away is None or abs(away) > MOST_TABS:
        return False
    if away:
        await driver.press(Hotkey(("tab",) if away > 0 else ("shift", "tab")), abs(away))
    if not await driver.evaluate(_IS_THERE % number):
        raise WayBlocked
    return True
