"""The processes of a container as this machine's kernel tells of them: no program inside is asked."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
from collections.abc import Iterable, Iterator

RUNNING = frozenset("RS")  # states of processes that may do something
MOST_LISTED = 256 << 10  # bytes of a table of sockets: those that listen come first in it
_KILL = 1 << (signal.SIGKILL - 1)  # the kernel sets it for every signal that ends a process
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
    """The TCP ports that anybody listens at in the network of a process, this machine's number of it; of more than some
    1,700 sockets the first.

    `holders`: the processes that are asked about, where others are in that network, too.
    """
    ports, held = set(), None if holders is None else set().union(*map(_sockets, holders))
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{first}/net/{name}", encoding="ascii") as file:
                fields = [line.split() for line in file.read(MOST_LISTED).split("\n")[1:-1]]
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
    """Prints the processes below the first one here, as JSON: for a program that looks at another kernel's /proc
    (gvisor_container.py)."""
    seen = [dataclasses.asdict(each) for each in processes_below(1)]
    print(json.dumps({"processes": seen, "ports": sorted(listening_ports(1))}))


def _descendants(first: int) -> Iterator[int]:
    """Without recursion, as programs can make children of children as often as they may have processes."""
    waiting = [first]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                    children = [int(word) for word in file.read().split()]
                    yield from children
                    waiting += children


def state_of(pid: int) -> str:
    """A letter, such as R; X where it has ended."""
    return _stat(pid)[0]


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat behind the process's name."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(") ")[2].split()
    except OSError:
        return ["X", "0", "0", "0"]


def _process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as lines:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in lines if ":\t" in line)
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(1 << 16).split(b"\0")[:-1]
    except OSError:
        return None
    if status["State"][0] in "ZX" or _is_killed(status):
        return None
    argv = tuple(os.fsdecode(word) for word in words)
    try:
        program = os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError as error:
        if not argv and isinstance(error, FileNotFoundError):  # its memory is gone: it ends at this moment
            return None
        program = argv[0] if argv else status["Name"]  # another user's
    own = {"NSpid": str(pid), "NSsid": _stat(pid)[3]}  # where the kernel knows of no other numbers
    inside, session = (int(status.get(name, default).split()[-1]) for name, default in own.items())
    return Process(inside, os.path.basename(program), argv, status["State"][0] in "Tt", session)


def _is_killed(status: dict[str, str]) -> bool:
    """Whether it ends as soon as it has a core again."""
    return any(int(status.get(name, "0"), 16) & _KILL for name in ("SigPnd", "ShdPnd"))
