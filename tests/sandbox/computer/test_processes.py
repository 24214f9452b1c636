"""Processes as the kernel tells of them, at the moment in which they end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.processes import processes_below

pytestmark = pytest.mark.multiprocess


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_killed_runs_no_more_though_it_has_no_core_yet(number: int) -> None:
    """On a core that is busy, as this program's is while it reads."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        for _ in range(20):
            sleeps = subprocess.Popen(["nice", "-n", "19", "sleep", "60"])
            while not Path(f"/proc/{sleeps.pid}/cmdline").read_bytes().startswith(b"sleep"):
                os.sched_yield()
            assert sleeps.pid in {each.id for each in processes_below(os.getpid())}
            sleeps.send_signal(number)
            seen = {each.id for each in processes_below(os.getpid())}
            sleeps.wait()
            assert sleeps.pid not in seen
    finally:
        os.sched_setaffinity(0, cores)


def test_a_stopped_one_that_is_asked_to_end_still_runs() -> None:
    sleeps = subprocess.Popen(["sleep", "60"])
    try:
        sleeps.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, sleeps.pid, os.WSTOPPED)
        sleeps.terminate()
        assert [each.stopped for each in processes_below(os.getpid()) if each.id == sleeps.pid] == [True]
    finally:
        sleeps.kill()
        sleeps.wait()
