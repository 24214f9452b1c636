"""What is seen of the page: at each width, in light and in dark, with nonsense in it, and what was annotated."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.annotation.interactive.boards import annotated
from tests.annotation.interactive.test_page import begin, ready, size
from tests.sandbox.service.chromium import on_a_page
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]

# Texts of less than 4.5 to 1 against what lies behind them; what is disabled need not be read.
FAINT = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest("svg, :disabled, #picture")) continue;
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own && !element.placeholder) continue;
    let behind = element, paper = [0, 0, 0, 0];
    while (behind && paper[3] === 0) {
      paper = numbers(getComputedStyle(behind).backgroundColor);
      if (paper.length === 3) paper.push(1);
      behind = behind.parentElement;
    }
    const ink = numbers(getComputedStyle(element, element.placeholder ? "::placeholder" : null).color);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push(`${element.tagName}#${element.id}.${element.className}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""
PAPER = {"light": "rgb(251, 250, 247)", "dark": "rgb(21, 23, 27)"}  # the report's


def test_all_is_seen_and_read(tmp_path: Path) -> None:
    async def use(page: Page) -> None:
        with annotated(tmp_path) as shown:
            await begin(page, shown)
            await page.keyboard.press("1")
            await ready(page, 2)
            for scheme in ("light", "dark"):
                await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                for width, height in ((1280, 800), (1920, 1080)):
                    await page.set_viewport_size({"width": width, "height": height})
                    assert await size(page) == [width, height]
                    picture = await page.locator("#picture").bounding_box()
                    assert picture is not None and picture["width"] > 0.6 * width
                    for name in ("#tools", "#history_title", "#say", "#send"):
                        box = await page.locator(name).bounding_box()
                        assert box is not None and box["y"] + box["height"] <= height
                assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]
                assert await page.evaluate(FAINT) == []
                await page.keyboard.press("?")
                await expect(page.locator("#card")).to_be_visible()
                assert await page.evaluate(FAINT) == []
                await page.keyboard.press("Escape")

    on_a_page(use)


def test_nonsense_is_shown_as_text(tmp_path: Path) -> None:
    hurts = "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'> שלום \u202e abc 🙃 "
    thought = hurts + "long " * 2000
    texts = [f"Thought: {thought}\nAction: wait(time=1)", thought, f"Action: type(content='{thought[40:400]}')"]

    async def use(page: Page) -> None:
        with annotated(tmp_path, texts, observation=thought) as shown:
            await page.set_viewport_size({"width": 1280, "height": 720})
            await begin(page, shown)
            assert "<script>" in await page.locator(".take .thought").first.inner_text()
            assert "<script>" in await page.locator("#output").inner_text()
            assert await page.evaluate("window.hurt") is None
            assert await size(page) == [1280, 720]
            await page.keyboard.press("e")
            assert await page.locator("#thought").input_value() == thought.strip()

    on_a_page(use)


def test_an_episode_is_looked_at_and_judged(tmp_path: Path) -> None:
    async def use(page: Page) -> None:
        with annotated(tmp_path) as shown:
            await begin(page, shown)
            await page.keyboard.press("2")
            await ready(page, 2)
            await page.keyboard.press("e")
            await page.keyboard.type("No: ")
            await page.keyboard.press("Enter")
            await ready(page, 3)
            await page.keyboard.press("n")
            await page.keyboard.press("2")
            await expect(page.locator("#verdict")).to_contain_text("The task failed.")
            await page.locator("#look").click()
            await expect(page.locator("#replay img")).to_have_count(2)
            id = page.url.rpartition("/")[2]
            await page.keyboard.press("d")
            await expect(page.locator("#said")).to_contain_text("somebody who did not decide in it")
            browser = page.context.browser
            assert browser is not None
            reviewer = await browser.new_page()
            await reviewer.goto(shown.login_of("eve"))
            await expect(reviewer.locator("#begin")).to_be_visible()
            await reviewer.evaluate(f"location.hash = '#/episodes/{id}'")
            await expect(reviewer.locator("#replay img")).to_have_count(2)
            await reviewer.keyboard.press("d")
            await expect(reviewer.locator("#said")).to_have_text("You disagree. It is stored.")
            await until(lambda: shown.service.storage.episode(id).reviews)
            assert shown.service.storage.episode(id).reviews[0]["agree"] is False
            await page.locator("#top nav a").nth(1).click()
            await expect(page.locator("#list tbody tr")).to_have_count(1)
            await page.locator("#to_disagreements").click()
            await expect(page.locator("#list tbody tr")).to_have_count(2)  # with the reviewer, and with the policy
            await expect(page.locator("#list tbody tr").first).to_contain_text("eve")
            await page.locator("#to_log").click()
            await expect(page.locator("#list tbody tr").first).to_contain_text("reviewed")

    on_a_page(use)


def test_who_may_what(tmp_path: Path) -> None:
    async def use(page: Page) -> None:
        with annotated(tmp_path) as shown:
            await page.goto(f"{shown.address}/#key=another")
            await expect(page.locator("#refusal")).to_have_text("This key is not known here.")
            await page.locator("#key").fill(shown.people.keys["bob"])
            await page.keyboard.press("Enter")
            await expect(page.locator("#begin")).to_be_visible()
            await expect(page.locator("#to_log")).to_be_hidden()
            await expect(page.locator("#to_disagreements")).to_be_hidden()

    on_a_page(use)
