"""The guest as a plain process, called over its socket: programs, streams, and what it must survive."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.guest import frames
from tars_jax.sandbox.computer.guest_client import GuestClient, GuestError, connect_to, peer_of
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.failures import SandboxFailure
from tests.waiting import PATIENCE_S, until, wait_until

pytestmark = pytest.mark.multiprocess


def with_guest(folder: Path, work: Callable[[LocalGuest, GuestMachine], Awaitable[None]]) -> None:
    async def live() -> None:
        async with LocalGuest(folder, folder / "guest socket") as guest:
            await work(guest, guest.machine)

    asyncio.run(live())


def memory_kib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_programs_start_end_and_are_killed(tmp_path: Path) -> None:
    async def work(_: LocalGuest, machine: GuestMachine) -> None:
        said = await machine.start(
            ["sh", "-c", "pwd; echo $WORD; echo wrong >&2; exit 3"],
            env={"WORD": "a ö"},
            output=str(tmp_path / "out put"),
        )
        assert await machine.wait(said) == 3
        assert await machine.wait(said) == 3  # and whoever asks later
        assert (tmp_path / "out put").read_text() == f"{tmp_path}\na ö\nwrong\n"
        slow = await machine.start(["sh", "-c", "sleep 60 & wait"], cwd="/")
        assert await machine.wait(slow, timeout_s=0.05) is None
        await machine.kill(slow, signal.SIGTERM)
        assert await machine.wait(slow) == -signal.SIGTERM
        await machine.kill(slow)
        with pytest.raises(GuestError, match="argv must name a program that can be started; got 'no-such'"):
            await machine.start(["no-such"])
        with pytest.raises(GuestError, match="cwd must be a folder; got '/no/such'"):
            await machine.start(["true"], cwd="/no/such")
        with pytest.raises(GuestError, match="output must be a file that can be written"):
            await machine.start(["true"], output="/no/such")
        with pytest.raises(GuestError, match="process must be one that was started here; got 1"):
            await machine.wait(1)
        await machine.kill(os.getpid())  # not one of its own: nothing happens

    with_guest(tmp_path, work)


def test_a_program_that_ignores_signals_is_killed_when_its_time_is_over(tmp_path: Path) -> None:
    async def work(_: LocalGuest, machine: GuestMachine) -> None:
        ran = await machine.run(
            ["sh", "-c", "trap '' INT TERM HUP; echo begun; while :; do sleep 1; done"], timeout_s=0.5
        )
        assert (ran.timed_out, ran.status, ran.stdout) == (True, -signal.SIGKILL, b"begun\n")

    with_guest(tmp_path, work)


def test_output_of_a_program_is_bytes_and_bounded(tmp_path: Path) -> None:
    async def work(guest: LocalGuest, machine: GuestMachine) -> None:
        every = bytes(range(256)) * 3
        ran = await machine.run(["sh", "-c", "cat; echo wrong >&2; exit 7"], every)
        assert (ran.status, ran.stdout, ran.stderr) == (7, every, b"wrong\n")
        ran = await machine.run(["sh", "-c", "seq 1 200000; echo end >&2"], limit=1000, merge=True)
        assert (
            ran.stdout.startswith(b"1\n2\n3\n") and ran.stdout.endswith(b"\n200000\nend\n") and len(ran.stdout) == 1000
        )
        assert ran.stdout_cut == len("".join(f"{number}\n" for number in range(1, 200001))) + 4 - 1000
        before = memory_kib(guest.process.pid)
        ran = await machine.run(["head", "-c", "200000000", "/dev/zero"])
        assert ran.stdout_cut == 200_000_000 - (1 << 20)
        assert memory_kib(guest.process.pid) < before + 20_000
        ran = await machine.run(["sh", "-c", "sleep 60 & echo parent"])  # who holds the pipe is not waited for
        assert ran.stdout == b"parent\n"

    with_guest(tmp_path, work)


def test_what_a_program_leaves_in_the_background_goes_on_and_one_whose_caller_leaves_ends(tmp_path: Path) -> None:
    async def work(_: LocalGuest, machine: GuestMachine) -> None:
        writes = "(for i in 1 2 3 4; do sleep 0.1; seq 20000; seq 20000 >&2; done; touch lived) & test -c /dev/stdin"
        assert (await machine.run(["sh", "-c", writes])).status == 0  # without input, it has none
        assert await until(lambda: (tmp_path / "lived").exists())  # though nobody hears it
        waiting = asyncio.create_task(machine.run(["sh", "-c", "touch begun; sleep 61.5 & sleep 61.5"]))
        await until(lambda: (tmp_path / "begun").exists())
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        sleeping = ["sh", "-c", "grep -lsz '61[.]5' /proc/[0-9]*/cmdline"]
        assert not (await machine.run(sleeping)).stdout

    with_guest(tmp_path, work)


def test_a_program_may_write_as_much_as_its_caller_takes(tmp_path: Path) -> None:
    async def work(_: LocalGuest, machine: GuestMachine) -> None:
        both = ["sh", "-c", "head -c 16777216 /dev/zero; head -c 16777217 /dev/zero >&2"]
        ran = await machine.run(both, limit=16 << 20)
        assert (len(ran.stdout), ran.stdout_cut, len(ran.stderr), ran.stderr_cut) == (16 << 20, 0, 16 << 20, 1)
        with pytest.raises(GuestError, match="limit must be a whole number from 2 to 16777216; got 16777217"):
            await machine.run(both, limit=(16 << 20) + 1)

    with_guest(tmp_path, work)


def test_orphans_are_reaped(tmp_path: Path) -> None:
    async def work(guest: LocalGuest, machine: GuestMachine) -> None:
        await machine.run(["sh", "-c", "for i in 1 2 3 4 5; do (setsid sleep 0.1 &) ; done"])
        children = Path(f"/proc/{guest.process.pid}/task/{guest.process.pid}/children")
        assert await until(lambda: not children.read_text().strip())

    with_guest(tmp_path, work)


def test_streams_lead_to_ports_sockets_and_programs(tmp_path: Path) -> None:
    async def work(_: LocalGuest, machine: GuestMachine) -> None:
        async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write((await reader.read()).upper())
            writer.close()

        path = str(tmp_path / "ö socket")
        server = await asyncio.start_server(shout, "127.0.0.1", 0)
        await asyncio.start_unix_server(shout, path)
        port = server.sockets[0].getsockname()[1]
        text = b"abc" * 500_000  # more than any buffer holds
        for target in (port, path):
            reader, writer = await machine.connect(target)
            writer.write(text)
            writer.write_eof()
            assert await reader.read() == text.upper()
            writer.close()
        pid, (reader, writer) = await machine.pipe(["cat"])
        writer.write(b"line\n")
        assert await reader.readline() == b"line\n"
        writer.close()
        assert await machine.wait(pid) == 0
        server.close()
        await server.wait_closed()
        for nowhere in (port, str(tmp_path / "nothing")):
            with pytest.raises(GuestError, match="nothing answers at"):
                await machine.connect(nowhere)
        with pytest.raises(GuestError, match="argv must name a program"):
            await machine.pipe(["no-such"])

    with_guest(tmp_path, work)


def test_many_calls_at_once_come_back_to_whom_they_belong(tmp_path: Path) -> None:
    async def work(_: LocalGuest, machine: GuestMachine) -> None:
        async def one(number: int) -> None:
            ran = await machine.run(["sh", "-c", f"sleep 0.0{number % 7}; echo {number}"])
            assert ran.stdout == b"%d\n" % number

        await asyncio.gather(*(one(number) for number in range(40)))

    with_guest(tmp_path, work)


def test_what_is_no_call_is_answered_or_ends_the_connection_only(tmp_path: Path) -> None:
    async def work(guest: LocalGuest, machine: GuestMachine) -> None:
        token = guest._token
        hello = frames.pack({"id": 1, "call": "hello", "token": token})

        async def answers(sent: bytes, read_after: float = 0.0) -> bytes:
            reader, writer = await asyncio.open_connection(sock=await connect_to(guest.socket))
            writer.write(sent)
            writer.write_eof()
            await asyncio.sleep(read_after)
            received = await asyncio.wait_for(reader.read(), PATIENCE_S)
            writer.close()
            return received

        def raw(text: bytes) -> bytes:
            return frames.HEAD.pack(len(text), 0) + text

        assert b'"version":1' in await answers(hello)
        for text in (b"", b"nonsense", b"[1]", b"\xff\xfe", b"[" * 100_000):
            assert b"a call must be" in await answers(hello + raw(text)), text[:20]
        assert b"call must be text" in await answers(hello + raw(b'{"id": 2, "call": ["x"]}'))
        assert b"call must be one of" in await answers(hello + raw(b'{"id": 2, "call": "x"}'))
        assert (await answers(hello * 2000, read_after=0.2)).count(b'"version"') == 2000
        assert b"an argument of start must be one of" in await answers(
            hello + raw(b'{"id":2,"call":"start","argw":[]}')
        )
        for wrong in ({"argv": "ls"}, {"argv": ["ls\0"]}, {"argv": ["ls"], "env": {"a=b": "c"}}, {"argv": ["\ud800"]}):
            assert b'"error"' in await answers(hello + frames.pack({"id": 2, "call": "start", **wrong}))
        assert b"a frame must have" in await answers(hello + frames.HEAD.pack(1 << 31, 0))
        assert len(await answers(hello[:5])) == 0
        assert len(await answers(hello + hello[:-3])) > 0
        # Without the token nothing is done.
        for stranger in ({"call": "hello"}, {"call": "hello", "token": "x" * 32}, {"call": "end"}, {"call": "start"}):
            assert b"the first call must be hello" in await answers(frames.pack({"id": 1, **stranger}))
        strangers = [await connect_to(guest.socket) for _ in range(100)]  # and nobody holds all descriptors
        assert (await machine.run(["echo", "fine"])).stdout == b"fine\n"
        for each in strangers:
            each.close()
        assert peer_of(await connect_to(guest.socket)) == os.getpid()  # it listens on our descriptor here

    with_guest(tmp_path, work)


def test_a_connection_that_breaks_is_made_again(tmp_path: Path) -> None:
    async def work(_: LocalGuest, machine: GuestMachine) -> None:
        slow = await machine.start(["sleep", "60"])
        waiting = asyncio.create_task(machine.wait(slow))
        await asyncio.sleep(0.1)
        assert machine.client._writer is not None
        machine.client._writer.close()
        with pytest.raises(SandboxFailure, match="guest: the guest is gone"):
            await waiting
        assert await machine.wait(slow, 0.01) is None  # on a new connection; the program has not noticed
        await machine.kill(slow)
        assert await machine.wait(slow) == -signal.SIGKILL

    with_guest(tmp_path, work)


def test_a_guest_that_is_killed_or_stopped_is_a_failure_of_the_sandbox(tmp_path: Path) -> None:
    async def work(guest: LocalGuest, machine: GuestMachine) -> None:
        guest.process.send_signal(signal.SIGSTOP)
        with pytest.raises(SandboxFailure, match="timeout: the guest did not answer hello in 0.2 s"):
            await machine.client.call("hello", patience_s=0.2)
        guest.process.send_signal(signal.SIGCONT)
        child = await machine.start(["sleep", "60"])
        waiting = asyncio.create_task(machine.wait(child))
        await asyncio.sleep(0.1)
        guest.process.kill()
        with pytest.raises(SandboxFailure, match="guest: the guest is gone"):
            await waiting
        with pytest.raises(SandboxFailure, match="guest: the guest is gone"):
            await machine.start(["true"])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)

    with_guest(tmp_path, work)


def test_a_guest_ends_with_its_owner_that_is_killed(tmp_path: Path) -> None:
    script = """
