"""Computers by gVisor: what its kernel is asked of them, and copies and suspension of what runs."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.home import File
from tars_jax.sandbox.computer.isolation import open_isolation
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell
from tars_jax.sandbox.tools.forms import Toolbox
from tests.sandbox.computer.containers import Traces, needs_gvisor, needs_root

pytestmark = [pytest.mark.multiprocess, needs_root, needs_gvisor]

# A program with its state in memory: it answers each line with the sum of all so far, and holds a file open.
SUMS = """
import sys
held, total = open("/tmp/held äö", "a+"), 0
for line in sys.stdin:
    total += int(line)
    held.write(line); held.flush()
    print("total", total, flush=True)
"""


def with_computers(work: Callable[[Computers], Awaitable[None]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of them on this machine."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    traces = Traces(folder / f"tars_jax-computers-{os.geteuid()}")

    async def live() -> None:
        async with Computers("gvisor") as computers:
            assert computers.forks == "live"
            traces.note()
            await work(computers)

    asyncio.run(live())
    assert not traces.left()


async def shell_that_sums(computer: Computer) -> Shell:
    await computer.put({"sums.py": File(SUMS.encode())})
    shell = Shell(computer.machine)
    await shell.open()
    await shell.run("python3 -u sums.py", timeout_s=1)
    assert "total 5" in (await shell.send("5\n")).output
    return shell


@pytest.mark.full
def test_programs_run_by_a_kernel_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(computers: Computers) -> None:
        computer = await computers.open(ContainerSpec(hostname="mother"))
        async with Toolbox(computer.machine, ["execute_bash", "str_replace_editor"]) as tools:
            said = (await tools.call("execute_bash", {"command": "hostname; id -un; dmesg | head -n 1; tty"})).text
            assert said.split("\n")[:2] == ["mother", "agent"] and "gVisor" in said and "/dev/pts/" in said
            script = (
                "import http.server as s; s.HTTPServer(('127.0.0.1', 8123), s.BaseHTTPRequestHandler).serve_forever()"
            )
            await computer.machine.start(["python3", "-c", script])
            while await computer.ports() != {8123}:
                await asyncio.sleep(0.1)
            reader, writer = await computer.machine.connect(8123)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            assert b" 501 " in await reader.readline()  # it has no GET
            writer.close()
            programs = {each.program: each for each in await computer.processes()}
            assert any(each.argv[:2] == ("python3", "-c") for each in programs.values()), programs
            assert "bash" in programs and not programs["bash"].stopped
            await tools.call(
                "str_replace_editor", {"command": "create", "path": "/home/agent/Ü ü/a.txt", "file_text": "plum"}
            )
        assert (await computer.home())[0]["Ü ü/a.txt"] == File(b"plum")
        await asyncio.gather(*(computer.machine.run(["sh", "-c", "head -c 3000000 /dev/zero"]) for _ in range(8)))
        await computer.container.pause()
        waiting = asyncio.create_task(computer.machine.run(["echo", "late"]))
        assert not (await asyncio.wait([waiting], timeout=0.3))[0]
        await computer.container.resume()
        assert (await waiting).stdout == b"late\n"

    with_computers(work, tmp_path, monkeypatch)


@pytest.mark.slow
def test_live_forks_and_suspension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(computers: Computers) -> None:
        parent = await computers.open()
        shell = await shell_that_sums(parent)
        forks = await parent.fork(2)
        assert [fork.origin for fork in forks] == ["live", "live"]
        shells = [shell, *(Shell.restore(fork.machine, shell.snapshot()) for fork in forks)]
        for number, each in enumerate(shells):  # the same memory, and then each its own
            assert f"total {5 + number}" in (await each.send(f"{number}\n")).output
        for number, computer in enumerate((parent, *forks)):
            assert computer.container.read("/tmp/held äö") == f"5\n{number}\n".encode()
        await parent.close()
        first = forks[1].container.pid
        assert await forks[1].suspend() == "disk"
        assert not Path(f"/proc/{first}").exists()
        with pytest.raises(InputError, match="the computer is suspended"):
            await forks[1].machine.run(["true"])
        await forks[1].resume()
        assert "total 107" in (await shells[2].send("100\n")).output
        grandchild = (await forks[1].fork())[0]
        assert "total 108" in (await Shell.restore(grandchild.machine, shells[2].snapshot()).send("1\n")).output
        assert (await forks[0].machine.run(["echo", "alive"])).stdout == b"alive\n"

        _, (_, writer) = await forks[0].machine.pipe(["cat"])
        with pytest.raises(SandboxFailure, match="open streams cannot be copied live"):
            await forks[0].fork()
        writer.close()
        by_files = (await forks[0].fork(way="files"))[0]
        assert (await by_files.machine.run(["ls"])).stdout == b"sums.py\n"

    with_computers(work, tmp_path, monkeypatch)


def test_programs_inside_cannot_play_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = """
import os, signal, socket
def say(name, attempt):
    try: print(name, attempt())
    except OSError as error: print(name, type(error).__name__)
say("dial", lambda: socket.socket(socket.AF_UNIX).connect("/run/guest/socket"))
say("list", lambda: os.listdir("/run/guest"))
say("move", lambda: os.rename("/run/guest", "/run/other"))
say("kill", lambda: os.kill(1, signal.SIGKILL))
say("look", lambda: "TOKEN" in open("/proc/1/environ").read() or PermissionError.__name__)
say("write", lambda: open("/proc/1/mem", "wb"))
say("root", lambda: os.setuid(0))
"""

    async def work(computers: Computers) -> None:
        computer = await computers.open()
        ran = await computer.machine.run(["python3", "-c", attempts])
        assert [line.split()[1] for line in ran.stdout.decode().splitlines()] == ["PermissionError"] * 7, ran
        assert (await computer.machine.run(["echo", "on"])).stdout == b"on\n"

    with_computers(work, tmp_path, monkeypatch)


def test_where_there_is_no_runsc_the_script_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_jax.sandbox.computer.gvisor.runsc_program", lambda: None)
    with pytest.raises(InputError, match=r"isolation must .*gvisor: .*launch/gvisor.sh"):
        asyncio.run(open_isolation(tmp_path, "gvisor"))
