"""The processes of a container as this machine's kernel tells of them: no program inside is asked."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterable, Iterator

_LISTENS = "0A"  # the state of a socket in /proc/net/tcp


@dataclasses.dataclass(frozen=True)
class Process:
    id: int  # inside
    program: str  # the name of the file that runs, such as python3.11; of its first word where that cannot be read
    argv: tuple[str, ...]
    stopped: bool = False  # by a signal or a debugger
    session: int = 0  # of setsid, inside


def processes_below(first: int) -> list[Process]:
    """The descendants of a process (its number on this machine), by their numbers inside. Those that ended are none."""
    found = [seen for pid in _descendants(first) if (seen := _process(pid)) is not None]
    return sorted(found, key=lambda each: each.id)


def listening_ports(first: int, holders: Iterable[int] | None = None) -> frozenset[int]:
    """The TCP ports that anybody listens at in the network of a process, this machine's number of it.

    `holders`: the processes that are asked about, where others are in that network, too.
    """
    ports, held = set(), None if holders is None else set().union(*map(_sockets, holders))
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{first}/net/{name}", encoding="ascii") as lines:
                fields = [line.split() for line in lines][1:]
        except OSError:
            continue
        listening = [each for each in fields if each[3] == _LISTENS and (held is None or each[9] in held)]
        ports |= {int(each[1].rpartition(":")[2], 16) for each in listening}
    return frozenset(ports)


def _sockets(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found


def tell() -> None:
    """Of the first process here, as JSON: for a program that looks at another kernel's /proc (gvisor_container.py)."""
    seen = [dataclasses.asdict(each) for each in processes_below(1)]
    print(json.dumps({"processes": seen, "ports": sorted(listening_ports(1))}))


def _descendants(pid: int) -> Iterator[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children = [int(word) for word in file.read().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from _descendants(child)


def _session(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(") ")[2].split()[3]
    except (OSError, IndexError):
        return "0"


def _process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as lines:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(1 << 16).split(b"\0")[:-1]
    except OSError:
        return None
    if status["State"][0] in "ZX":
        return None
    argv = tuple(os.fsdecode(word) for word in words)
    try:
        program = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:  # another user's
        program = argv[0] if argv else status["Name"]
    own = {"NSpid": str(pid), "NSsid": _session(pid)}  # where the kernel knows of no other numbers
    inside, session = (int(status.get(name, default).split()[-1]) for name, default in own.items())
    return Process(inside, os.path.basename(program), argv, status["State"][0] in "Tt", session)