import asyncio, sys
from pathlib import Path
from tars_jax.sandbox.computer.local_guest import LocalGuest

async def live():
    async with LocalGuest(Path(sys.argv[1]), Path(sys.argv[1], "s")) as guest:
        print(guest.process.pid, await guest.machine.start(["sleep", "600"]), flush=True)
        await asyncio.sleep(600)

asyncio.run(live())
"""
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        guest, program = (int(word) for word in owner.stdout.readline().split())
        owner.kill()
    assert wait_until(lambda: not (Path(f"/proc/{guest}").exists() or Path(f"/proc/{program}").exists()))


def test_a_program_that_listens_in_the_guest_s_place_is_refused(tmp_path: Path) -> None:
    async def live() -> None:
        with socket.socket(socket.AF_UNIX) as liar:
            liar.bind(str(tmp_path / "liar"))
            liar.listen()
            client = GuestClient(lambda: connect_to(tmp_path / "liar"), "the token", pid=1)
            with pytest.raises(SandboxFailure, match="another program listens in its place"):
                await client.call("hello")

    asyncio.run(live())


@pytest.mark.skipif(os.geteuid() != 0, reason="a program of another user needs root")
def test_programs_run_as_the_user_and_cannot_reach_the_guest(tmp_path: Path) -> None:
    async def live() -> None:
        os.chmod(tmp_path, 0o755)
        home = tmp_path / "home"
        home.mkdir()
        os.chown(home, 1000, 1000)
        for folder in tmp_path.parents:
            if folder.stat().st_uid == 0 and str(folder).startswith("/tmp/"):
                os.chmod(folder, 0o755)
        async with LocalGuest(home, tmp_path / "s", python="/usr/bin/python3", settings=["user=1000:1000"]) as guest:
            machine = guest.machine
            ran = await machine.run(["sh", "-c", "id -u; id -g; id -G; touch mine; echo $HOME"])
            assert ran.stdout.decode().split() == ["1000", "1000", "1000", str(home)]
            assert (home / "mine").stat().st_uid == 1000
            reach = f"kill -9 {guest.process.pid}; cat /proc/{guest.process.pid}/environ /proc/{guest.process.pid}/mem"
            assert (await machine.run(["sh", "-c", reach])).stdout == b""
            connecting = f"import socket; socket.socket(socket.AF_UNIX).connect({str(guest.socket)!r})"
            ran = await machine.run(["/usr/bin/python3", "-c", connecting])
            assert b"PermissionError" in ran.stderr
            with pytest.raises(GuestError, match="output must be a file that can be written"):
                await machine.start(["true"], output="/root/of-the-agent")

    asyncio.run(live())
