"""Previews as a browser shows them: a real Chromium for one function."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tars_jax.sandbox.browser import find_executable
from tests.waiting import PATIENCE_S

PATIENCE_MS = 1000 * PATIENCE_S
ASSETS = Path(__file__).parents[3] / ".cache" / "previews" / "node_modules"


def require_asset(name: str, option: str = "") -> None:
    if not (ASSETS / name).is_dir():
        pytest.skip(f"{name} is not installed: launch/previews.sh{option} fetches it")


def in_chromium(use: Callable[[Browser], Awaitable[None]]) -> None:
    async def run() -> None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_executable(), args=["--no-sandbox"])
            try:
                await use(browser)
            finally:
                await browser.close()

    asyncio.run(run())


def on_a_page(use: Callable[[Page], Awaitable[None]]) -> None:
    async def opened(browser: Browser) -> None:
        page = await browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        await use(page)

    in_chromium(opened)
