"""The service as users start it, killed with computers in it: nothing of them stays, and who held them is told so."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.client import ComputerClient
from tests.sandbox.service.conftest import require_containers
from tests.sandbox.test_browser_service_chaos import free_port

pytestmark = [pytest.mark.multiprocess, pytest.mark.slow]
REPOSITORY = Path(__file__).parents[3]


def start_service(run: Path, port: int) -> subprocess.Popen[str]:
    service = subprocess.Popen(
        [
            sys.executable, "-P", "-m", "experiments", "sandbox_service", f"--config.run={run}",
            f"--config.port={port}", "--config.kinds=computer,",
        ],
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert service.stdout is not None
    while "Ctrl-C ends it" not in (line := service.stdout.readline()):
        assert line, service.communicate()[1]
    return service


def processes(word: str) -> list[int]:
    """Those with a word in their command lines, such as a number of seconds that nobody else sleeps."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_a_killed_service_leaves_no_computer_and_says_so(tmp_path: Path) -> None:
    require_containers()
    run, port = tmp_path / "run", free_port()
    nap = f"4{os.getpid()}"
    service = start_service(run, port)
    key = (run / "operator.key").read_text()

    async def use() -> None:
        nonlocal service
        async with ComputerClient(f"http://127.0.0.1:{port}", key, patience_s=120) as client:
            computers = [await client.open() for _ in range(2)]
            await computers[0].run(f"trap '' TERM HUP; sleep {nap} & disown")
            waiting = asyncio.create_task(computers[1].run(f"sleep {nap}", timeout_s=600))
            while len(processes(nap)) < 2:
                await asyncio.sleep(0.05)
            service.send_signal(signal.SIGKILL)
            service.wait()
            end = time.monotonic() + 60
            while processes(nap):
                assert time.monotonic() < end, "a program of a computer outlives the service"
                await asyncio.sleep(0.05)
            service = await asyncio.to_thread(start_service, run, port)
            with pytest.raises(SandboxFailure, match="container: the computer has ended with the service"):
                await waiting
            with pytest.raises(SandboxFailure, match="container"):
                await computers[0].run("echo")
            told = await computers[0].state()
            assert not told["live"] and told["failure"]["kind"] == "container"
            await computers[0].close()
            fresh = await client.open()
            assert (await fresh.run("echo fresh"))["output"] == "fresh\n"
        assert not list((run / "computers").glob("*.json"))

    try:
        asyncio.run(use())
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
    finally:
        service.kill()
        service.communicate()
