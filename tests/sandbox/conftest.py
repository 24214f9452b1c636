"""One browser for the tests that do no harm to it, driven from synchronous tests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, Page, Site

T = TypeVar("T")


async def crash_renderer(page: Page) -> None:
    """Nobody answers this command."""
    session = await page.connection.attach(page.target)
    asyncio.ensure_future(session.send("Page.crash")).add_done_callback(lambda task: task.exception())


class Laboratory:
    """Runs coroutines, and opens pages from HTML text in a small manager."""

    def __init__(self, folder: Path, *, gives_frames: bool) -> None:
        self._folder = folder
        self._runner = asyncio.Runner()
        self._count = 0
        config = BrowserConfig(browsers=1, pages_per_browser=8, call_timeout_s=60)
        self.manager = BrowserManager(config, gives_frames=None if gives_frames else False)
        self.gives_frames = gives_frames
        self.run(self.manager.start())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def site(self, html: str) -> Site:
        self._count += 1
        root = self._folder / str(self._count)
        root.mkdir()
        (root / "index.html").write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
        return Site(root)

    def open(self, html: str, *, single_canvas: bool = False) -> Page:
        return self.run(self.manager.open_page(self.site(html), single_canvas=single_canvas))

    def close(self) -> None:
        self.run(self.manager.close())
        self._runner.close()


# Frames come on request, and, as in a Chromium that cannot do that, from a display of 60 Hz.
@pytest.fixture(scope="session", params=[True, pytest.param(False, marks=pytest.mark.full)], ids=["asked", "steady"])
def shared_laboratory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    laboratory = Laboratory(tmp_path_factory.mktemp("pages"), gives_frames=request.param)
    yield laboratory
    laboratory.close()


@pytest.fixture
def laboratory(shared_laboratory: Laboratory) -> Iterator[Laboratory]:
    yield shared_laboratory
    for place in shared_laboratory.manager.browsers.places:
        for page in list(place.pages):
            shared_laboratory.run(page.close())
