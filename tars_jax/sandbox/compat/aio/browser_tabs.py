"""/v1/browser/tabs: those of a browser on a desktop; a page of ours is the only one that it has."""

from __future__ import annotations

import dataclasses
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, absent, answer, answering
from tars_jax.sandbox.compat.aio.browser_page import PLACE, Shows
from tars_jax.web.gate import read_fields

BLANK = "about:blank"


@dataclasses.dataclass(frozen=True)
class ShownTab:
    url: str
    title: str
    active: bool


class Tabbed(Shows, Protocol):
    """A browser that shows one of its tabs; numbers are places in `tabs`."""

    async def tabs(self) -> list[ShownTab]: ...

    async def create(self, url: str) -> int:
        """A new tab, which is shown then; its number."""

    async def activate(self, index: int) -> None: ...

    async def close_tab(self, index: int) -> None: ...


@dataclasses.dataclass
class TabRoutes:
    page: Shows | None
    browser: Tabbed | None

    def routes(self) -> list[Route]:
        return [
            Route("/v1/browser/tabs", answering(self.tabs), methods=["GET"]),
            Route("/v1/browser/tabs", answering(self.create), methods=["POST"]),
            Route("/v1/browser/tabs/{index:int}", answering(self.close), methods=["DELETE"]),
            Route("/v1/browser/tabs/{index:int}/activate", answering(self.activate), methods=["PUT"]),
        ]

    async def tabs(self, request: Request) -> Response:
        return answer([{"index": index, **dataclasses.asdict(tab)} for index, tab in enumerate(await self._tabs())])

    async def create(self, request: Request) -> Response:
        url = (await read_fields(request)).optional_text("url") or BLANK
        index = await self._several().create(url)
        return answer({"index": index, **dataclasses.asdict((await self._tabs())[index])})

    async def close(self, request: Request) -> Response:
        await self._several().close_tab(await self._index(request))
        return answer()

    async def activate(self, request: Request) -> Response:
        index = await self._index(request)
        if self.browser is not None:
            await self.browser.activate(index)
        return answer()

    async def _tabs(self) -> list[ShownTab]:
        if self.browser is not None:
            return await self.browser.tabs()
        if self.page is None:
            raise absent("a browser")
        return [ShownTab(**await self.page.evaluate(PLACE), active=True)]

    def _several(self) -> Tabbed:
        if self.browser is None:
            raise absent("another tab", "page/navigate opens addresses in the one there is")
        return self.browser

    async def _index(self, request: Request) -> int:
        index, count = int(request.path_params["index"]), len(await self._tabs())
        if index >= count:
            raise Failed(404, f"index must be below {count}, the number of tabs; got {index}")
        return index
