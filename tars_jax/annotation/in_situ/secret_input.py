"""Whether a secret is being typed into the focused window, by all that can tell."""

from __future__ import annotations

from tars_jax.annotation.in_situ.accessibility import Accessible
from tars_jax.annotation.in_situ.terminals import WatchedTerminals
from tars_jax.annotation.in_situ.windows import VisibleWindow


class SecretWatchers:
    """Terminals of this machine, and accessibility where there is any."""

    def __init__(self, accessible: Accessible | None) -> None:
        self._terminals, self._accessible = WatchedTerminals(), accessible

    def is_secret(self, window: VisibleWindow | None) -> bool:
        if window is None:
            return False
        if self._accessible is not None and self._accessible.is_secret:
            return True
        return self._terminals.hide(window.process)

    def tree(self, window: VisibleWindow | None) -> bytes | None:
        return self._accessible.tree(window) if self._accessible is not None else None

    def close(self) -> None:
        if self._accessible is not None:
            self._accessible.close()
