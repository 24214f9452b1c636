"""The programs that are connected to an X server, as the server knows them: none can say that it is another."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from Xlib import display
from Xlib.ext import res

_SERVER = 0  # the client that the server itself is; where one is asked for, all of them
_UNKNOWN = 0  # the process of a program that lives outside


class Clients:
    """Asks the server (X-Resource 1.2), which took each client's process from the kernel when it connected."""

    def __init__(self, shown: display.Display) -> None:
        """Raises XError where the server lacks the extension."""
        self._display = shown
        self._display.res_query_version()

    def processes(self, meanwhile: Callable[[], None] = lambda: None) -> frozenset[int]:
        """Ids inside of all that are connected and of the server, without this process.

        The server has done what it was sent before. `meanwhile` may ask it more, which then takes no time of its own.
        """
        asked = self._ask(_SERVER)
        meanwhile()
        return frozenset(process for _, process in _ids(asked)) - {_UNKNOWN, os.getpid()}

    def process_of(self, resource: int) -> int | None:
        """Who made a window, or another resource; None where it is gone, or was made from outside."""
        found = [process for client, process in _ids(self._ask(resource)) if client != _SERVER]
        return found[0] if found and found[0] != _UNKNOWN else None

    def _ask(self, client: int) -> Any:
        """For one client, which any of its resources names, or for all; the answer is waited for when it is read."""
        inner = self._display.display
        specs = [{"client": client, "mask": res.LocalClientPIDMask}]
        return res.QueryClientIds(display=inner, defer=1, opcode=inner.get_extension_major(res.extname), specs=specs)


def _ids(asked: Any) -> list[tuple[int, int]]:
    """(client, process) of each."""
    asked.reply()
    return [(each.spec.client, each.value[0]) for each in asked.ids if each.value]
