"""The policy is a server's: the server is killed and comes back, its client is killed and resumes."""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from tars_jax.trajectory import Outcome
from tars_jax.trajectory.files import load_trajectory
from tests.ports import free_port
from tests.waiting import wait_until

SECONDS = 540  # before something counts as hung
pytestmark = [pytest.mark.browser, pytest.mark.multiprocess, pytest.mark.timeout(2 * SECONDS)]
ROOT = pathlib.Path(__file__).parents[2]
RUN = pathlib.Path(__file__).with_name("chaos_run.py")
UPDATES, BATCH = 5, 4


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """start(argument, ...): chaos_run.py with these, which does not outlive the test."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, str(RUN), *map(str, arguments)]
        started.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def wait_for(what: Callable[[], bool], words: str) -> None:
    assert wait_until(what), words


def open_sessions(url: str) -> int:
    text = httpx.get(f"{url}/metrics").text
    line = next(line for line in text.splitlines() if line.startswith("tars_jax_engine_sessions"))
    return int(float(line.split()[-1]))


@pytest.mark.full
def test_a_killed_server_and_a_killed_client_cost_time_only(
    chaos_seed: int, start: Callable[..., subprocess.Popen[str]], tmp_path: pathlib.Path
) -> None:
    rng = random.Random(chaos_seed)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    folder = tmp_path / "run"
    folder.mkdir()
    stored = (folder / "pool").glob
    server = start(port)
    assert server.stdout and server.stdout.readline() == "serving\n"
    client = start(folder, UPDATES, BATCH, 0, url)
    victims = ["server", "client", "server"]
    rng.shuffle(victims)
    for victim, moment in zip(victims, sorted(rng.sample(range(1, UPDATES * BATCH - BATCH), 3)), strict=True):
        wait_for(lambda moment=moment: len(list(stored("*.trajectory"))) >= moment, "the run stands still")  # type: ignore[misc]
        time.sleep(rng.uniform(0, 0.3))
        hurt = server if victim == "server" else client
        hurt.send_signal(signal.SIGKILL)
        hurt.communicate()
        if victim == "server":
            time.sleep(rng.uniform(0, 1))
            server = start(port)
        else:
            client = start(folder, UPDATES, BATCH, 0, url)
    client.communicate(timeout=SECONDS)
    assert client.returncode == 0
    # The last kill may have come when all was played: then nobody has waited for the server that stands there now.
    assert server.stdout and server.stdout.readline() == "serving\n"

    trained = json.loads((folder / "checkpoint.json").read_text())["trained"]
    numbers = [int(id.split("-")[0]) for batch in trained for id in batch]
    assert sorted(numbers) == list(range(UPDATES * BATCH))
    for trajectory in map(load_trajectory, stored("*.trajectory")):
        assert trajectory.outcome.carries_reward and trajectory.metadata["infrastructure_failures"] == []
        if int(trajectory.id.split("-")[0]) % 2 == 0:
            assert (trajectory.outcome, trajectory.reward) == (Outcome.FINISHED, 1.0)
    wait_for(lambda: open_sessions(url) == 0, "sessions of a killed client stay")  # the lease is 10 seconds


@pytest.mark.full
def test_a_server_that_stays_away_ends_the_run_which_goes_on_when_it_is_back(
    start: Callable[..., subprocess.Popen[str]],
    tmp_path: pathlib.Path,
    descendants: Callable[[int], dict[int, bytes]],
) -> None:
    port, updates = free_port(), 2
    arguments = (tmp_path, updates, BATCH, 0, f"http://127.0.0.1:{port}", 2.0)
    stored = (tmp_path / "pool").glob
    server = start(port)
    assert server.stdout and server.stdout.readline() == "serving\n"
    client = start(*arguments)
    wait_for(lambda: len(list(stored("*.trajectory"))) >= 3, "the run stands still")
    browsers = descendants(client.pid).keys()
    server.kill()
    assert client.wait(timeout=60) != 0
    assert browsers and not browsers & descendants(1).keys()
    kept = {file.name: file.stat().st_mtime_ns for file in stored("*.trajectory")}
    assert 3 <= len(kept) < updates * BATCH

    server = start(port)
    assert server.stdout and server.stdout.readline() == "serving\n"
    assert start(*arguments).wait(timeout=SECONDS) == 0
    assert {name: (tmp_path / "pool" / name).stat().st_mtime_ns for name in kept} == kept
    trained = json.loads((tmp_path / "checkpoint.json").read_text())["trained"]
    assert sorted(int(id.split("-")[0]) for batch in trained for id in batch) == list(range(updates * BATCH))
