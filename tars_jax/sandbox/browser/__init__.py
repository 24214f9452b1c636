"""Headless browsers on a virtual clock. See README.md."""

from tars_jax.sandbox.browser.config import BrowserConfig, find_executable
from tars_jax.sandbox.browser.events import (
    InputEvent,
    InsertText,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
    is_key,
)
from tars_jax.sandbox.browser.manager import BrowserManager, ManagerStats
from tars_jax.sandbox.browser.page import ActsOnPage, OpensPages, Page
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.site import Site
from tars_jax.sandbox.failures import PageError, SandboxFailure

__all__ = [
    "ActsOnPage",
    "BrowserConfig",
    "BrowserManager",
    "InputEvent",
    "InsertText",
    "KeyDown",
    "KeyUp",
    "ManagerStats",
    "MouseDown",
    "MouseMove",
    "MouseUp",
    "OpensPages",
    "Page",
    "PageError",
    "PageObservation",
    "SandboxFailure",
    "Site",
    "Wheel",
    "find_executable",
    "is_key",
]
