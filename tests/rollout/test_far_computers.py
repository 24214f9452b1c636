"""A learner that may start no container, two nodes that may, and one of these killed in the middle."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tars_jax.sandbox.service.nodes import Nodes
from tars_jax.sandbox.service.nodes.ray_nodes import RayNodes, RayNodesConfig
from tars_jax.sandbox.sessions.registry import node_of
from tests import ordinary_user
from tests.rollout.far_learner import EPISODES, WORKERS, play, told
from tests.sandbox.service.nodes.cluster import ANN, KEY, Manager, cluster
from tests.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user, too"),
]
Cluster = Callable[[Path], AbstractContextManager[tuple[str, str, Callable[[str], None]]]]


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[tuple[str, str, Callable[[str], None]]]:
    """The address of the manager, a key, and what kills a node by its id."""
    with cluster(folder, nodes=2, capacity=WORKERS, warm=0) as running:
        yield running.manager.address, ANN, running.kill_node


@contextlib.contextmanager
def actors_of_ray(folder: Path) -> Iterator[tuple[str, str, Callable[[str], None]]]:
    pytest.importorskip("ray")
    manager = Manager(folder)
    config = RayNodesConfig((manager.address,), KEY, nodes=2, capacity=WORKERS, cpus=0.5, dead_s=5.0)
    try:
        with RayNodes(config, host="127.0.0.1") as nodes:
            pids = {joined["id"]: joined["pid"] for joined in nodes.joined}
            yield manager.address, KEY, lambda id: os.kill(pids[id], signal.SIGKILL)
    finally:
        manager.kill(signal.SIGTERM)


def start_learner(address: str, key: str, folder: Path) -> subprocess.Popen[str]:
    """As a user of no rights, who finds none of the programs that containers take."""
    (folder / "key").write_text(key)
    (folder / "empty").mkdir()
    return ordinary_user.start(
        ["-P", "-m", "tests.rollout.far_learner", address, str(folder)],
        PATH=str(folder / "empty"), HOME=str(folder), JAX_PLATFORMS="cpu",
    )  # fmt: skip


async def node_with_a_session(manager: str) -> str:
    async with Nodes(manager, KEY) as nodes:
        return node_of((await nodes.request("GET", "/v1/sessions"))["sessions"][0]["id"])


@pytest.mark.parametrize(
    "nodes",
    [processes, pytest.param(actors_of_ray, marks=[pytest.mark.full, pytest.mark.timeout(900)])],
    ids=["processes", "ray"],
)
def test_no_reward_is_lost_or_made_when_a_node_is_killed(nodes: Cluster, tmp_path: Path) -> None:
    with ordinary_user.own_folder() as folder, nodes(tmp_path) as (address, key, kill):
        learner = start_learner(address, key, folder)
        assert learner.stdout is not None
        with learner.stdout:
            assert learner.stdout.readline().startswith("none of its own: ")
            assert [learner.stdout.readline() for _ in range(WORKERS)] == ["waits\n"] * WORKERS
            kill(asyncio.run(node_with_a_session(address)))
            (folder / "go").touch()
            assert learner.wait(PATIENCE_S) == 0
        result = json.loads((folder / "result.json").read_text())
    near = told(play(tmp_path / "near", None))
    assert json.loads(json.dumps(near)) == result["played"]
    assert len(near) == EPISODES and len({reward for _, _, reward, _, _ in near}) == 2  # some fail, some do not
    assert any(failure.startswith("node:") for failure in result["failures"]), result["failures"]
