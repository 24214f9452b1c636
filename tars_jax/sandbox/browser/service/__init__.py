"""Browser sessions over HTTP. See README.md one folder up."""

from tars_jax.sandbox.browser.service.client import BrowserClient, browsers
from tars_jax.sandbox.browser.service.kind import Pages

__all__ = ["BrowserClient", "Pages", "browsers"]
