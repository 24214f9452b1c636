"""The daemon's wire, spoken by hand: what no adb would ever send, and the shell behind it."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator

import pytest

from tars_jax.sandbox.phone.stand_in.commands.command import CommandOutput
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.sandbox.phone.stand_in.packets import CLSE, CNXN, HEAD, OKAY, OPEN, VERSION, WRTE, Packet
from tars_jax.sandbox.phone.stand_in.server import StandIn
from tars_jax.sandbox.phone.stand_in.shell import run


@pytest.fixture(scope="module")
def phone() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


class Wire:
    """A connection to the daemon."""

    def __init__(self, phone: StandIn, *, greet: bool = True) -> None:
        self.line = socket.create_connection(("127.0.0.1", phone.port), 10)
        if greet:
            self.send(Packet(CNXN, VERSION, 1 << 16, b"host::features=shell_v2"))
            assert self.receive().data.startswith(b"device::ro.product.name=stand_in;")

    def send(self, packet: Packet) -> None:
        self.line.sendall(packet.encode())

    def receive(self) -> Packet:
        command, first, second, length, _, magic = HEAD.unpack(self._exactly(HEAD.size))
        assert magic == command ^ 0xFFFFFFFF
        return Packet(command, first, second, self._exactly(length))

    def service(self, name: bytes) -> bytes:
        """What a service writes until it closes."""
        self.send(Packet(OPEN, 9, 0, name + b"\0"))
        written = b""
        while (packet := self.receive()).command != CLSE:
            if packet.command == WRTE:
                written += packet.data
                self.send(Packet(OKAY, 9, packet.first))
        return written

    def ended(self) -> bool:
        """Whether the daemon closes within some seconds, whatever it sends before."""
        try:
            while self.line.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass
        except TimeoutError:
            return False
        return True

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.line.recv(count - len(data))
            assert piece, "the daemon closed"
            data += piece
        return data


GREETING = Packet(CNXN, VERSION, 1 << 16, b"host::").encode()
BAD = {
    "text": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "wrong magic": HEAD.pack(CNXN, VERSION, 4096, 0, 0, 7),
    "endless packet": HEAD.pack(CNXN, VERSION, 4096, 0xFFFFFFFF, 0, CNXN ^ 0xFFFFFFFF),
    "no greeting": Packet(OPEN, 1, 0, b"shell:date\0").encode(),
    "two greetings": GREETING * 2,
    "unknown command": GREETING + HEAD.pack(0x41414141, 0, 0, 0, 0, 0x41414141 ^ 0xFFFFFFFF),
    "zeros": bytes(4096),
    "data without end before an acknowledgement": GREETING
    + Packet(OPEN, 1, 0, b"shell:sleep 5\0").encode()
    + Packet(WRTE, 1, 1, bytes(256 << 10)).encode() * 17,
    "tls": GREETING + Packet(int.from_bytes(b"STLS", "little"), 1, 0).encode(),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_adb_ends_its_own_connection_alone(phone: StandIn, name: str) -> None:
    other = Wire(phone)
    bad = Wire(phone, greet=False)
    bad.line.sendall(BAD[name])
    assert bad.ended()
    assert other.service(b"exec:echo still here") == b"still here\n"


@pytest.mark.parametrize("cut", [1, 10, 23, 25])
def test_a_packet_that_ends_in_the_middle(phone: StandIn, cut: int) -> None:
    bad = Wire(phone, greet=False)
    bad.line.sendall(GREETING[:cut])
    bad.line.shutdown(socket.SHUT_WR)
    assert bad.ended()


def test_streams_that_there_are_not_and_streams_of_others(phone: StandIn) -> None:
    wire = Wire(phone)
    wire.send(Packet(WRTE, 5, 77, b"x"))
    assert (answer := wire.receive()).command == CLSE and answer.second == 5
    wire.send(Packet(OPEN, 0, 0, b"shell:date\0"))
    assert wire.receive().command == CLSE
    wire.send(Packet(OPEN, 3, 0, b"tcp:22\0"))
    assert (answer := wire.receive()).command == CLSE and answer.second == 3
    for name in (
        b"reboot:",
        b"root:",
        b"localabstract:x",
        b"",
        b"\xff\xfe",
        b"shelly:x",
        b"reverse:forward:tcp:1;tcp:2",
    ):
        assert wire.service(name) == b""
    assert wire.service(b"exec:pwd") == b"/\n"


def test_as_many_streams_as_there_may_be_and_no_more(phone: StandIn) -> None:
    wire = Wire(phone)
    for number in range(1, 101):
        wire.send(Packet(OPEN, number, 0, b"shell:cat\0"))
    answers = [wire.receive().command for _ in range(100)]
    assert answers.count(OKAY) == 64 and answers.count(CLSE) == 36
    wire.line.close()
    assert Wire(phone).service(b"exec:pwd") == b"/\n"


def test_a_client_that_leaves_in_the_middle_of_a_command(phone: StandIn) -> None:
    wire = Wire(phone)
    wire.send(Packet(OPEN, 1, 0, b"exec:screencap\0"))
    wire.receive()
    wire.line.close()
    assert Wire(phone).service(b"exec:pwd") == b"/\n"


def test_a_slow_command_holds_up_no_other_stream(phone: StandIn) -> None:
    wire, other = Wire(phone), Wire(phone)
    wire.send(Packet(OPEN, 1, 0, b"exec:sleep 600\0"))
    assert other.service(b"exec:pwd") == b"/\n"
    wire.line.close()


@pytest.mark.parametrize(
    "request_",
    [
        b"SEND" + struct.pack("<I", 5000),
        b"XXXX" + struct.pack("<I", 0),
        b"RECV" + struct.pack("<I", 4) + b"/non",
    ],
)
def test_bad_requests_for_files_are_answered(phone: StandIn, request_: bytes) -> None:
    wire = Wire(phone)
    wire.send(Packet(OPEN, 9, 0, b"sync:\0"))
    opened = wire.receive()
    wire.send(Packet(WRTE, 9, opened.first, request_))
    while (packet := wire.receive()).command != WRTE:
        pass
    assert packet.data.startswith(b"FAIL")
    assert Wire(phone).service(b"exec:pwd") == b"/\n"


LINES = {
    "echo 'a  b'\"c d\"\\ e": (b"a  bc d e\n", 0),
    "echo one; echo two": (b"one\ntwo\n", 0),
    "false && echo no || echo yes": (b"yes\n", 0),
    "false; echo $?": (b"1\n", 0),
    "echo '$?' \"$?\"": (b"$? 0\n", 0),
    "echo hi > '/sdcard/a b ä'; cat '/sdcard/a b ä'": (b"hi\n", 0),
    "echo hi > /sdcard/n; echo ho >> /sdcard/n; cat < /sdcard/n": (b"hi\nho\n", 0),
    "echo x | base64 | base64 -d": (b"x\n", 0),
    "ls /nowhere 2>/dev/null; echo $?": (b"1\n", 0),
    "nosuch 2>&1": (b"/system/bin/sh: nosuch: inaccessible or not found\n", 127),
    "cat /../../etc/passwd": (b"", 1),
    "echo $(id)": (b"", 1),
    "echo 'open": (b"", 1),
    "| |": (b"", 1),
    "echo >": (b"", 1),
    "": (b"", 0),
    "exit 3; echo no": (b"", 3),
    "input tap 1": (b"", 255),
    "input tap nan nan": (b"", 0),
    "input text": (b"", 255),
    "settings put nowhere a b": (b"", 1),
    "settings get system nothing": (b"null\n", 0),
    "getprop tars_jax.stand_in": (b"1\n", 0),
    "setprop ro.product.model Pixel; getprop ro.product.model": (b"Stand-in\n", 0),
    "content query --uri content://settings/global --projection value --where name=wifi_on": (b"Row: 0 value=1\n", 0),
    "content query --uri content://settings/global --where 'name LIKE x'": (b"", 1),
    "wm size 99999x2": (b"", 1),
    "am start -n no.such/.App": (b"", 1),
}


@pytest.mark.parametrize("line", LINES)
def test_lines_of_the_shell(line: str) -> None:
    async def nothing() -> bytes:
        return b""

    result: CommandOutput = asyncio.run(run(StandInDevice(), line, nothing))
    assert (result.stdout, result.status) == LINES[line], result.stderr
    assert (result.status == 0) or result.stderr or "2>&1" in line or "exit" in line
