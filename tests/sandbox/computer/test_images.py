"""Dockerfiles that become computers, whose programs are root of themselves and of nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer import base_images
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.images import Images
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tests.sandbox.computer.containers import needs_root

pytestmark = [pytest.mark.multiprocess, needs_root]


def live(test: Callable[[Images], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Computers("namespaces", "files") as computers:
            images = Images(computers)
            try:
                await test(images)
            finally:
                await images.close()

    asyncio.run(run())


async def said(computer: Computer, script: str, cwd: str = "/") -> str:
    ran = await computer.machine.run(["bash", "-c", script], cwd=cwd, merge=True)
    return ran.stdout.decode().strip()


def context(folder: Path, text: str, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(f"FROM debian\n{text}")
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture(autouse=True)
def any_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_images, "why_not", lambda image, near: "")


def test_a_dockerfile_is_carried_out_once_and_computers_begin_with_it(tmp_path: Path) -> None:
    text = """ENV NAME=plum
WORKDIR /app
RUN echo $NAME > fruit; date +%s%N > made; useradd -m bob; echo x > /usr/local/lib/mine; rm /usr/bin/tar.none || true
COPY data box/
RUN chown -R bob:bob /app && install -o bob -m 700 fruit /opt/fruit
"""
    folder = context(tmp_path / "environment", text, data="1 2 3")

    async def test(images: Images) -> None:
        one, other = await asyncio.gather(images.built(folder), images.built(folder))
        assert one is other and one.workdir == "/app"
        first, second = await images.open(one, ContainerSpec()), await images.open(one, ContainerSpec())
        script = "cat fruit box/data /opt/fruit /usr/local/lib/mine; echo $NAME; id -u; id -un bob"
        assert (await said(first, script, "/app")).split() == ["plum", "1", "2", "3plum", "x", "plum", "0", "bob"]
        assert await said(first, "cat /app/made") == await said(second, "cat /app/made")
        await said(first, "rm -r /app /usr/local/lib/mine; echo changed > /usr/bin/env")
        assert await said(first, "ls /app/fruit; cat /usr/bin/env") != ""
        assert await said(second, "cat /app/fruit; env true && echo fine") == "plum\nfine"
        assert Path("/usr/bin/env").read_bytes()[:4] == b"\x7fELF"  # this machine's own
        await first.close()
        await second.close()
        (folder / "data").write_text("4")
        assert (await images.built(folder)).key != one.key

    live(test)


def test_an_images_path_is_its_programs_alone(tmp_path: Path) -> None:
    text = "ENV PATH=/nowhere\nWORKDIR /deep/app\nCOPY one /deep/app\nRUN [ -f one ]\n"
    folder = context(tmp_path / "environment", text, one="1")

    async def test(images: Images) -> None:
        computer = await images.open(await images.built(folder), ContainerSpec())
        ran = await computer.machine.run(["/bin/cat", "/deep/app/one"])
        assert ran.stdout == b"1"

    live(test)


def test_what_a_program_of_the_build_says_comes_with_its_line(tmp_path: Path) -> None:
    folder = context(tmp_path / "environment", "RUN true\nRUN echo no such plum; exit 3\n")
    slow = context(tmp_path / "slow", "RUN sleep 60\n")

    async def test(images: Images) -> None:
        message = r"^environment/Dockerfile, line 3: RUN must end with 0; got 3 \(no such plum\)$"
        with pytest.raises(InputError, match=message):
            await images.built(folder)
        (folder / "Dockerfile").write_text("FROM debian\nRUN echo plum > /plum\n")
        await images.built(folder)
        with pytest.raises(InputError, match=r"^slow/Dockerfile, line 2: RUN must end within the build's time$"):
            await images.built(slow, timeout_s=0.5)

    live(test)


def test_root_of_a_computer_is_nobody_outside_of_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with Computers("namespaces", "files") as computers:
            computer = await computers.open(ContainerSpec(root=True))
            assert await said(computer, "id -u; echo $HOME; pwd") == "0\n/root\n/"
            for refused in (
                "mount -t tmpfs none /mnt", "unshare -m true", "chroot / true", "unshare -U true",
                "echo 1 > /proc/sys/kernel/core_pattern", "cat /proc/1/environ", "cat /proc/1/mem", "mknod /x b 8 0",
            ):  # fmt: skip
                assert await said(computer, f"({refused}) >/dev/null 2>&1 && echo done") == "", refused
            capabilities = int((await said(computer, "grep CapBnd /proc/self/status")).split()[1], 16)
            assert capabilities & ~0x3F == 0
            outside = int((await said(computer, "cat /proc/self/uid_map")).split()[1])
            assert outside != 0
            assert Path(f"/proc/{computer.container.pid}").stat().st_uid in (0, outside)
            server = "python3 -m http.server 80 >/dev/null 2>&1 & sleep 1; python3 -c 'import urllib.request as u; "
            assert await said(computer, server + 'print(u.urlopen("http://127.0.0.1:80/").status)\'') == "200"
            # It cannot take the guest's way out.
            await said(computer, "rm -rf /run/* /tmp/*; rm -f /run/guest/socket; mkdir -p /run/guest")
            _, (reader, writer) = await computer.machine.pipe(["echo", "fine"])  # a new connection
            assert await reader.read() == b"fine\n"
            writer.close()
            await computer.close()

    asyncio.run(test())


def test_programs_of_the_system_are_put_back_and_what_was_added_stays(tmp_path: Path) -> None:
    folder = context(tmp_path / "environment", "RUN echo image > /usr/lib/of-the-image; echo image > /opt/kept\n")
    hostile = """
