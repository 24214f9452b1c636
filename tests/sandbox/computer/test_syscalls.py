"""Calls of the kernel that computers start with."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.waiting import PATIENCE_S

CLONE = """
import os, signal, sys
from tars_jax.sandbox.computer.launcher import syscalls
flags = int(sys.argv[1])
for _ in range(2):  # what a parent did not give back, the second one would wait for
    pid = syscalls.clone(flags, signal.SIGCHLD)
    if pid == 0:
        print(os.getpid(), flush=True)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
try:
    syscalls.clone(flags | 0x200 | 0x800, signal.SIGCHLD)  # shares a table of signal handlers, but no memory: EINVAL
except OSError as error:
    print(error.errno, flush=True)
"""
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's own call")
def test_a_clone_is_the_first_process_of_its_namespace() -> None:
    flags = CLONE_NEWPID | (0 if os.geteuid() == 0 else CLONE_NEWUSER)
    run = subprocess.run([sys.executable, "-c", CLONE, str(flags)], capture_output=True, text=True, timeout=PATIENCE_S)
    if run.returncode and "PermissionError" in run.stderr:
        pytest.skip("namespaces are not for this user here")
    assert run.stdout.split() == ["1", "7", "1", "7", "22"], run.stderr
