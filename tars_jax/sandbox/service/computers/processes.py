"""What runs inside a container, and which ports it listens at, by this machine's kernel: nobody inside is asked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

LISTENS = "0A"  # the state of a socket in /proc/net/tcp


def listening_ports(first: int) -> list[int]:
    """TCP ports that somebody listens at in the network of a process, by its number on this machine."""
    ports = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/{first}/net/{name}", encoding="ascii") as lines:
            fields = [line.split() for line in lines][1:]
            ports |= {int(each[1].rpartition(":")[2], 16) for each in fields if each[3] == LISTENS}
    return sorted(ports)


def programs_below(first: int) -> list[tuple[int, int]]:
    """(process, session) of all that runs below a process, by their numbers inside, without what has ended."""
    found = []
    for pid in _descendants(first):
        with contextlib.suppress(OSError, KeyError, ValueError), open(f"/proc/{pid}/status", errors="replace") as lines:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
            if status["State"][0] not in "ZX":
                found.append((int(status["NSpid"].split()[-1]), int(status["NSsid"].split()[-1])))
    return found


def _descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children = [int(word) for word in file.read().split()]
            for child in children:
                yield child
                yield from _descendants(child)
