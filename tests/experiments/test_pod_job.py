"""The main job in two processes, as the hosts of a pod run it: one is killed, both start again, all is used once."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import pytest

from tars_jax.training.atomic_directory import read_manifest
from tars_jax.training.checkpoint import Checkpoints
from tars_jax.training.metrics import read_metrics
from tests.experiments.test_main_job import TINY

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROCESSES = 2
TOGETHER = (*TINY, "--config.mesh.fsdp=2", "--config.browser.browsers=1", "--config.browser.pages=2")


def start(folder: pathlib.Path, *arguments: str) -> list[subprocess.Popen[bytes]]:
    """Both processes; what they say goes to FOLDER/said-NUMBER."""
    with socket.socket() as found:
        found.bind(("localhost", 0))
        port = found.getsockname()[1]
    environment = {
        **os.environ,
        "TARS_JAX_POD": "1",
        "JAX_COORDINATOR_ADDRESS": f"localhost:{port}",
        "JAX_NUM_PROCESSES": str(PROCESSES),
        "PYTHONUNBUFFERED": "1",
    }
    return [
        subprocess.Popen(
            [sys.executable, "-m", "experiments", *arguments],
            cwd=ROOT,
            env={**environment, "JAX_PROCESS_ID": str(number)},
            stdout=(folder / f"said-{number}").open("w"),
            stderr=subprocess.STDOUT,
        )
        for number in range(PROCESSES)
    ]


@pytest.mark.multiprocess
def test_what_takes_one_process_says_so_in_all(tmp_path: pathlib.Path) -> None:
    running = start(tmp_path, "on_device", f"--config.run={tmp_path / 'run'}")
    assert [process.wait(timeout=100) for process in running] == [2, 2]
    for number in range(PROCESSES):
        assert "on_device runs in one process, and there are 2" in (tmp_path / f"said-{number}").read_text()


@pytest.mark.full
@pytest.mark.browser
@pytest.mark.multiprocess
@pytest.mark.timeout(900)
@pytest.mark.parametrize("victim", range(PROCESSES))
def test_two_processes_train_one_agent_over_a_kill(tmp_path: pathlib.Path, victim: int) -> None:
    run = tmp_path / "run"
    first = start(tmp_path, "quickstart", f"--config.run={run}", *TOGETHER)
    metrics = run / "metrics.jsonl"
    while not (metrics.exists() and any(row.stage == "ppo" for row in read_metrics(metrics))):
        assert all(process.poll() is None for process in first), (tmp_path / "said-0").read_text()
        time.sleep(0.5)
    first[victim].kill()
    assert all(process.wait(timeout=100) for process in first)  # who is left ends, too

    again = start(tmp_path, "quickstart", f"--config={run / 'config.json'}", f"--config.run={run}")
    assert [process.wait(timeout=600) for process in again] == [0, 0], (tmp_path / "said-0").read_text()
    assert json.loads((run / "result.json").read_text())["training_episodes"] == 24
    rows = [row for row in read_metrics(metrics) if row.stage == "ppo"]
    assert [row.step for row in rows] == [1, 2, 3, 4]
    last = run / "checkpoints" / "ppo" / f"{Checkpoints(run / 'checkpoints' / 'ppo').latest():08d}"
    ledger = read_manifest(last)["extra"]["ledger"]
    used = [index for batch in ledger["consumed"] for index in batch]
    assert len(used) == len(set(used)) == 24
    assert all(sum(index % PROCESSES == 0 for index in batch) == 3 for batch in ledger["consumed"])  # half of each
    assert "ppo" in (run / "processes" / "0001" / "output.log").read_text()


def test_the_objects_for_kubernetes() -> None:
    given = {"NAME": "run1", "IMAGE": "image", "HOSTS": "4", "VOLUME": "claim", "RESOURCE": "google.com/tpu=4"}
    command = ["quickstart", "--config.games=a,b c", "--config.mesh.fsdp=16"]
    printed = subprocess.run(
        [ROOT / "launch" / "gke.sh", *command], env={**os.environ, **given}, capture_output=True, check=True
    )
    service, job = json.loads(printed.stdout)["items"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["./launch/pod.sh", *command] and container["resources"]["limits"] == {
        "google.com/tpu": "4"
    }
    addresses = {each["name"]: each.get("value") for each in container["env"]}
    assert addresses["JAX_COORDINATOR_ADDRESS"].startswith("run1-0.run1:") and addresses["JAX_NUM_PROCESSES"] == "4"
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 4
    assert service["spec"]["selector"] == job["spec"]["template"]["metadata"]["labels"]
