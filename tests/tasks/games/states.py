"""States of a game's page, for tests of its rules."""

from typing import Any

from playwright.sync_api import Page

SEEDED = "([seeds, level]) => seeds.map(seed => { game.start({seed, level}); return game.state() })"


def start(page: Page, **options: Any) -> dict[str, Any]:
    state: dict[str, Any] = page.evaluate("options => { game.start(options); return game.state() }", options)
    return state


def read(page: Page) -> dict[str, Any]:
    state: dict[str, Any] = page.evaluate("game.state()")
    return state
