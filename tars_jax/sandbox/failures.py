"""Failures of a sandbox: of the machinery (retry elsewhere) or of a page's own script (do not)."""

from __future__ import annotations

from tars_jax import InputError

FAILURES = (
    "renderer", "browser", "driver", "timeout", "diverged", "restored", "storage", "disk", "service", "guest",
    "container", "desktop", "adb_server", "no_device", "several_devices", "offline", "unauthorized", "screen",
    "node", "mcp", "website", "person", "held", "locked",
)  # fmt: skip
# What an environment has waited for before it says so: asked at once again it is the same.
LASTING = frozenset({"held", "locked", "offline", "no_device", "unauthorized", "adb_server"})


class SandboxFailure(Exception):
    """The infrastructure under a page, a computer or a phone failed; it is dead, and a new one can be opened.

    Never a statement about the episode: it is retried, then masked, and never a reward.
    """

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind  # one of FAILURES


class Broken(InputError):
    """Programs of the inside have broken what shows it or serves it: what an agent does to its own computer counts as
    its step. It is answered, and never a reason to play an episode again.
    """


class PageError(Exception):
    """An expression raised in the page; the page itself is alive."""

    kind = "page"


class SessionEnded(Exception):
    """The session was released, or its lease ran out; or there never was one of this name."""

    def __init__(self, id: str) -> None:
        super().__init__(f"there is no session {id[:80]!r}: it was released, or its lease ran out")
        self.id = id


class QuotaExceeded(Exception):
    """A quota is used up: there are as many sessions as there may be; one that ends makes room."""

    def __init__(self, message: str, *, own: bool) -> None:
        super().__init__(message)
        self.own = own  # the owner's own sessions are too many; otherwise all together are
