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
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.remote import RemoteComputer
from tars_jax.sandbox.desktop.settling import Settle
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.files import Files

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
    process.wait(20)
    process.stdout.close()


def test_programs(guest: tuple[int, Path]) -> None:
    async def live() -> None:
        async with RemoteComputer("127.0.0.1", guest[0], TOKEN) as computer:
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
            with pytest.raises(InputError, match="argv must name a program that can be started; got 'no such'"):
                await machine.start(["no such"])
            with pytest.raises(GuestError, match="process must be one that was started here"):
                await machine.wait(1)

    asyncio.run(live())


def test_files(guest: tuple[int, Path]) -> None:
    async def live() -> None:
        async with RemoteComputer("127.0.0.1", guest[0], TOKEN) as computer:
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
        async with RemoteComputer("127.0.0.1", guest[0], TOKEN) as computer:
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
                await RemoteComputer("127.0.0.1", guest[0], wrong).__aenter__()

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
        async with RemoteComputer("127.0.0.1", listener.getsockname()[1], TOKEN) as computer:
            events: list[InputEvent] = [MouseMove(2000, 800), MouseDown(2000, 800), InsertText("Grüße 😀")]
            shown = await computer.act(events, settle=Settle(first_ms=50, quiet_ms=0, bound_ms=5000))
            assert shown.size == (2100, 900) and tuple(shown.pixels[800, 2000]) == (3, 2, 1)
            assert shown.pixels.sum() == 6 and screen.typed == "Grüße 😀"
            with pytest.raises(InputError, match="key must be one of a keyboard"):
                await computer.act([KeyDown("Hyper")])

    asyncio.run(live())
    listener.close()
    with pytest.raises(SandboxFailure, match="the guest is gone"):
        asyncio.run(RemoteComputer("127.0.0.1", 1, TOKEN).__aenter__())