cp /usr/bin/true /usr/bin/cat; rm /usr/bin/wc; mv /usr/share/doc/bash /usr/share/doc/papers; rm /usr/lib/of-the-image
echo agent > /usr/lib/of-the-agent; echo agent > /opt/kept; rm -r /usr/lib/apt; ln -s / /usr/lib/apt
"""

    async def test() -> None:
        async with Computers("namespaces", "files") as computers:
            images = Images(computers)
            computer = await images.open(await images.built(folder), ContainerSpec())
            await said(computer, hostile)
            assert await said(computer, "cat /usr/lib/of-the-agent") == ""  # `cat` does nothing any more
            snapshot = await computer.snapshot("left")
            spec = dataclasses.replace(computer.guest.spec, user=None, system_restored=True)
            other = await computers.open(spec, snapshot)
            told = await said(other, "cat /usr/lib/of-the-agent /usr/lib/of-the-image /opt/kept; echo -n ab | wc -c")
            assert told.split() == ["agent", "image", "agent", "2"]
            assert await said(other, "test -d /usr/share/doc/bash -a ! -L /usr/lib/apt && echo whole") == "whole"
            await images.close()

    asyncio.run(test())


def test_links_that_root_leaves_lead_the_host_nowhere(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    for name in ("agent", "guest", "kept"):
        (victim / name).mkdir(parents=True)
        (victim / name / "file").write_text("plum")
    victim.chmod(0o777)
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    hostile = (
        f"mv /run /run.old; ln -s {victim} /run",
        f"rm -rf /run/agent; ln -s {victim}/kept /run/agent",
        f"rm -rf /run/*; mv /opt /opt.old; ln -s {victim} /opt; mv /var/lib /var/lib.old; ln -s {victim} /var/lib",
        f"mv /opt/tars_jax /x; ln -s {victim} /opt/tars_jax; rm -rf /home; ln -s {victim} /home",
        "mv /run /run.old; echo > /run; mv /var /var.old; echo > /var",
    )

    async def test(images: Images) -> None:
        computers = images._computers
        for script in hostile:
            computer = await computers.open(ContainerSpec(root=True))
            await said(computer, script)
            snapshot = await computer.snapshot(script)
            await computer.close()
            again = await computers.open(ContainerSpec(root=True), snapshot)
            assert await said(again, "echo fine") == "fine"
            await again.close()
            with contextlib.suppress(SandboxFailure, InputError):  # without root's powers some are of no use
                await (await computers.open(ContainerSpec(), snapshot)).close()
            assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before, script
            await computers.isolation().remove_snapshot(snapshot)

    live(test)
    assert all((victim / name / "file").read_text() == "plum" for name in ("agent", "guest", "kept"))


def test_a_build_ends_when_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    folder = context(tmp_path / "environment", "RUN sleep 4321\n")

    async def test(images: Images) -> None:
        one, two = (asyncio.create_task(images.built(folder)) for _ in range(2))
        await asyncio.sleep(2.0)
        one.cancel()
        await asyncio.wait([one])
        assert len(images._building) == 1 and not two.done()
        two.cancel()
        await asyncio.wait([two], timeout=60)
        assert two.cancelled() and not images._building
        (folder / "Dockerfile").write_text("FROM debian\nRUN true\n")
        assert (await images.built(folder)).workdir == "/"

    live(test)


def test_computers_end_with_a_loop_that_cancels_all_its_tasks() -> None:
    """As asyncio.run does in the end, the one among them that hears what the launcher says."""

    async def begin() -> None:
        async def keep() -> None:
            async with Computers("namespaces", "files") as computers:
                await computers.open()
                opened.set()
                await asyncio.get_running_loop().create_future()

        opened = asyncio.Event()
        task = asyncio.create_task(keep())
        await opened.wait()
        assert not task.done()

    asyncio.run(asyncio.wait_for(begin(), 60))
