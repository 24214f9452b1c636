"""Regular expressions of a task over what an agent wrote, within bounds: one that goes back and forth without end would
hold up everything that shares a process with it.

They are searched for in a process of its own, which the kernel ends after so many seconds of processor time, however
busy the machine is.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import threading

LIMIT_S = 2.0  # of processor time, for one text
_PROGRAM = f"""
import json, re, signal, sys
for line in sys.stdin:
    pattern, flags, text = json.loads(line)
    signal.setitimer(signal.ITIMER_VIRTUAL, {LIMIT_S})
    found = re.search(pattern, text, flags) is not None
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(int(found), flush=True)
"""
_one = threading.Lock()
_worker: tuple[int, subprocess.Popen[bytes]] | None = None  # with the process that has started it
_slow: set[tuple[str, int]] = set()  # patterns with texts that took too long


def found(pattern: str, text: str, flags: int = 0) -> bool | None:
    """Whether a text has it, as `re.search` finds it; None: that could not be told within LIMIT_S.

    It blocks for that long; other threads go on.
    """
    if (key := (pattern, hash(text))) in _slow:
        return None
    line = json.dumps([pattern, int(flags), text]).encode() + b"\n"
    with _one:
        for tried_again in (False, True):
            worker = _started()
            assert worker.stdin is not None and worker.stdout is not None
            try:
                worker.stdin.write(line)
                worker.stdin.flush()
                said = worker.stdout.readline()
            except BrokenPipeError:  # it had ended before
                said = b""
            if said:
                return said == b"1\n"
            if worker.wait() == -signal.SIGVTALRM or tried_again:
                break
        _slow.add(key)
    return None


def some(answers: tuple[bool | None, ...]) -> bool | None:
    """Whether one of them is so; None: it cannot be told."""
    return True if True in answers else None if None in answers else False


def check(pattern: str) -> str:
    """Empty, or what is wrong with it."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return ""


def _started() -> subprocess.Popen[bytes]:
    global _worker
    if _worker is None or _worker[0] != os.getpid() or _worker[1].poll() is not None:
        argv = [sys.executable, "-I", "-S", "-c", _PROGRAM]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        _worker = (os.getpid(), process)
        atexit.register(process.kill)
    return _worker[1]
