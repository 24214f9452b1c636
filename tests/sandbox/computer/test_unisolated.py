"""Computers without isolation: the same calls, a home of its own, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.home import File
from tars_jax.sandbox.computer.isolation import CHOSEN, open_isolation
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell
from tars_jax.sandbox.tools.kernels import Kernel
from tests.envs.computer_player import play
from tests.waiting import until

pytestmark = pytest.mark.multiprocess


def alive(word: str) -> bool:
    """Whether a program runs with these words as its command."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().replace(b"\0", b" ").decode(errors="replace").startswith(word):
                return True
    return False


def test_it_is_taken_by_name_alone() -> None:
    assert "none" not in CHOSEN


def test_a_computer_with_shells_files_ports_and_forks() -> None:
    async def use() -> None:
        async with Computers("none") as computers:
            one, other = await computers.open(), await computers.open()
            await one.put({"a b.txt": File(b"plum\n")})
            assert (await one.home())[0]["a b.txt"].data == b"plum\n" and not (await other.home())[0]
            async with Shell(one.machine) as shell:
                assert (await shell.run("cat 'a b.txt'; pwd")).output == f"plum\n{one.machine.home}\n"
                with socket.create_server(("127.0.0.1", 0)):  # this process's own
                    assert not await one.ports()
                await shell.run("python3 -m http.server 0 --bind 127.0.0.1 >/dev/null 2>&1 &")
                await until(one.ports)
                assert len(await one.ports()) == 1 and not await other.ports()
                assert {"python3"} <= {process.program[:7] for process in await one.processes()}
                (fork,) = await one.fork(way="files")
            assert (await fork.home())[0]["a b.txt"].data == b"plum\n"
            await fork.put({"a b.txt": File(b"fig\n")})
            assert (await one.home())[0]["a b.txt"].data == b"plum\n"
            home = Path(one.machine.home)
            assert await one.suspend() == "paused"
            await one.resume()
            await one.close()
            await one.close()
            assert not home.exists()
            assert (await other.machine.run(["true"])).status == 0

    asyncio.run(use())


def test_what_it_starts_ends_with_it_also_what_has_left_its_session(tmp_path: Path) -> None:
    word = f"{os.getpid()}1234567"

    async def use() -> None:
        async with Computers("none") as computers:
            computer = await computers.open()
            await computer.machine.run(["sh", "-c", f"setsid sleep {word} & trap '' TERM; setsid sleep {word} &"])
            await until(lambda: alive(f"sleep {word}"))
            await computer.close()
            assert not alive(f"sleep {word}")

    asyncio.run(use())


def test_a_killed_owner_leaves_no_program(tmp_path: Path) -> None:
    word = f"{os.getpid()}7654321"
    program = f"""
import asyncio
from tars_jax.sandbox.computer.computer import Computers
async def main():
    async with Computers("none") as computers:
        computer = await computers.open()
        await computer.machine.start(["sleep", "{word}"])
        print("ready", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    owner = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert owner.stdout is not None and owner.stdout.readline() == b"ready\n"
    asyncio.run(until(lambda: alive(f"sleep {word}")))
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    asyncio.run(until(lambda: not alive(f"sleep {word}")))


def test_what_it_cannot_do_is_said(tmp_path: Path) -> None:
    async def refuse() -> None:
        isolation = await open_isolation(tmp_path, "none")
        with pytest.raises(InputError, match="argv must name a program"):
            await isolation.launch(ContainerSpec(), ["no such program"])
        container = await isolation.launch(ContainerSpec(), ["sleep", "60"])
        with pytest.raises(SandboxFailure, match="cannot be copied live"):
            await container.checkpoint("now")
        await isolation.close()
        assert not list(tmp_path.glob("run-*"))

    asyncio.run(refuse())


def test_a_task_is_played() -> None:
    turn, seen = asyncio.run(play("find_word", isolation="none"))
    assert turn.success, seen.info["wrong"]


def test_a_kernel_s_folder_is_its_session_s() -> None:
    """And not in this machine's /tmp, where nobody would remove it."""
    mine: list[Path] = []

    async def live() -> None:
        async with Computers("none") as computers:
            computer = await computers.open()
            try:
                assert (await Kernel(computer.machine, kind="jupyter").run("1 + 1")).result == "2"
            except InputError as missing:
                pytest.skip(str(missing))
            mine.extend(Path(computer.container.run_folder).glob(".kernel-*"))

    asyncio.run(live())
    assert len(mine) == 1 and not mine[0].exists()
