"""The parts' machine, inside a container: what its programs may do to the guest."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.contained_guest import ContainedGuest
from tars_jax.sandbox.computer.spec import ContainerSpec
from tests.sandbox.computer.containers import needs_root, of_each_kind, opened

pytestmark = [pytest.mark.multiprocess, needs_root]


# What one program may do to itself, and to no other: {} is 0, or the guest's number.
OF_ONESELF = """
import os, resource
for call in (
    lambda: resource.prlimit({0}, resource.RLIMIT_AS, (1 << 40, 1 << 40)),
    lambda: os.setpriority(os.PRIO_PROCESS, {0}, 19),
    lambda: os.sched_setscheduler({0}, os.SCHED_IDLE, os.sched_param(0)),
):
    try:
        call()
        print("done")
    except OSError:
        print("refused")
"""
# As ZeroMQ does, which ends where it may not.
OF_A_THREAD = (
    "import os, threading; os.sched_setscheduler(threading.get_native_id(), os.SCHED_OTHER, os.sched_param(0))"
)
OF_THE_USER = "import os; os.setpriority(os.PRIO_USER, 0, 19)"


@of_each_kind
def test_a_program_sets_no_limits_and_no_turns_of_the_guest(tmp_path: Path, kind: str) -> None:
    async def live() -> None:
        async with opened(tmp_path, kind) as isolation, ContainedGuest(isolation, ContainerSpec()) as guest:

            async def said(*argv: str) -> bytes:
                return (await guest.machine.run(argv, timeout_s=30)).stdout

            assert await said("sh", "-c", "id -un; pwd; echo $TARS_GUEST_TOKEN") == b"agent\n/home/agent\n\n"
            refused = await said("python3", "-c", OF_ONESELF.format(1))
            if kind == "gvisor":  # whose kernel gives turns by no priority
                assert refused.startswith(b"refused\n")
            else:
                assert refused == b"refused\n" * 3
                assert await said("python3", "-c", OF_ONESELF.format(0)) == b"done\n" * 3
                by_user = await guest.machine.run(["python3", "-c", OF_THE_USER], timeout_s=30)
                assert b"PermissionError" in by_user.stderr
                assert await said("taskset", "1", "ionice", "-c", "3", "echo", "on") == b"on\n"
            assert (await guest.machine.run(["python3", "-c", OF_A_THREAD], timeout_s=30)).status == 0
            assert await said("nice", "-n", "5", "echo", "on") == b"on\n"

    asyncio.run(live())
