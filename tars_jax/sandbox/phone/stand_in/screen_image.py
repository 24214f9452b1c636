"""The whole screen of the stand-in as an image: what an app shows, between the two bars of the system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image

from tars_jax.sandbox.phone.stand_in.drawing import Canvas
from tars_jax.sandbox.phone.stand_in.tables import SIGNS
from tars_jax.sandbox.phone.stand_in.widgets import Box

if TYPE_CHECKING:
    from tars_jax.sandbox.phone.stand_in.device import Device

STATUS, NAVIGATION = 24.0, 40.0  # dp, of the two bars
WALLPAPERS = ("#26415e", "#4a3158", "#2f4f43", "#5a3a33", "#334155")
KEYS = ("◁", "○", "□")  # of the lower bar: back, home, recent apps


def draw_screen(device: Device) -> Image.Image:
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
