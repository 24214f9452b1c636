"""Ports that a test takes now and listens at later, as a server that is killed and started again does."""

import contextlib
import os
import random
import socket

# Below those that the kernel gives to whoever asks for any port: nobody else gets one of these meanwhile.
FIRST, EACH = 20_000, 1_000
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 12
_taken: set[int] = set()


def free_port() -> int:
    """Of this worker's own, each once."""
    ports = range(FIRST + EACH * WORKER, FIRST + EACH * (WORKER + 1))
    for port in random.sample(ports, len(ports)):
        with contextlib.suppress(OSError), socket.socket() as listening:
            if port not in _taken:
                listening.bind(("127.0.0.1", port))
                _taken.add(port)
                return port
    raise AssertionError(f"a port from {ports.start} to {ports.stop - 1} must be free")
