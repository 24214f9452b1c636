"""A computer without a network reaches one address outside, and nothing else."""

from __future__ import annotations

import asyncio
import os

import pytest

from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.forwarding import PortForward

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
SEND = """
import socket, sys, threading
def talk(number):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer:
        said = bytes([97 + number]) * 300_000
        threading.Thread(target=lambda: (peer.sendall(said), peer.shutdown(socket.SHUT_WR))).start()
        heard = b""
        while piece := peer.recv(1 << 16):
            heard += piece
        assert heard == said.upper(), (number, len(heard))
threads = [threading.Thread(target=talk, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("done")
"""


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data.upper())
        await writer.drain()
    writer.close()


@pytest.mark.parametrize("kind", ["auto", "none"])
def test_many_connections_lead_out_and_back(kind: str) -> None:
    async def live() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with Computers(kind) as computers:
            machine = (await computers.open()).machine
            async with PortForward(machine, "127.0.0.1", port) as forward:
                ran = await machine.run([machine.python, "-c", SEND, str(forward.port)])
                assert ran.stdout == b"done\n", ran
                if kind != "none":
                    direct = await machine.run([machine.python, "-c", SEND, str(port)])
                    assert b"ConnectionRefusedError" in direct.stderr
                again = await machine.run([machine.python, "-c", SEND, str(forward.port)])
                assert again.stdout == b"done\n", again
            gone = await machine.run([machine.python, "-c", SEND, str(forward.port)])
            assert b"ConnectionRefusedError" in gone.stderr
        server.close()

    asyncio.run(live())


def test_what_nobody_answers_is_closed_and_a_kill_ends_it() -> None:
    async def live() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        async with Computers() as computers:
            computer = await computers.open()
            async with PortForward(computer.machine, "127.0.0.1", port) as forward:
                ask = f"import socket; print(socket.create_connection(('127.0.0.1', {forward.port})).recv(9))"
                ran = await computer.machine.run([computer.machine.python, "-c", ask])
                assert ran.stdout == b"b''\n", ran
                await computer.close()

    asyncio.run(live())
