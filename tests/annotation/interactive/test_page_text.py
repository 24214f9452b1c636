"""The page before an environment of text alone: what was said so far, and how an answer is written there."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.annotation.interactive.boards import annotated
from tests.annotation.interactive.corridors import UP, turn
from tests.annotation.interactive.test_page import ready
from tests.sandbox.service.chromium import on_a_page

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]


def test_a_session_of_text_alone(tmp_path: Path) -> None:
    async def use(page: Page) -> None:
        with annotated(tmp_path, [UP, turn("left")], corridor=True) as shown:
            shown.said.away = "it is being compiled, 3 of 9 programs; what you write yourself counts already"
            await page.set_viewport_size({"width": 1280, "height": 720})
            await page.goto(shown.login)
            await page.locator("#begin").click()
            await expect(page.locator("#card")).to_be_visible()
            await expect(page.locator("#card .on_screen")).to_be_hidden()
            await expect(page.locator("#card .by_hand").first).to_be_hidden()
            await page.keyboard.press("Enter")
            await expect(page.locator("#say")).to_contain_text("You can already write the next step yourself")
            assert await page.locator("#say").get_attribute("class") == ""
            await expect(page.locator("#take")).to_have_text("Nothing to take over here")
            await expect(page.locator("#hide")).to_be_hidden()

            await page.keyboard.press("w")
            await page.keyboard.type("up, please")
            await page.keyboard.press("Enter")
            await expect(page.locator("#wrong")).to_contain_text("such as go(way=")
            assert not shown.decisions
            await page.keyboard.press("Control+a")
            await page.keyboard.type("g")
            await expect(page.locator("#completions")).to_be_visible()
            listed = await page.locator("#completions").bounding_box()
            field = await page.locator("#action").bounding_box()
            assert listed is not None and field is not None
            assert listed["y"] >= field["y"] + field["height"] and listed["y"] + listed["height"] <= 720
            await page.keyboard.press("Escape")  # the list
            await page.keyboard.press("Escape")  # the draft
            await expect(page.locator("#action")).to_have_value("")

            shown.said.away = ""
            await page.keyboard.press("p")
            await ready(page, 1)
            for step in (2, 3):
                await page.keyboard.press("1")
                await ready(page, step)
            seen = await page.locator("#observation span:not(.did)").all_inner_texts()
            assert len(seen) == 3 and len(await page.locator("#observation .did").all()) == 2
            await page.reload()
            await ready(page, 3)  # those from before are asked for
            await expect(page.locator("#observation span:not(.did)")).to_have_text(seen)
            await page.keyboard.press("u")
            await ready(page, 2)
            await expect(page.locator("#observation span:not(.did)")).to_have_text(seen[:2])

    on_a_page(use)
