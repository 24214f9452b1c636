"""Browser sessions over HTTP. See README.md two folders up."""

from tars_jax.sandbox.browser.service.app import make_app
from tars_jax.sandbox.browser.service.client import BrowserClient, browsers
from tars_jax.sandbox.browser.service.config import Owner, ServiceConfig, read_owners

__all__ = ["BrowserClient", "Owner", "ServiceConfig", "browsers", "make_app", "read_owners"]
