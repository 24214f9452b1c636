"""What can go wrong on a page: the machinery (retry elsewhere) or the page's own script (do not)."""

from __future__ import annotations

FAILURES = ("renderer", "browser", "driver", "timeout")


class SandboxFailure(Exception):
    """The infrastructure under a page failed; the page is dead, and a new one can be opened.

    Never a statement about the episode: it is retried, then masked, and never a reward (blueprint, contract 3).
    """

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind  # one of FAILURES


class PageError(Exception):
    """An expression raised in the page; the page itself is alive."""
