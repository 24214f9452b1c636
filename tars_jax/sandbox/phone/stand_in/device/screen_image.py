"""The whole screen of the stand-in as an image: what an app shows, between the two bars of the system."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Protocol

from PIL import Image

from tars_jax.sandbox.phone.stand_in.apps import App
from tars_jax.sandbox.phone.stand_in.device.tables import SIGNS
from tars_jax.sandbox.phone.stand_in.screen.drawing import Canvas
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout
from tars_jax.sandbox.phone.stand_in.screen.widgets import Box, Widget

STATUS, NAVIGATION = 24.0, 40.0  # dp, of the two bars
WALLPAPERS = ("#26415e", "#4a3158", "#2f4f43", "#5a3a33", "#334155")
KEYS = ("◁", "○", "□")  # of the lower bar: back, home, recent apps


class HasScreen(Protocol):
    """The parts of a device that are drawn."""

    seed: int

    @property
    def size(self) -> tuple[int, int]: ...

    @property
    def scale(self) -> float: ...

    @property
    def shows_home(self) -> bool: ...

    def widgets(self) -> Sequence[Widget]: ...

    def setting(self, table: str, name: str) -> str: ...

    def date(self) -> datetime.datetime: ...


def draw_screen(device: HasScreen) -> Image.Image:
    """RGB, of the device's `size`. Its upper bar says that it is a stand-in."""
    widgets = device.widgets()
    dark = device.setting("secure", "ui_night_mode") == "2"
    wall = WALLPAPERS[device.seed % len(WALLPAPERS)] if device.shows_home else ""
    canvas = Canvas(*device.size, device.scale, dark=dark, back=wall)
    canvas.draw(widgets[: -len(KEYS)])
    width = device.size[0] / device.scale
    color = "#ffffff" if wall else canvas.colors["dim"]
    hours = "%H:%M" if device.setting("system", "time_12_24") == "24" else "%I:%M %p"
    canvas.text(Box(12, 0, width, STATUS), device.date().strftime(hours).lstrip("0"), 12, color, "lm")
    signs = [sign for name, sign in SIGNS if device.setting("global", name) not in ("0", "")]
    canvas.text(Box(width - 130, 0, width - 8, STATUS), "  ".join([*signs, "stand-in"]), 11, color)
    for widget, sign in zip(widgets[-len(KEYS) :], KEYS, strict=True):
        canvas.text(widget.box, sign, 16, color)
    return canvas.image


def recent_cards(
    layout: Layout, apps: Sequence[App], open: Callable[[str], None], stop: Callable[[str], None]
) -> None:  # fmt: skip
    """Fills a layout with a card for each app, the latest first."""
    layout.header("Recent apps")
    for app in apps:
        layout.row(f"recent_{app.package}", app.name, app.package, tap=lambda app=app: open(app.package),
                   hold=lambda app=app: stop(app.package))  # fmt: skip
    if not apps:
        layout.label("empty", "   No recent apps", 60)
