"""The parts' machine, inside a container."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.contained_guest import ContainedGuest
from tars_jax.sandbox.computer.spec import ContainerSpec
from tests.sandbox.computer.containers import Traces, needs_root, of_each_kind, opened

pytestmark = [pytest.mark.multiprocess, needs_root]


@of_each_kind
@pytest.mark.first(1)
def test_programs_run_inside_and_a_fork_begins_with_their_files(tmp_path: Path, kind: str) -> None:
    traces = Traces(tmp_path)

    async def live() -> None:
        async with opened(tmp_path, kind) as isolation:
            traces.note()
            async with ContainedGuest(isolation, ContainerSpec()) as parent:
                assert parent.machine.home == "/home/agent"
                script = "id -un; hostname; echo $TARS_GUEST_TOKEN; echo kept > 'ä b'"
                process = await parent.machine.start(["sh", "-c", script], output="/tmp/out")
                assert await parent.machine.wait(process, 30) == 0
                assert parent.container.read("/tmp/out") == b"agent\ncomputer\n\n"
                assert parent.machine.host_path("/tmp/out").read_text().startswith("agent")
                snapshot = await parent.container.snapshot("one")
                async with ContainedGuest(isolation, ContainerSpec(), snapshot) as fork:
                    process = await fork.machine.start(["cat", "ä b"], output="/tmp/out")
                    assert await fork.machine.wait(process, 30) == 0
                    assert fork.container.read("/tmp/out").endswith(b"\nkept\n")

    asyncio.run(live())
    assert not traces.left()


@of_each_kind
def test_a_program_sets_no_limits_of_the_guest(tmp_path: Path, kind: str) -> None:
    limits = "import resource; resource.prlimit(1, resource.RLIMIT_AS, (1 << 20, 1 << 20))"

    async def live() -> None:
        async with opened(tmp_path, kind) as isolation, ContainedGuest(isolation, ContainerSpec()) as guest:
            ran = await guest.machine.run(["python3", "-c", limits], timeout_s=30)
            assert ran.status == 1 and b"PermissionError" in ran.stderr
            assert (await guest.machine.run(["echo", "on"], timeout_s=30)).stdout == b"on\n"

    asyncio.run(live())
