"""A side of a benchmark as a process that takes its turn when it is told to; standard library alone.

It reads a line, does its work once, and answers with one line of JSON: what the work returned, and the largest memory
that the process has held since the warm-up, in MB of 2^20 bytes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WARM_UP = 2  # turns: the first compiles
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def clock() -> tuple[float, float]:
    """Seconds on the wall and of the processor, the latter of all threads."""
    return time.perf_counter(), time.process_time()


def between(began: tuple[float, float], ended: tuple[float, float]) -> list[float]:
    return [ended[0] - began[0], ended[1] - began[1]]


def descendants() -> dict[int, list[str]]:
    """The fields of /proc/PID/stat after the name, by id, of this process and its living descendants."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue

    def ours(pid: int) -> bool:
        while pid not in (0, os.getpid()):
            pid = int(found[pid][1]) if pid in found else 0
        return pid != 0

    return {pid: fields for pid, fields in found.items() if ours(pid)}


def processor_ms() -> float:
    """Processor time so far of this process and its living descendants."""
    return TICK_MS * sum(int(fields[11]) + int(fields[12]) for fields in descendants().values())


def serve(turn: Callable[[], dict[str, Any]]) -> None:
    """Answers until standard input ends. What libraries print goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    loaded = _megabytes("VmRSS")
    for number, _ in enumerate(sys.stdin):
        if number == WARM_UP:
            Path("/proc/self/clear_refs").write_text("5")  # the peak so far was the compiler's
        answer = turn()
        json.dump({**answer, "peak_mb": _megabytes("VmHWM"), "loaded_mb": loaded}, answers)
        answers.write("\n")
        answers.flush()


def _megabytes(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
