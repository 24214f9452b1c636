"""A page that plans are tried on one after the other: a new page for each would cost more than most plans do.

What a page remembers by itself, such as drafts, may help or hinder the next plan. So recorded actions, which are what
counts, are replayed on new pages (`execution.replay`), and what fails on a used page is tried once more on a new one.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from tars_jax.data.website_synthesis.driver import SIZE, PageDriver
from tars_jax.data.website_synthesis.site import LiveSite, ShownPage
from tars_jax.sandbox.browser import BrowserManager

MOST_USES = 40  # after which its memory is given back


class ReusedPage:
    """Pages of one site, one at a time. `close` at the end."""

    def __init__(self, manager: BrowserManager, site: LiveSite) -> None:
        self.site = site
        self._manager = manager
        self._shown: ShownPage | None = None
        self._uses = 0
        self._first = ""  # address that a new page shows first

    @property
    def is_new(self) -> bool:
        """Whether the next plan gets a new page."""
        return self._shown is None

    @contextlib.asynccontextmanager
    async def driver(self, *, keeps_screenshots: bool = False) -> AsyncIterator[PageDriver]:
        """The page as an episode begins; whatever is raised within costs it."""
        if self._uses >= MOST_USES:
            await self.close()
        try:
            driver = await self._opened(keeps_screenshots)
            yield driver
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Closes the page; a second call does nothing."""
        shown, self._shown, self._uses = self._shown, None, 0
        if shown is not None:
            await shown.close()

    async def _opened(self, keeps_screenshots: bool) -> PageDriver:
        for _ in range(2):
            was_new = self._shown is None
            if self._shown is None:
                self._shown = await self.site.open_page(self._manager, SIZE)
            self._uses += 1
            driver = PageDriver(self._shown, self.site.url, SIZE, keeps_screenshots=keeps_screenshots, inserts=True)
            await driver.open(self.site.url)
            address = await self._shown.page.evaluate("location.href")
            if was_new:
                self._first = address
            if address == self._first:
                return driver
            await self.close()  # a page that asks before it is left stays where it was
        return await self._opened(keeps_screenshots)
