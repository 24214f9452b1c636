"""Pages under a lease that outlive their browsers and their manager. See README.md one folder up."""

from tars_jax.sandbox.browser.sessions.config import SessionsConfig
from tars_jax.sandbox.browser.sessions.session import Session
from tars_jax.sandbox.browser.sessions.sessions import Sessions

__all__ = ["Session", "Sessions", "SessionsConfig"]
