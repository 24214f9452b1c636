"""Screen of a computer, which an agent sees and acts on with mouse and keyboard: its desktop, or a page of a
browser."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

from tars_jax import InputError
from tars_jax.agent.actions import Action, Navigate, NavigateBack, Type
from tars_jax.environment import Function
from tars_jax.envs.gui import Position, acts_on_page, mouse_after, to_events
from tars_jax.sandbox.browser import InsertText
from tars_jax.sandbox.computer.equipped.interface import ActsOnComputerPage, ActsOnDesktop, ShowsPage
from tars_jax.sandbox.desktop import Settle

SETTLE = Settle(first_ms=300, quiet_ms=100, bound_ms=3000)  # of applications, which draw in several goes
PAGE_SETTLE_MS = 300.0  # virtual; editors of websites note what was typed up to 250 ms later
CHOOSE_FILES = Function(
    "choose_files",
    "Answers the dialog of the page that asks for files with files of this computer.",
    {
        "type": "object",
        "properties": {"paths": {"type": "array", "items": {"type": "string"}, "minItems": 0, "maxItems": 20}},
        "required": ["paths"],
        "additionalProperties": False,
    },
)


class ComputerScreen(Protocol):
    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        ...

    async def act(self, action: Action) -> str:
        """Carries out one action of mouse or keyboard; what is to be said of it. Raises SandboxFailure."""
        ...

    async def shown(self) -> tuple[bytes, Any, str]:
        """The PNG of the screen, its pixels np.uint8 [H, W, 3], and what is to be said of it. Raises SandboxFailure."""
        ...

    async def windows(self) -> list[dict[str, Any]]:
        """Windows, for a reference player: title, active, x, y, width and height of each."""
        ...


class DesktopScreen:
    def __init__(self, desktop: ActsOnDesktop, mouse: Position | None = None) -> None:
        self._desktop = desktop
        self.mouse = mouse

    @property
    def size(self) -> tuple[int, int]:
        return self._desktop.size

    async def act(self, action: Action) -> str:
        if not acts_on_page(action):
            return f"{action.name}: a desktop has no such action"
        events, own_ms = to_events(action, *self.size, self.mouse)
        if isinstance(action, Type):  # a keyboard of X types any character, with shift where it needs that
            events = [InsertText(action.content.replace("\r\n", "\n"))]
        await asyncio.sleep(own_ms / 1000)
        try:
            await self._desktop.act(events, settle=SETTLE)
        except InputError as error:
            return f"{action.name}: {error}"
        self.mouse = mouse_after(events, self.mouse)
        return ""

    async def shown(self) -> tuple[bytes, Any, str]:
        shown = await self._desktop.screenshot()
        return shown.png, shown.pixels, ""

    async def windows(self) -> list[dict[str, Any]]:
        names = ("title", "active", "x", "y", "width", "height")
        return [{name: getattr(window, name) for name in names} for window in await self._desktop.windows()]


@dataclasses.dataclass
class PageScreen:
    page: ActsOnComputerPage
    seen: ShowsPage
    mouse: Position | None = None

    @classmethod
    async def open(cls, page: ActsOnComputerPage, seed: int, address: str = "") -> PageScreen:
        """The page at time 0, showing an address. Raises SandboxFailure."""
        screen = cls(page, await page.start(seed=seed))
        if address:
            await screen.act(Navigate(address))
        return screen

    @property
    def size(self) -> tuple[int, int]:
        height, width, _ = self.seen.pixels.shape
        return width, height

    async def act(self, action: Action) -> str:
        try:
            match action:
                case Navigate(address):
                    await self.page.navigate(address)
                case NavigateBack():
                    await self.page.back()
                case _ if not acts_on_page(action):
                    return f"{action.name}: a browser has no such action"
        except InputError as error:
            return f"{action.name}: {error}"
        events, own_ms = to_events(action, *self.size, self.mouse)
        self.seen = await self.page.act(events, advance_ms=max(PAGE_SETTLE_MS, own_ms))
        self.mouse = mouse_after(events, self.mouse)
        return ""

    async def choose_files(self, parameters: Mapping[str, Any]) -> str:
        try:
            await self.page.choose_files(parameters["paths"])
        except InputError as error:
            return f"{CHOOSE_FILES.name}: {error}"
        self.seen = await self.page.act([], advance_ms=PAGE_SETTLE_MS)
        return ""

    async def shown(self) -> tuple[bytes, Any, str]:
        dialog = self.seen.data["dialog"]
        words = f"The page asks for {'a file' if dialog == 'file' else 'files'}: {CHOOSE_FILES.name} answers."
        return self.seen.png, self.seen.pixels, words if dialog else ""

    async def windows(self) -> list[dict[str, Any]]:
        width, height = self.size
        return [{"title": self.seen.data["title"], "active": True, "x": 0, "y": 0, "width": width, "height": height}]
