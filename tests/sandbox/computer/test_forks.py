"""Computers that are forked in the middle of what they do, each way; and suspended."""

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
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell
from tars_jax.sandbox.tools.forms import Toolbox
from tests.sandbox.computer.containers import Traces, needs_root

pytestmark = [pytest.mark.multiprocess, needs_root]

# A program with its state in memory: it answers each line with the sum of all so far, and holds a file and a pipe open.
SUMS = """
import os, sys
held, total = open("/tmp/held äö", "a+"), 0
os.unlink("/tmp/gone") if os.path.exists("/tmp/gone") else None
for line in sys.stdin:
    total += int(line)
    held.write(line); held.flush()
    print("total", total, os.fstat(held.fileno()).st_size, flush=True)
"""


_LOOK_AROUND = """mount -t tmpfs x /mnt; ls /run/guest; cat /proc/1/environ; grep -c Seccomp:.2 /proc/self/status
ls /proc/acpi; cat /proc/keys; wc -l < /proc/net/dev"""


def with_computers(work: Callable[[Computers], Awaitable[None]], folder: Path, forks: str) -> None:
    """Nothing is left of them on this machine."""
    traces = Traces(folder / f"tars_jax-computers-{os.geteuid()}")

    async def live() -> None:
        try:
            async with Computers("namespaces", forks) as computers:
                traces.note()
                await work(computers)
        except InputError as error:
            if "forks must be one of" not in str(error):
                raise
            pytest.skip(str(error))

    asyncio.run(live())
    assert not traces.left()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_program_and_a_shell_go_on_in_each_live_fork_by_themselves(tmp_path: Path) -> None:
    async def work(computers: Computers) -> None:
        parent = await computers.open(ContainerSpec(hostname="mother"))
        await parent.put({"sums.py": File(SUMS.encode()), "notes ä.txt": File(b"plum\n")})
        shell = await _shell_that_sums(parent)
        forks = await parent.fork(2)
        assert [fork.origin for fork in forks] == ["live", "live"]
        shells = [shell, *(Shell.restore(fork.machine, shell.snapshot()) for fork in forks)]
        for number, each in enumerate(shells):  # the same memory, and then each its own
            assert "total 12 " in (await each.send(f"{number}\n")).output.replace(f"total {12 + number} ", "total 12 ")
        for number, each in enumerate(shells):
            assert f"total {112 + number} 10" in (await each.send("100\n")).output
        ends = [await each.send("\x04") for each in shells]
        assert [end.exit_code for end in ends] == [0, 0, 0]
        for number, each in enumerate(shells):
            await each.run(f"PLACE={number}; echo {number} >> 'notes ä.txt'; echo $PLACE > own")
        for number, (each, computer) in enumerate(zip(shells, [parent, *forks], strict=True)):
            said = (await each.run("echo $NAME $PLACE; hostname; cat 'notes ä.txt' '/tmp/held äö'; id -un")).output
            assert said.split() == ["three", "four", str(number), "mother", "plum", str(number), "5", "7",
                                    str(number), "100", "agent"]  # fmt: skip
            assert computer.container.read("/home/agent/own") == f"{number}\n".encode()
        # No way to the others, nor out: as in a new container.
        here = await forks[0].machine.run(["sh", "-c", _LOOK_AROUND])
        assert here.stdout == b"1\n3\n" and here.stderr.count(b"denied") == 2 and b"superuser" in here.stderr
        assert (await forks[0].machine.run(["sh", "-c", "echo x > /usr/x; echo x > /dev/x"])).stderr.count(
            b"ead-only"
        ) == 2
        await parent.close()
        assert (await forks[1].machine.run(["echo", "alive"])).stdout == b"alive\n"
        grandchild = (await forks[0].fork())[0]
        assert (await Shell.restore(grandchild.machine, shells[1].snapshot()).run("echo $PLACE")).output == "1\n"

    with_computers(work, tmp_path, "live")


async def _shell_that_sums(computer: Computer) -> Shell:
    shell = Shell(computer.machine)
    await shell.open()
    await shell.run("NAME='three four'")
    await shell.run("python3 -u sums.py", timeout_s=0.5)
    await shell.send("5\n")
    assert "total 12 4" in (await shell.send("7\n")).output
    return shell


def test_a_suspended_computer_takes_no_memory_and_goes_on_again_and_again(tmp_path: Path) -> None:
    async def work(computers: Computers) -> None:
        computer = await computers.open()
        await computer.put({"sums.py": File(SUMS.encode())})
        shell = await _shell_that_sums(computer)
        total = 12
        for number in range(3):
            first = computer.container.pid
            assert await computer.suspend() == "disk"
            assert not Path(f"/proc/{first}").exists()
            with pytest.raises(InputError, match="the computer is suspended"):
                await computer.machine.run(["true"])
            await computer.resume()
            await computer.resume()
            total += number
            assert f"total {total} " in (await shell.send(f"{number}\n")).output
        assert len((await computer.home())[0]) == 1
        await computer.suspend()
        await computer.close()

    with_computers(work, tmp_path, "live")


