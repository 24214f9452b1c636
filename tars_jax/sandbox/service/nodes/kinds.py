"""The kinds of sessions that a node's service has."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.service import PagesKind
from tars_jax.sandbox.browser.sessions import PageSessions
from tars_jax.sandbox.service.computers.kind import ComputersKind
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.sandbox.service.kinds import Kind
from tars_jax.sandbox.service.nodes.sandboxes import COMPUTER
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.sandbox.sessions.registry import SessionQuota

BROWSER = "browser"
MANY = 1 << 20  # how many sessions there may be its places say, and of an owner its managers
SIDE = 320  # of pages, unless a session says otherwise
PAGES_PER_BROWSER = 8


def make_kinds(
    names: Sequence[str],
    capacity: int,
    service: ServiceConfig,
    isolation: str = "auto",
    node: str = "",
) -> list[Kind]:
    """Sessions end with the node: none is kept for the next one. Raises InputError for kinds that there are not."""
    kinds = list[Kind]()
    for name in names:
        session_quota = SessionQuota(MANY, MANY)
        browsers = BrowserConfig(
            browsers=1, max_browsers=max(1, -(-capacity // PAGES_PER_BROWSER)), pages_per_browser=PAGES_PER_BROWSER,
            width=SIDE, height=SIDE,
        )  # fmt: skip
        if name == BROWSER:
            limits = SessionsConfig(MANY, MANY)
            kinds.append(PagesKind(PageSessions(BrowserManager(browsers), limits, None, session_quota, node), service))
        elif name == COMPUTER:
            computers = ContainedComputers(isolation)
            kinds.append(ComputersKind(ComputerSessions(computers, None, session_quota, browsers=browsers, node=node)))
        else:
            raise InputError(f"kinds must be of {BROWSER}, {COMPUTER}; got {name!r:.80}")
    if not kinds or len(set(names)) < len(names):
        raise InputError(f"kinds must be one at least, each once; got {', '.join(names) or 'none'}")
    return kinds
