"""A desktop as a part of a computer: X, a window manager, applications; input, screenshots, windows."""

from tars_jax.sandbox.desktop.applications import APPLICATIONS
from tars_jax.sandbox.desktop.desktop import Desktop, DesktopConfig
from tars_jax.sandbox.desktop.screen import Screenshot
from tars_jax.sandbox.desktop.settling import Settle
from tars_jax.sandbox.desktop.windows import Window

__all__ = ["APPLICATIONS", "Desktop", "DesktopConfig", "Screenshot", "Settle", "Window"]
