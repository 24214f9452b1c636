"""Pages under a lease that outlive their browsers and their manager. See README.md one folder up."""

from tars_jax.sandbox.browser.sessions.session import PageSession
from tars_jax.sandbox.browser.sessions.sessions import PageSessions

__all__ = ["PageSession", "PageSessions"]
