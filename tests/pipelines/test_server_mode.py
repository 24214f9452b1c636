"""PPO through policy servers of ours: learner and servers are processes of their own, started as a user starts them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tars_jax.training.metrics import read_metrics
from tars_jax.training.recorded_updates import read_updates
from tars_jax.trajectory.files import load_trajectory
from tests.experiment_process import ExperimentProcess
from tests.pipelines.test_brought import ECHO, TINY, train
from tests.ports import free_port

KEY = "sesame"
SERVE = (
    "checkpoint=nano", "engine.slots=4", "engine.max_length=192", "engine.row_buckets=4,",
    "engine.length_buckets=192,", "engine.image_buckets=1,", "engine.top_logprobs=0", "engine.penalties=False",
    "engine.biases=0", "constraints=()",
)  # fmt: skip
UPDATES, BATCH = 5, 8  # as no other stage of TINY
Start = Callable[..., ExperimentProcess]
pytestmark = [pytest.mark.multiprocess, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def start() -> Iterator[Start]:
    """start(experiment, flag, ...): a process that does not outlive the test."""
    with contextlib.ExitStack() as stack:

        def begin(experiment: str, *flags: str) -> ExperimentProcess:
            process = ExperimentProcess(experiment, *flags)
            stack.callback(process.kill)
            return process

        yield begin


def ask(port: int, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {KEY}"}, timeout=60)


def sampled(port: int) -> int:
    lines = ask(port, "/metrics").text.splitlines()
    (line,) = (line for line in lines if line.startswith("tars_jax_engine_tokens_sampled_total"))
    return int(float(line.split()[-1]))


@pytest.mark.full
def test_two_servers_of_which_one_is_killed_for_good_and_one_comes_back(
    start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every episode is used once, and nothing is sampled with weights that are not the run's."""
    run, key, ports = tmp_path / "run", tmp_path / "key", (free_port(), free_port())
    key.write_text(f"{KEY}\n")

    def serve(port: int, name: str) -> ExperimentProcess:
        return start("serve", *SERVE, f"port={port}", f"run={tmp_path / name}", f"api_key_file={key}")

    servers = [serve(port, f"serve-{port}") for port in ports]
    for server in servers:
        server.says("/v1/rl")
    flags = (
        *TINY, "demonstrations.episodes=0", f"ppo.updates={UPDATES}", f"ppo.min_batch={BATCH}",
        "agent.constrained=False", "server.form=tars_jax",
        f"server.address=http://127.0.0.1:{ports[0]},http://127.0.0.1:{ports[1]}/v1",
    )  # fmt: skip
    assert train(tmp_path / "without", *flags) == 2
    assert "server.api_key_file must be one that http://127.0.0.1" in capsys.readouterr().err
    learner = start("train", *flags, f"run={run}", f"environment={ECHO}", f"server.api_key_file={key}")
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
