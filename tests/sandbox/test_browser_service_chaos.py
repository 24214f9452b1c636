"""The browser service as users start it, killed while a client plays: the client goes on, and no Chromium stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tars_jax.sandbox.browser import MouseDown, MouseUp, Site
from tars_jax.sandbox.browser.reaper import marked_processes
from tars_jax.sandbox.browser.service import BrowserClient
from tars_jax.sandbox.browser.sessions.store import read_run
from tests.ports import free_port
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
REPOSITORY = Path(__file__).parents[2]
PAGE = """<body><pre id=shown></pre><script>let clicks = 0; addEventListener('click', () => {
  clicks += 1; shown.textContent = `${clicks} ${Math.random()} ${performance.now()}`; });</script>"""
CLICK = (MouseDown(30, 60), MouseUp(30, 60))


def start_service(run: Path, port: int, site: Path) -> subprocess.Popen[str]:
    service = subprocess.Popen(
        [
            sys.executable, "-P", "-m", "experiments", "sandbox_service", f"--config.run={run}",
            f"--config.port={port}", f"--config.roots={site}", "--config.browser.width=96",
            "--config.browser.height=96", "--config.browser.call_seconds=60",
        ],
        cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert service.stdout is not None
    while "Ctrl-C ends it" not in (line := service.stdout.readline()):
        assert line, service.communicate()[1]
    return service


def test_a_killed_service_goes_on_where_it_was(laboratory: Any, tmp_path: Path) -> None:
    site, run = laboratory.site(PAGE).root, tmp_path / "run"
    port = free_port()
    service = start_service(run, port, site)
    key = (run / "operator.key").read_text()
    assert (run / "operator.key").stat().st_mode & 0o077 == 0

    async def play() -> None:
        nonlocal service
        async with BrowserClient(f"http://127.0.0.1:{port}", key, patience_s=120) as client:
            pages = [await client.open_page(Site(site)) for _ in range(2)]
            for page in pages:
                await page.start("0", seed=5)
            seen = [await page.act(CLICK, advance_ms=40, read="clicks") for page in pages]
            token, _ = read_run(run / "sessions")
            for pid in marked_processes(f"{token}.1"):  # its browser
                os.kill(pid, signal.SIGKILL)
            again = [await page.act([], advance_ms=0, read="clicks") for page in pages]
            assert again == seen
            service.kill()
            service.wait()
            service = start_service(run, port, site)
            again = [await page.act([], advance_ms=0, read="clicks") for page in pages]
            assert again == seen
            assert (await pages[0].act(CLICK, advance_ms=40, read="clicks")).data == 2
            assert not marked_processes(token)
            stats = await client.request("GET", "/v1/stats")
            assert (stats["sessions"], stats["adopted"]) == (2, 2)

    try:
        laboratory.run(play())
        token, folder = read_run(run / "sessions")
        service.send_signal(signal.SIGTERM)
        out, errors = service.communicate(timeout=PATIENCE_S)
        complaints = [line for line in errors.splitlines() if "no computers here" not in line]  # where none can be
        assert (service.returncode, complaints) == (0, []) and "stopped" in out
        wait_until(lambda: not marked_processes(token))
        assert not marked_processes(token) and not folder.exists()
    finally:
        service.kill()