def test_what_is_not_there_for_a_live_copy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(computers: Computers) -> None:
        computer = await computers.open()
        _, (_, writer) = await computer.machine.pipe(["cat"])
        with pytest.raises(SandboxFailure, match="open streams cannot be copied live"):
            await computer.fork()
        writer.close()
        assert (await computer.machine.run(["echo", "on"])).stdout == b"on\n"
        with pytest.raises(InputError, match="count of forks must be"):
            await computer.fork(0)
        with pytest.raises(InputError, match="way of a fork must be one of"):
            await computer.fork(1, "magic")
        with pytest.raises(InputError, match="must not be replay where the session is not recorded"):
            await computer.fork(1, "replay")

    with_computers(work, tmp_path, "live")
    monkeypatch.setenv("TARS_JAX_CRIU", "/bin/false")

    async def without(computers: Computers) -> None:
        assert computers.forks == "replay" and "CRIU does not work here" in computers.why_not_live
        with pytest.raises(InputError, match="way of a fork must be one that works here; got live: CRIU does not"):
            await (await computers.open()).fork(1, "live")

    with_computers(without, tmp_path, "auto")


def test_a_session_is_replayed_and_goes_on_in_each_copy(tmp_path: Path) -> None:
    async def work(computers: Computers) -> None:
        parent = await computers.open()
        await parent.put({"sums.py": File(SUMS.encode()), "x.txt": File(b"one\ntwo\n")})
        tools = Toolbox(parent.machine, ["execute_bash", "str_replace_editor"])
        await tools.call("execute_bash", {"command": "cd /tmp; COUNT=3; ls -l /proc/self/fd | wc -l; echo done >> log"})
        edited = {"command": "str_replace", "path": "/home/agent/x.txt", "old_str": "two", "new_str": "zwei"}
        assert not (await tools.call("str_replace_editor", edited)).failed
        await parent.machine.start(["sh", "-c", "echo begun > ~/began; exec sleep 600"])
        await tools.call("execute_bash", {"command": "sleep 0.2; cat ~/began; false"})
        forks = await parent.fork(2)
        assert [fork.origin for fork in forks] == ["replay", "replay"]
        copies = [tools, *(tools.restored(fork.machine, tools.snapshot()) for fork in forks)]
        for computer, own in zip((parent, *forks), copies, strict=True):
            sleepers = "grep -lx sleep /proc/[0-9]*/comm 2>/dev/null | wc -l"  # not every system has pgrep
            look = f"echo $COUNT; pwd; cat ~/x.txt log; {sleepers}"
            said = (await own.call("execute_bash", {"command": look})).text
            assert said.split()[:6] == ["3", "/tmp", "one", "zwei", "done", "1"]
            await own.call("execute_bash", {"command": f"echo {id(computer)} > ~/own"})
        assert len({(await each.home())[0]["own"].data for each in (parent, *forks)}) == 3
        again = (await forks[0].fork())[0]  # with what was done in the fork
        assert (await again.home())[0]["own"].data == f"{id(forks[0])}\n".encode()

    with_computers(work, tmp_path, "replay")


@pytest.mark.parametrize(
    "command",
    ["head -c 8 /dev/urandom | od -A n -t x1", "head -c 8 /dev/urandom > secret; sleep 9 &"],
    ids=["said", "left"],
)
@pytest.mark.first(1)
def test_a_replay_that_comes_to_something_else_is_a_failure(tmp_path: Path, command: str) -> None:
    async def work(computers: Computers) -> None:
        computer = await computers.open()
        async with Shell(computer.machine) as shell:
            await shell.run(command)
            with pytest.raises(SandboxFailure, match="diverged"):
                await computer.fork(2)
            assert (await shell.run("echo on")).output == "on\n"
            assert [fork.origin for fork in await computer.fork(1, "files")] == ["files"]

    with_computers(work, tmp_path, "replay")


def test_programs_inside_cannot_take_the_guests_socket_away(tmp_path: Path) -> None:
    async def work(computers: Computers) -> None:
        computer = await computers.open()
        script = (
            "rm -rf /run/guest /run/agent/* 2>&1; mv /run/guest /tmp/x 2>&1; ls -la /run/guest 2>&1; rm -rf ~/* /tmp/*"
        )
        assert b"denied" in (await computer.machine.run(["sh", "-c", script])).stdout
        await computer.machine.client.close()
        assert (await computer.machine.run(["echo", "there"])).stdout == b"there\n"

    with_computers(work, tmp_path, "files")
