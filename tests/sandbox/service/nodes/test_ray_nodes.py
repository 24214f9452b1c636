"""Nodes as actors of a Ray cluster on this machine: claimed from, killed, started again by Ray."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.client import ComputerClient
from tars_jax.sandbox.service.nodes import Nodes
from tars_jax.sandbox.service.nodes.ray_nodes import RayNodes, RayNodesConfig
from tars_jax.sandbox.sessions.registry import node_of
from tests.sandbox.service.nodes.cluster import KEY, SMALL, Manager

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.full,
    pytest.mark.timeout(900),  # a worker of Ray takes a minute to start on a machine with others on it
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]


def test_actors_join_and_come_back(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    manager = Manager(tmp_path)
    config = RayNodesConfig((manager.address,), KEY, nodes=2, capacity=2, cpus=0.5, dead_s=5.0)

    async def live(cluster: RayNodes) -> None:
        async with Nodes(manager.address, KEY) as nodes, ComputerClient(manager.address, KEY) as client:
            opened = [await client.open(**SMALL) for _ in range(2)]
            places = [node_of(each.id) for each in opened]
            assert set(places) == {joined["id"] for joined in cluster.joined}
            for each in opened:
                assert (await each.run("echo ü"))["output"] == "ü\n"
            victim = next(joined for joined in cluster.joined if joined["id"] == places[0])
            os.kill(victim["pid"], signal.SIGKILL)
            with pytest.raises(SandboxFailure, match="node"):
                await opened[0].run("true")
            assert (await opened[1].run("true"))["exit_code"] == 0
            killed = time.monotonic()
            while victim["id"] in (names := {node["id"] for node in await nodes.list()}) or len(names) < 2:
                assert time.monotonic() < killed + 400
                await asyncio.sleep(0.2)
            print(f"joined again {time.monotonic() - killed:.0f} s after the kill")
            again = await client.open(**SMALL)
            assert node_of(again.id) not in {joined["id"] for joined in cluster.joined}
            assert (await again.run("true"))["exit_code"] == 0

    try:
        with RayNodes(config, host="127.0.0.1") as nodes:
            asyncio.run(live(nodes))
    finally:
        manager.kill(signal.SIGTERM)
