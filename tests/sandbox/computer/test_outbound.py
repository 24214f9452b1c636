"""The way out of a computer: allowed hosts and no other, also after programs inside have closed it."""

from __future__ import annotations

import asyncio
import http.server
import os
import threading
from collections.abc import Iterator

import pytest

from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.outbound import Outbound
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.web.network import Hosts

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


async def ask(computer: Computer, outbound: Outbound, address: str) -> str:
    """What curl says; the status where it is refused."""
    script = f"curl -s -m 20 -w '%{{http_code}}' --noproxy '' {address}"
    ran = await computer.machine.run(["sh", "-c", script], env=await outbound.variables())
    return ran.stdout.decode()


@pytest.mark.parametrize("root", [False, pytest.param(True, marks=pytest.mark.full)])
def test_programs_reach_what_is_allowed_now(port: int, root: bool) -> None:
    there = f"http://127.0.0.1:{port}/"

    async def live() -> None:
        async with Computers(forks="files") as computers:
            computer = await computers.open(ContainerSpec(root=root))
            async with Outbound(computer.machine, Hosts([f"127.0.0.1:{port}", "nowhere.invalid"])) as outbound:
                assert await ask(computer, outbound, there) == "hello\n200"
                assert await ask(computer, outbound, "http://localhost:1/") == "403"
                assert await ask(computer, outbound, "http://nowhere.invalid/") == "502"
                assert (await computer.machine.run(["curl", "-s", "-m", "5", there])).status == 7  # nothing by itself
                outbound.allow(Hosts([]))
                assert await ask(computer, outbound, there) == "403"
                outbound.allow(Hosts(["127.0.0.1"]))  # ports 80 and 443
                assert await ask(computer, outbound, there) == "403"
                outbound.allow(Hosts(["*"]))  # every public one
                assert await ask(computer, outbound, there) == "403"
                outbound.allow(Hosts([f"127.0.0.1:{port}"]))
                await computer.machine.run(["pkill", "-9", "-f", "forward.py"])
                await asyncio.sleep(0.2)
                assert await ask(computer, outbound, there) == "hello\n200"
                await computer.close()

    asyncio.run(live())
