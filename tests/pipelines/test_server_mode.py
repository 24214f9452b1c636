"""PPO through policy servers of ours: learner and servers are processes of their own, started as a user starts them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tars_jax.pipelines.checkout import ROOT
from tars_jax.training.metrics import read_metrics
from tars_jax.training.recorded_updates import read_updates
from tars_jax.trajectory.files import load_trajectory
from tests.pipelines.test_brought import ECHO, TINY
from tests.ports import free_port
from tests.waiting import wait_until

KEY = "sesame"
SERVE = (
    "checkpoint=nano", "engine.slots=4", "engine.max_length=160", "engine.row_buckets=4,",
    "engine.length_buckets=32,160", "engine.image_buckets=1,", "engine.top_logprobs=0", "engine.penalties=False",
    "engine.biases=0", "constraints=()",
)  # fmt: skip
UPDATES, BATCH = 4, 8
Start = Callable[..., "Process"]
pytestmark = [pytest.mark.multiprocess, pytest.mark.slow, pytest.mark.timeout(900)]


class Process:
    """An experiment, and what it has said."""

    def __init__(self, experiment: str, *flags: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "experiments", experiment, *(f"--config.{flag}" for flag in flags)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def says(self, words: str) -> None:
        """Waits for it."""
        wait_until(lambda: any(words in line for line in list(self.said)) or self._process.poll() is not None)
        self._reader.join(0 if self._process.poll() is None else None)
        assert any(words in line for line in self.said), "".join(self.said)

    def kill(self) -> None:
        """At once, with all that it holds."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def ends_well(self) -> None:
        assert self._process.wait() == 0, "".join(self.said)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.said.append(line)


@pytest.fixture
def start() -> Iterator[Start]:
    """start(experiment, flag, ...): a process that does not outlive the test."""
    with contextlib.ExitStack() as stack:

        def begin(experiment: str, *flags: str) -> Process:
            process = Process(experiment, *flags)
            stack.callback(process.kill)
            return process

        yield begin


def ask(port: int, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {KEY}"}, timeout=60)


def sampled(port: int) -> int:
    lines = ask(port, "/metrics").text.splitlines()
    (line,) = (line for line in lines if line.startswith("tars_jax_engine_tokens_sampled_total"))
    return int(float(line.split()[-1]))


def test_two_servers_of_which_one_is_killed_for_good_and_one_comes_back(start: Start, tmp_path: Path) -> None:
    """Every episode is used once, and nothing is sampled with weights that are not the run's."""
    run, key, ports = tmp_path / "run", tmp_path / "key", (free_port(), free_port())
    key.write_text(f"{KEY}\n")

    def serve(port: int, name: str) -> Process:
        return start("serve", *SERVE, f"port={port}", f"run={tmp_path / name}", f"api_key_file={key}")

    servers = [serve(port, f"serve-{port}") for port in ports]
    for server in servers:
        server.says("/v1/rl")
    learner = start(
        "train", *TINY, f"run={run}", f"environment={ECHO}", "demonstrations.episodes=0", f"ppo.updates={UPDATES}",
        f"ppo.min_batch={BATCH}", "engine.max_new_tokens=20", "server.form=tars_jax", f"server.api_key_file={key}",
        f"server.address=http://127.0.0.1:{ports[0]},http://127.0.0.1:{ports[1]}/v1",
    )  # fmt: skip
    learner.says(f"1/{UPDATES} updates")
    assert all(sampled(port) for port in ports)
    for server in servers:
        server.kill()
    serve(ports[0], "again").says("/v1/rl")
    learner.ends_well()
    assert sampled(ports[0]) and ask(ports[0], "/v1/rl/policy").json()["weights"]

    consumed = [number for update in read_updates(run / "updates.json").episodes for number in update]
    assert len(consumed) == len(set(consumed)) == UPDATES * BATCH
    rows = [row for row in read_metrics(run / "metrics.jsonl") if row.stage == "ppo"]
    assert [row.step for row in rows] == list(range(1, UPDATES + 1))
    played = [load_trajectory(path) for path in (run / "trajectories" / "ppo").glob("*.trajectory")]
    assert all(each.outcome.carries_reward for each in played)
    versions = {int(v) for each in played for window in each.windows for v in window.versions[window.action_mask]}
    assert versions <= set(range(UPDATES + 1)) and max(versions) >= UPDATES - 2  # as staleness allows


def test_what_a_server_refuses_is_one_sentence(start: Start, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(f"{KEY}\n")
    port = free_port()
    start("serve", *SERVE, f"port={port}", f"run={tmp_path / 'serve'}", f"api_key_file={key}").says("/v1/rl")
    common = (*TINY, f"environment={ECHO}", "demonstrations.episodes=0", "engine.max_new_tokens=20",
              "server.form=tars_jax", f"server.address=http://127.0.0.1:{port}")  # fmt: skip
    learner = start("train", *common, f"run={tmp_path / 'a'}")
    learner.says(f"server.api_key_file must be one that http://127.0.0.1:{port} accepts; got another")
    learner = start("train", *common, f"run={tmp_path / 'b'}", f"server.api_key_file={key}", "engine.max_length=161")
    learner.says("must have --config.engine.max_length=161 or more; got 160")
