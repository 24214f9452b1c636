"""The page on which people annotate, in a real Chromium before the real service."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Route, expect

from tests.annotation.interactive.boards import PICTURES, PROPOSALS, Shown, annotated
from tests.sandbox.service.chromium import on_a_page
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
SHOWN_BYTES = "fetch(document.querySelector('#screen').src).then((it) => it.blob()).then((it) => it.size)"


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Shown]:
    with annotated(tmp_path) as service:
        yield service


async def begin(page: Page, shown: Shown) -> None:
    """Logged in, a session open, the card of keys read."""
    await page.goto(shown.login)
    await expect(page.locator("#begin")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#card")).to_be_visible()
    await page.keyboard.press("Enter")
    await ready(page, 1)


async def ready(page: Page, step: int) -> None:
    await expect(page.locator("#steps")).to_contain_text(f"Step {step} of")
    await expect(page.locator(".take").first).to_be_enabled()


async def size(page: Page) -> list[int]:
    found: list[int] = await page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    return found


def test_an_episode_by_keyboard_alone(shown: Shown) -> None:
    async def late(route: Route) -> None:  # the event with the state comes first
        answer = await route.fetch()
        await asyncio.sleep(0.3)
        await route.fulfill(response=answer)

    async def use(page: Page) -> None:
        await begin(page, shown)
        assert "key" not in page.url  # it does not stay in the address
        await page.keyboard.press("2")
        await ready(page, 2)
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await ready(page, 3)
        assert [each.candidate for each in shown.decisions] == [1, 2]
        assert [each.keystrokes for each in shown.decisions] == [1, 3]
        assert all(each.accepted and each.seconds > 0 for each in shown.decisions)
        await page.keyboard.press("e")
        await expect(page.locator("#answer_title")).to_have_text("Your edit of proposal 1")
        await page.keyboard.press("Control+a")
        await page.keyboard.type("Another reason.")
        await page.keyboard.press("Enter")
        await ready(page, 4)
        edited = shown.decisions[-1]
        assert edited.decided_by == "edited" and edited.text == PROPOSALS[0].replace(
            "The tile on the left is free.", "Another reason."
        )
        await page.keyboard.press("w")
        await page.keyboard.type("nav")
        await expect(page.locator("#completions li")).to_have_count(2)
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Tab")
        await expect(page.locator("#action")).to_have_value("navigate_back()")
        await page.keyboard.press("Shift+Tab")
        await page.keyboard.type("Down there is more.")
        await page.keyboard.press("Enter")
        await ready(page, 5)
        assert shown.decisions[-1].text == "Thought: Down there is more.\nAction: navigate_back()"
        await page.keyboard.press("u")
        await ready(page, 4)
        await page.keyboard.press("t")
        await expect(page.locator("#question")).to_have_text("You have the session")
        await page.keyboard.type("st")  # for the session, as every key is
        await page.keyboard.press("Control+ArrowLeft")
        await until(lambda: len(shown.decisions) == 5)
        assert [each.action for each in shown.decisions[3:]] == ["type(content='st')", "hotkey(key='ctrl left')"]
        await page.keyboard.press("Shift+Escape")
        await page.route("**/secret", late)
        await page.keyboard.press("s")
        await expect(page.locator("#secret")).to_be_visible()
        assert await page.evaluate("document.activeElement.id") == "stage"  # at once: no key of it is the page's
        await page.keyboard.type("hush")
        await page.keyboard.press("Shift+Escape")
        await page.keyboard.press("s")
        await expect(page.locator("#secret")).to_be_hidden()
        assert "hush" not in str(shown.decisions)
        await page.keyboard.press("t")  # the page's, as it was before the secret
        await expect(page.locator(".take").first).to_be_enabled()
        await page.keyboard.press("n")
        await page.keyboard.press("1")
        await expect(page.locator("#verdict")).to_contain_text("The task is done.")
        await page.keyboard.press("Enter")
        await ready(page, 1)

    on_a_page(use)


def test_an_episode_by_mouse_alone(shown: Shown) -> None:
    async def use(page: Page) -> None:
        await page.goto(shown.login)
        await page.locator("#begin").click()
        await page.locator("#card button").click()
        await page.locator(".take").nth(1).click()
        await ready(page, 2)
        box = await page.locator("#picture").bounding_box()
        assert box is not None

        def place(x: float, y: float) -> tuple[float, float]:
            return box["x"] + x * box["width"], box["y"] + y * box["height"]

        await page.mouse.click(*place(0.25, 0.5))
        await page.locator("#send").click()
        await ready(page, 3)
        assert shown.decisions[-1].action == "click(point='<point>250 500</point>')"
        await page.mouse.move(*place(0.1, 0.2))
        await page.mouse.down()
        await page.mouse.move(*place(0.5, 0.8), steps=3)
        await page.mouse.up()
        await page.locator("#send").click()
        await ready(page, 4)
        dragged = "drag(start_point='<point>100 200</point>', end_point='<point>500 800</point>')"
        assert shown.decisions[-1].action == dragged
        await page.locator(".edit").first.click()
        await page.mouse.click(*place(0.75, 0.25))
        await page.locator("#send").click()
        await ready(page, 5)
        assert shown.decisions[-1].candidate == 0
        assert shown.decisions[-1].action == "click(point='<point>750 250</point>')"
        await page.locator("#action").click()
        await page.locator("#completions li").first.click()
        await expect(page.locator("#action")).to_have_value("click(")
        await page.mouse.click(*place(0.5, 0.5))
        await expect(page.locator("#action")).to_have_value("click(point='<point>500 500</point>')")
        await page.locator("#cancel").click()
        await page.locator("#take").click()
        await expect(page.locator("#question")).to_have_text("You have the session")
        await page.mouse.click(*place(0.5, 0.5), button="right")
        await page.mouse.wheel(0, 120)
        await until(lambda: len(shown.decisions) == 6)
        names = [each.action.partition("(")[0] for each in shown.decisions[-2:]]
        assert names == ["right_single", "scroll"]
        await page.locator("#hide").click()
        await expect(page.locator("#secret")).to_contain_text("Clicks work, too")
        async with page.expect_response("**/input") as answered:
            await page.mouse.click(*place(0.25, 0.5))
        secret = await answered.value
        sent = secret.request.post_data_json
        assert secret.ok and sent is not None and sent["x"] == pytest.approx(0.25, abs=0.01)
        await page.locator("#hide").click()
        await expect(page.locator("#secret")).to_be_hidden()
        await expect(page.locator("#stage")).to_be_focused()  # the keys were the session's before it
        await page.locator("#take").click()
        await expect(page.locator(".take").first).to_be_enabled()
        await page.locator("#end").click()
        await page.locator("#ending [data-success=false]").click()
        await expect(page.locator("#verdict")).to_contain_text("The task failed.")

    on_a_page(use)


def test_nothing_jumps(shown: Shown) -> None:
    async def use(page: Page) -> None:
        await page.goto(shown.login)
        await expect(page.locator("#begin")).to_be_focused()
        await page.evaluate(
            """() => { window.shifts = []; new PerformanceObserver((list) => {
                for (const entry of list.getEntries()) {
                    window.shifts.push([entry.value, ...entry.sources.map(({ node }) => node?.id || node?.nodeName)]);
                }
            }).observe({ type: "layout-shift" }); }"""
        )
        await page.keyboard.press("Enter")
        await expect(page.locator("#card")).to_be_visible()
        await page.keyboard.press("Enter")
        await ready(page, 1)
        for step in range(1, 4):
            await page.keyboard.press(str(1 + step % 3))
            await ready(page, step + 1)
        await page.locator("#undo").click()
        await ready(page, 3)
        shown.said.away = "it sleeps"
        await page.locator("#propose").click()
        await expect(page.locator("#say")).to_contain_text("The policy is away")
        shown.said.away = ""
        await page.keyboard.press("p")
        await ready(page, 3)
        await page.keyboard.press("n")
        await page.keyboard.press("1")
        await expect(page.locator("#verdict")).to_contain_text("The task is done.")
        assert await page.evaluate("window.shifts") == []

    on_a_page(use)


def test_the_older_of_two_tabs_decides_nothing(shown: Shown) -> None:
    waits = asyncio.Event()

    async def use(page: Page) -> None:
        await begin(page, shown)
        browser = page.context.browser
        assert browser is not None
        other = await browser.new_page()
        await other.goto(shown.login)
        await other.locator("#begin").click()
        await ready(other, 1)  # another task: the first one is in the other tab
        assert other.url != page.url
        await other.goto("about:blank")
        await other.goto(shown.login)
        await expect(other.locator("#begin")).to_be_visible()
        await other.route("**/events", lambda route: waits.wait())  # it hears of nothing
        await other.evaluate(f"location.hash = {urlsplit(page.url).fragment!r}")
        await expect(other.locator("#elsewhere")).to_have_text("Another tab has this session.")
        await other.keyboard.press("2")
        await other.keyboard.press("Enter")
        await ready(other, 1)
        await page.keyboard.press("1")
        await ready(page, 2)
        await other.keyboard.press("2")
        await expect(other.locator("#say")).to_contain_text("another tab")
        await expect(other.locator("#steps")).to_contain_text("Step 2 of")
        assert [each.candidate for live in shown.service.live.values() for each in live.state.decisions] == [0]
        waits.set()

    on_a_page(use)


def test_a_tab_that_goes_on_has_the_session_alone(shown: Shown) -> None:
    async def use(any_page: Page) -> None:
        browser = any_page.context.browser
        assert browser is not None
        context = await browser.new_context()  # tabs of one browser
        page, second = await context.new_page(), await context.new_page()
        await begin(page, shown)
        await page.reload()
        await ready(page, 1)  # the same tab is no other one
        await second.goto(shown.login)
        await expect(second.locator("#begin")).to_be_visible()
        await second.evaluate(f"location.hash = {urlsplit(page.url).fragment!r}")
        await second.locator("#go_on").click()
        await ready(second, 1)
        await expect(page.locator("#elsewhere")).to_be_visible()
        await second.keyboard.press("1")
        await ready(second, 2)
        await second.close()
        await page.locator("#go_on").click()
        await ready(page, 2)

    on_a_page(use)


def test_the_likeliest_comes_first(shown: Shown) -> None:
    async def use(page: Page) -> None:
        shown.said.log_prob = (-2.0, -0.5, -3.0, -4.0)
        await begin(page, shown)
        await expect(page.locator(".current .thought")).to_have_text("The one beside it.")
        chances = [int(each.strip("<%")) for each in await page.locator(".percent").all_inner_texts()]
        assert chances == sorted(chances, reverse=True)
        await page.keyboard.press("2")
        await ready(page, 2)
        assert [each.candidate for each in shown.decisions] == [0]
        assert shown.decisions[0].text == PROPOSALS[0]

    on_a_page(use)


def test_a_decision_whose_answer_is_lost_counts_once(shown: Shown) -> None:
    lost = list[object]()

    async def lose(route: Route) -> None:
        lost.append(await route.fetch())  # the service has it, the page never hears so
        await route.abort()

    async def never(route: Route) -> None:
        lost.append(route)
        await route.abort()

    async def use(page: Page) -> None:
        await begin(page, shown)
        for handler, step in ((lose, 2), (never, 3)):
            await page.route("**/decide", handler, times=1)
            await page.keyboard.press("1")
            await ready(page, step)
            assert len(shown.decisions) == step - 1
        assert len(lost) == 2

    on_a_page(use)


def test_a_service_that_begins_anew_goes_on_at_the_step(tmp_path: Path) -> None:
    async def use(page: Page) -> None:
        with annotated(tmp_path) as first:
            await begin(page, first)
            await page.keyboard.press("1")
            await ready(page, 2)
            await expect(page.locator("#screen")).to_have_attribute("data-shown", re.compile("v=1"))
            await page.keyboard.press("w")
            await page.keyboard.press("Shift+Tab")
            await page.keyboard.type("half a thou")
        await expect(page.locator("#say")).to_contain_text("The connection is lost")
        with annotated(tmp_path, port=urlsplit(first.address).port or 0) as second:
            await expect(page.locator("#say")).not_to_contain_text("lost")
            await page.keyboard.type("ght")
            await page.keyboard.press("Tab")
            await page.keyboard.type("navigate_back()")
            await page.keyboard.press("Enter")
            await ready(page, 3)
            (live,) = second.service.live.values()
            now = PICTURES[(live.record.task.seed + 2) % len(PICTURES)]  # and no older one that the browser keeps
            assert await page.evaluate(SHOWN_BYTES) == now.stat().st_size
            texts = [each.text for each in second.decisions]
            assert texts == [PROPOSALS[0], "Thought: half a thought\nAction: navigate_back()"]

    on_a_page(use)


def test_a_session_that_ends_under_the_hand_says_so(tmp_path: Path) -> None:
    async def use(page: Page) -> None:
        with annotated(tmp_path, lasts=1) as shown:
            await begin(page, shown)
            await page.keyboard.press("1")
            await ready(page, 2)
            await page.keyboard.press("1")
            await expect(page.locator("#question")).to_have_text("The session is lost")
            await expect(page.locator("#verdict")).to_contain_text("the browser is gone")
            await expect(page.locator("#take")).to_be_disabled()
            await page.keyboard.press("Enter")
            await ready(page, 1)

    on_a_page(use)


def test_what_is_wrong_with_an_answer_stands_at_the_answer(shown: Shown) -> None:
    async def use(page: Page) -> None:
        await begin(page, shown)
        await page.keyboard.press("w")
        await page.keyboard.type("clock(")
        await page.keyboard.press("Enter")
        await expect(page.locator("#wrong")).not_to_be_empty()
        await expect(page.locator("#action")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.locator("#action")).to_have_value("")
        await page.keyboard.press("4")
        await expect(page.locator("#say")).to_contain_text("cannot be done as it is written")
        assert not shown.decisions

    on_a_page(use)
