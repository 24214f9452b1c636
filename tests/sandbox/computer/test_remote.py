"""The guest for Windows, run here as what it is, a program of Python's own library; its screen is a stand-in."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection, create_server
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser.events import InputEvent, InsertText, KeyDown, MouseDown, MouseMove
from tars_jax.sandbox.computer.equipped.remote_guest import RemoteGuest
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.desktop import Settle
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.files import Files
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.multiprocess
GUEST = Path(__file__).parents[3] / "launch" / "windows_guest.py"
TOKEN = "a token of more than 16 letters"


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    home = tmp_path_factory.mktemp("home with ä")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUEST), "--port", "0", "--home", str(home)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "TARS_GUEST_TOKEN": TOKEN},
    )  # fmt: skip
    assert process.stdout is not None
    yield int(process.stdout.readline().rpartition(":")[2]), home
    process.terminate()
    process.wait(PATIENCE_S)
    process.stdout.close()


def test_programs(guest: tuple[int, Path]) -> None:
    async def live() -> None:
        async with RemoteGuest("127.0.0.1", guest[0], TOKEN) as computer:
            machine = computer.machine
            assert machine.home == str(guest[1])
            ran = await machine.run(["sh", "-c", "cat; echo é >&2; exit 3"], b"\0\xffplum")
            assert (ran.status, ran.stdout, ran.stderr) == (3, b"\0\xffplum", "é\n".encode())
            ran = await machine.run(["sh", "-c", "head -c 9000000 /dev/zero; echo end"], limit=1000)
            assert len(ran.stdout) == 1000 and ran.stdout.endswith(b"end\n") and ran.stdout_cut == 9_000_004 - 1000
            ran = await machine.run(["sleep", "60"], timeout_s=0.2)
            assert ran.timed_out and ran.status == -9
            ran = await machine.run(["sh", "-c", "echo $TARS_GUEST_TOKEN$X"], env={"X": "seen"})
            assert ran.stdout == b"seen\n"
            sleeper = await machine.start(["sh", "-c", "echo begun; sleep 60"], output=str(guest[1] / "log"))
            waiting = asyncio.create_task(machine.wait(sleeper))
            assert await machine.wait(sleeper, 0.3) is None  # while another call waits for it
            await machine.kill(sleeper)
            assert await waiting == -9 and (guest[1] / "log").read_text() == "begun\n"
            running = asyncio.create_task(machine.run(["sh", "-c", "echo $$ > running; sleep 60"]))
            await until(lambda: (guest[1] / "running").exists() and (guest[1] / "running").read_text())
            running.cancel()
            await ended(int((guest[1] / "running").read_text()))
            with pytest.raises(InputError, match="argv must name a program that can be started; got 'no such'"):
                await machine.start(["no such"])
            with pytest.raises(GuestError, match="process must be one that was started here"):
                await machine.wait(1)

    asyncio.run(live())


def test_a_shell_by_pipes_keeps_what_its_commands_leave(guest: tuple[int, Path]) -> None:
    async def live() -> None:
        async with RemoteGuest("127.0.0.1", guest[0], TOKEN) as computer, computer.shell("bash") as shell:
            ran = await shell.run("mkdir -p 'a ö'; cd 'a ö'; WORD='plum pie'\necho begun")
            assert (ran.output, ran.exit_code, ran.folder) == ("begun\n", 0, str(guest[1] / "a ö"))
            assert (await shell.run('echo "$WORD" é; (exit 3)')).output == "plum pie é\n"
            ran = await shell.run("head -c 3000000 /dev/zero | tr '\\0' y; false")
            assert ran.exit_code == 1 and len(ran.output) < 40_000 and "bytes cut" in ran.output
            ran = await shell.run("sh -c 'read -r line; echo got $line; sleep 60'", timeout_s=0.5)
            assert ran.exit_code is None and shell.running
            assert "got a pear" in (await shell.send("a pear\n")).output
            assert (await shell.interrupt(PATIENCE_S)).exit_code == 130 and not shell.running
            async with computer.shell("bash") as other:  # two at once, each its own
                assert (await other.run("echo $WORD.")).output == ".\n"
            assert (await shell.run("echo $WORD")).output == "plum pie\n"
            ran = await shell.run("exit 5")
            assert ran.ended and ran.exit_code == 5
            ran = await shell.run("pwd; echo ${WORD-none}")
            assert ran.restarted and ran.output == f"{guest[1]}\nnone\n"
            await shell.run("sleep 60", timeout_s=0.2)
            assert (await shell.kill(PATIENCE_S)).ended
            with pytest.raises(InputError, match="argv must name a program that can be started; got 'powershell'"):
                await computer.shell().open()
            with pytest.raises(InputError, match="kind of a shell must be one of powershell, pwsh, bash; got 'cmd'"):
                computer.shell("cmd")

    asyncio.run(live())


async def ended(process: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may be gone between any two steps
            while Path(f"/proc/{process}/cmdline").read_bytes():
                await asyncio.sleep(0.02)


def test_terminals_are_bounded_and_told_of(guest: tuple[int, Path]) -> None:
    async def live() -> None:
        async with RemoteGuest("127.0.0.1", guest[0], TOKEN) as computer:
            call = computer.client.call
            child = "sleep 60 & echo $! > child; echo end; exit 4"
            opened, _ = await call("open_terminal", argv=["sh", "-c", child])
            said = b""
            while True:  # its child holds the pipe, and does not hold up its end
                answer, data = await call("output", terminal=opened["terminal"], offset=len(said), timeout_s=5)
                said += data
                if answer["status"] is not None and not data:
                    break
            assert (said, answer["status"]) == (b"end\n", 4)
            with pytest.raises(GuestError, match="has ended"):
                await call("type", b"x", terminal=opened["terminal"])
            sleeper, _ = await call("open_terminal", argv=["sleep", "60"])
            for _ in range(16):
                await call("type", b"x" * 65_000, terminal=sleeper["terminal"])
            with pytest.raises(GuestError, match="does not read its input"):
                await call("type", b"x" * 65_000 * 3, terminal=sleeper["terminal"])
            await call("close_terminal", terminal=sleeper["terminal"])
            listed, _ = await call("terminals")
            assert sleeper["terminal"] not in [each["terminal"] for each in listed["terminals"]]
            with pytest.raises(GuestError, match="terminal must be one that is open"):
                await call("output", terminal=sleeper["terminal"])
            await call("close_terminal", terminal=opened["terminal"])
            await ended(int((guest[1] / "child").read_text()))

    asyncio.run(live())


def test_a_kernel_keeps_its_variables(guest: tuple[int, Path]) -> None:
    async def live() -> None:
        async with RemoteGuest("127.0.0.1", guest[0], TOKEN) as computer, await computer.kernel() as kernel:
            ran = await kernel.run("import os\nx = 'ä'\nprint(x, os.getcwd())\nx * 2")
            assert (ran.output, ran.result) == (f"ä {guest[1]}\n", "'ää'")
            assert "ZeroDivisionError" in (await kernel.run("1 / 0")).error
            ran = await kernel.run("import time\ntime.sleep(60)", timeout_s=0.5)
            assert ran.timed_out and "KeyboardInterrupt" in ran.error and not ran.restarted
            assert (await kernel.run("x")).result == "'ä'"
            ran = await kernel.run("os._exit(3)")
            assert ran.restarted and (await kernel.run("'x' in globals()")).result == "False"
            process = kernel.process
            assert process is not None
        await ended(process)  # the guest ends it behind the call

    asyncio.run(live())


def test_files(guest: tuple[int, Path]) -> None:
    async def live() -> None:
        async with RemoteGuest("127.0.0.1", guest[0], TOKEN) as computer:
            files = Files(computer.machine, str(guest[1]))
            await files.make_folder("new folder/ü")
            await files.write("new folder/ü/a.bin", b"\0\xff" * 10)
            assert await files.read("new folder/ü/a.bin") == b"\0\xff" * 10
            with pytest.raises(GuestError, match="there is one already"):
                await files.write("new folder/ü/a.bin", b"", new=True)
            await files.move("new folder/ü/a.bin", "b.bin")
            listed, whole = await files.list("new folder", depth=3)
            assert [entry.path for entry in listed] == ["ü"] and whole
            (guest[1] / "out").symlink_to("/etc")
            for path in ("../x", "/etc/passwd", "out/passwd"):
                with pytest.raises(GuestError, match="path must be below"):
                    await files.read(path)
            with pytest.raises(InputError, match="must be read by its guest"):
                computer.machine.host_path("/")

    asyncio.run(live())


def test_streams_and_tokens(guest: tuple[int, Path]) -> None:
    def echo() -> None:
        peer, _ = server.accept()
        with peer:
            while said := peer.recv(1 << 16):
                peer.sendall(said)

    server = create_server(("127.0.0.1", 0))
    threading.Thread(target=echo, daemon=True).start()

    async def live() -> None:
        async with RemoteGuest("127.0.0.1", guest[0], TOKEN) as computer:
            reader, writer = await computer.machine.connect(server.getsockname()[1])
            writer.write(b"plum" * 100_000)
            writer.write_eof()
            assert await reader.read() == b"plum" * 100_000
            writer.close()
            with pytest.raises(GuestError, match="nothing answers"):
                await computer.machine.connect(1)
            with pytest.raises(GuestError, match="this one is on linux"):
                await computer.screenshot()
        for wrong in ("", TOKEN + "x"):
            with pytest.raises(GuestError, match="with the token"):
                await RemoteGuest("127.0.0.1", guest[0], wrong).__aenter__()

    asyncio.run(live())
    server.close()
    for junk in (b"GET / HTTP/1.1\r\n\r\n" * 9, b"\xff" * 64, b"\0\0\0\x02\0\0\0\0[]"):
        with create_connection(("127.0.0.1", guest[0])) as peer:
            peer.settimeout(30)
            peer.sendall(junk)
            with contextlib.suppress(ConnectionResetError):
                assert peer.recv(100) == b""


def test_without_a_token_it_does_not_start() -> None:
    without = {name: value for name, value in os.environ.items() if name != "TARS_GUEST_TOKEN"}
    done = subprocess.run([sys.executable, str(GUEST), "--port", "0"], capture_output=True, text=True, env=without)
    assert done.returncode == 2 and "TARS_GUEST_TOKEN must be a word of 16 characters or more" in done.stderr


class Screen:
    """2,100 x 900, white where the mouse was pressed."""

    def __init__(self) -> None:
        self.pixels, self.typed = bytearray(2100 * 900 * 4), ""

    def shot(self) -> tuple[int, int, bytes]:
        return 2100, 900, bytes(self.pixels)

    def do(self, event: dict[str, Any]) -> None:
        if event["type"] == "down":
            at = 4 * (2100 * int(event["y"]) + int(event["x"]))
            self.pixels[at : at + 3] = b"\x01\x02\x03"
        self.typed += event.get("text", "")


def test_screen_and_input() -> None:
    spec = importlib.util.spec_from_file_location("windows_guest", GUEST)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    screen, listener = Screen(), create_server(("127.0.0.1", 0))
    guest = module.Guest(listener, TOKEN, "/", lambda: screen)
    threading.Thread(target=guest.serve, daemon=True).start()

    async def live() -> None:
        async with RemoteGuest("127.0.0.1", listener.getsockname()[1], TOKEN) as computer:
            events: list[InputEvent] = [MouseMove(2000, 800), MouseDown(2000, 800), InsertText("Grüße 😀")]
            shown = await computer.act(events, settle=Settle(first_ms=50, quiet_ms=0, bound_ms=5000))
            assert shown.size == (2100, 900) and tuple(shown.pixels[800, 2000]) == (3, 2, 1)
            assert shown.pixels.sum() == 6 and screen.typed == "Grüße 😀"
            with pytest.raises(InputError, match="key must be one of a keyboard"):
                await computer.act([KeyDown("Hyper")])

    asyncio.run(live())
    listener.close()
    with pytest.raises(SandboxFailure, match="the guest is gone"):
        asyncio.run(RemoteGuest("127.0.0.1", 1, TOKEN).__aenter__())
