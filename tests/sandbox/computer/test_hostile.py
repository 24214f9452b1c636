"""Programs that mean harm: refused or contained, and a neighbor goes on."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.container import Container, Isolation
from tars_jax.sandbox.computer.spec import ContainerSpec
from tests.sandbox.computer.containers import Traces, needs_root, of_each_kind, opened, output
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.multiprocess, needs_root]
PYTHON = Path(os.path.realpath(sys.executable))
BINDS = {sys.base_prefix: Path(sys.base_prefix), "/opt/attempts.py": Path(__file__).with_name("attempts.py")}
SMALL = ContainerSpec(memory_mib=64, processes=24, disk_mib=32, shared_memory_mib=8, binds=BINDS)

# What gVisor's kernel lets a program do, as root of a user namespace of its own: to that kernel, and nothing of ours.
# The first process is the attempts' own here; a guest's is root by gVisor (test_contained_guest.py).
OF_ITS_OWN_KERNEL = {
    "namespaces": set[str](),
    "gvisor": {
        "unshare a user namespace", "chroot", "open a raw socket", "open a packet socket", "read the kernel's log",
        "use a key ring", "limit the first process",
    },
}  # fmt: skip


def python(code: str) -> list[str]:
    return [str(PYTHON), "-I", "-S", "-c", code]


@asynccontextmanager
async def with_neighbor(folder: Path, kind: str) -> AsyncIterator[tuple[Isolation, Container]]:
    """An isolation with a container that counts; at the end it has gone on counting, and nothing is left."""
    traces = Traces(folder)
    async with opened(folder, kind) as isolation:
        count = "i=0; while sleep 0.02; do i=$((i+1)); echo $i > count; done"
        neighbor = await isolation.launch(ContainerSpec(), ["/bin/sh", "-c", count])
        traces.note()
        yield isolation, neighbor
        before = neighbor.read("/home/agent/count")
        assert await until(lambda: neighbor.read("/home/agent/count") not in (before, b"")), "the neighbor stands still"
    assert not traces.left()


@of_each_kind
def test_ways_out_are_closed(tmp_path: Path, kind: str) -> None:
    async def live() -> None:
        async with with_neighbor(tmp_path / "c", kind) as (isolation, _):
            with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as named:
                named.bind("\0tars-hostile")
                named.listen()
                arguments = [str(server.getsockname()[1]), "tars-hostile", str(os.getpid()), str(tmp_path / "c")]
                container = await isolation.launch(SMALL, [str(PYTHON), "-I", "/opt/attempts.py", *arguments])
                await container.wait(PATIENCE_S)
            lines = container.read("/run/agent/log").decode().splitlines()
            results = dict(line.split(": ", 1) for line in lines)
            assert len(results) == 41, lines
            worked = {name for name, result in results.items() if not result.isupper()}
            assert worked <= OF_ITS_OWN_KERNEL[kind], lines

    asyncio.run(live())


@of_each_kind
def test_paths_lead_nowhere_out(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the host's")

    async def live() -> None:
        async with with_neighbor(tmp_path / "c", kind) as (isolation, _):
            with socket.socket(socket.AF_UNIX) as control:
                control.bind(str(tmp_path / "control"))
                control.listen()
                links = f"ln -s {secret} a; ln -s ../../../../../../..{secret} b; ln -s /proc/1/root{secret} c"
                links += f"; ln -s {tmp_path}/control d; ln -s /etc/hostname e; mkfifo f; ln -s g g; ln -s / h"
                container = await isolation.launch(SMALL, ["/bin/sh", "-c", f"{links}; exec sleep 60"])
                while not container.host_path("/home/agent/h").is_symlink():
                    await asyncio.sleep(0.01)
                up = f"../../../../..{secret}"
                for name in ("a", "b", "c", "e", "f", "g", "d", f"h{secret}", up, "h/proc/1/root/etc"):
                    with pytest.raises(OSError):
                        container.read(f"/home/agent/{name}")
                with pytest.raises(OSError):
                    await container.connect("/home/agent/d")

    asyncio.run(live())


async def end_of(isolation: Isolation, argv: Sequence[str], timeout_s: float = 240) -> tuple[int | None, bytes]:
    container = await isolation.launch(SMALL, argv)
    try:
        status = await container.wait(timeout_s)
        return status, container.read("/run/agent/log", 2000)
    finally:
        await asyncio.wait_for(container.close(), PATIENCE_S)


@of_each_kind
@pytest.mark.first(1)
def test_takers_of_everything_get_their_share(tmp_path: Path, kind: str) -> None:
    async def live() -> None:
        async with with_neighbor(tmp_path / "c", kind) as (isolation, _):
            bomb = "import os, time\nwhile True:\n try:\n  os.fork()\n except OSError:\n  time.sleep(0.1)"
            status, _ = await end_of(isolation, python(f"import signal; signal.signal(15, signal.SIG_IGN)\n{bomb}"), 1)
            assert status is None  # it went on, and close ended it
            hog = "x = []\nwhile True: x.append(bytearray(b'1') * (8 << 20))"
            status, said = await end_of(isolation, ["/bin/sh", "-c", f'{PYTHON} -ISc "{hog}"; echo $?'])
            assert status == -9 or said.split()[-1] in (b"137", b"1"), (status, said)
            status, said = await end_of(isolation, ["/bin/sh", "-c", "yes | head -c 10G > file; df . | tail -1"])
            assert b"No space left on device" in said and b"100%" in said
            status, said = await end_of(isolation, ["/bin/sh", "-c", "yes; true"])  # into the log
            assert status == 0 and said.startswith(b"y\ny\n")
            status, said = await end_of(isolation, ["/bin/sh", "-c", "yes > /dev/shm/file; ls -s /dev/shm/file"])
            assert b"No space left on device" in said
            many = "import os\nfor i in range(10 ** 6): os.close(os.open(str(i), os.O_CREAT))"
            status, said = await end_of(isolation, python(many))
            assert b"No space left on device" in said
            used = sum(file.stat().st_blocks * 512 for file in (tmp_path / "c").rglob("disk.ext4"))
            assert used < 32 << 20  # what was taken is free again

    asyncio.run(live())


@of_each_kind
@pytest.mark.first(1)
def test_a_bound_share_of_the_processor(tmp_path: Path, kind: str) -> None:
    async def live() -> None:
        async with opened(tmp_path, kind) as isolation:
            code = "import time; e = time.time() + 1\nwhile time.time() < e: pass\nprint(time.process_time())"
            spin = f"{PYTHON} -ISc '{code}'"
            spec = ContainerSpec(cpus=0.2, binds=BINDS)
            assert float((await output(isolation, spin, spec))[0]) < 0.45

    asyncio.run(live())
