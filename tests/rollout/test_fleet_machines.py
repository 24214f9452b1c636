"""A Ray cluster of two machines (raylets of their own), of which one dies as a whole and another joins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Task
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.rollout.config import FleetConfig, PoolConfig
from tars_jax.rollout.fleet import Fleet
from tars_jax.rollout.players import reference_player
from tars_jax.rollout.pool import RolloutPool
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.tasks.sampling import sample_task

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess, pytest.mark.full]
WRITER = PromptWriter(load_tokenizer(), image_tokens=36)
UPDATES, DEATH, ARRIVAL = 8, 2, 5


def task(index: int) -> Task:
    return sample_task("maze_path_of_light", "train", index, 0, {"distance": [2, 3]}, max_steps=4)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    ray.init(address=machines.address, log_to_driver=False)
    yield machines
    ray.shutdown()
    machines.shutdown()


def test_a_machine_that_dies_loses_no_task_and_another_may_join(cluster: Any, tmp_path: Path) -> None:
    machines = [cluster.add_node(num_cpus=1) for _ in range(2)]
    pool = RolloutPool(tmp_path, PoolConfig(min_batch=4, max_staleness=1, updates=UPDATES))
    version, used = 0, list[int]()
    browser = BrowserConfig(browsers=1, pages_per_browser=2)
    with Fleet(browser, WRITER, AgentConfig(), FleetConfig(hosts=2, pages=2, cpus=1)) as fleet:
        hosts = set(fleet.pids)
        with fleet.streaming(pool, task, reference_player(WRITER, "text", skill=1.0), lambda: version) as running:
            while version < UPDATES:
                if running.done():
                    running.result()
                if not pool.wait(1):
                    continue
                used += [int(trajectory.id.split("-")[0]) for trajectory in pool.take() or []]
                version += 1
                if version == DEATH:
                    cluster.remove_node(machines[0], allow_graceful=False)
                if version == ARRIVAL:
                    cluster.add_node(num_cpus=1)
        assert fleet.runners_lost >= 1
        assert sum(Path(f"/proc/{pid}").exists() for pid in hosts) == 1
    assert sorted(used) == list(range(4 * UPDATES))
    assert pool.counts() == {"requeued": 0, "in_flight": 0, "ready": 0, "consumed": 32, "filtered": 0, "failed": 0}
