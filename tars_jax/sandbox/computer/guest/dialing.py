"""Connections that the guest makes to the host, where the host can make none to it (gVisor).

One is always open and waits. A byte from the host takes it: from then on it is as one that the host had made, and the
next one is opened. Where nobody listens, or the host closes what waits, the guest tries again.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

AGAIN_S = 0.05


def dial_out(path: str, taken: Callable[[socket.socket], None]) -> None:
    """Begins, in a thread of its own, which calls `taken`."""
    threading.Thread(target=_dial, args=(path, taken), daemon=True).start()


def _dial(path: str, taken: Callable[[socket.socket], None]) -> None:
    while True:
        peer = socket.socket(socket.AF_UNIX)
        try:
            peer.connect(path)
            if peer.recv(1):
                taken(peer)
                continue
        except OSError:
            pass
        peer.close()
        time.sleep(AGAIN_S)
