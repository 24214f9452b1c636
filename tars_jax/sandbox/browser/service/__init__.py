"""Browser sessions over HTTP. See README.md one folder up."""

from tars_jax.sandbox.browser.service.client import BrowserClient, browsers
from tars_jax.sandbox.browser.service.kind import PagesKind

__all__ = ["BrowserClient", "PagesKind", "browsers"]
