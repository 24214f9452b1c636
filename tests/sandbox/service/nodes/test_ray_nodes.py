"""Nodes as actors of a Ray cluster on this machine: claimed from, killed, started again by Ray."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.nodes import Sandboxes
from tars_jax.sandbox.service.nodes.ray_nodes import RayNodes, RayNodesConfig
from tests.sandbox.service.leases.managers import KEY, Manager

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.full,
    pytest.mark.timeout(900),  # a worker of Ray takes a minute to start on a machine with others on it
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]


def test_actors_join_and_come_back(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    manager = Manager(str(tmp_path / "leases.sqlite"), tmp_path, "tars_jax.sandbox.service.nodes.manager")
    spec = ContainerSpec(memory_mib=96, processes=32, disk_mib=32)
    config = RayNodesConfig((manager.address,), KEY, {"small": spec}, nodes=2, capacity=2, cpus=0.5, dead_s=5.0)

    async def live(nodes: RayNodes) -> None:
        async with Sandboxes(manager.address, KEY) as sandboxes:
            claimed = [await sandboxes.claim("small") for _ in range(2)]
            assert {each.place for each in claimed} == {joined["id"] for joined in nodes.joined}
            for each in claimed:
                assert (await each.run(["sh", "-c", "echo $0", "ü"])).stdout == "ü\n".encode()
            victim = next(joined for joined in nodes.joined if joined["id"] == claimed[0].place)
            os.kill(victim["pid"], signal.SIGKILL)
            with pytest.raises(SandboxFailure, match="node"):
                await claimed[0].run(["true"])
            assert (await claimed[1].run(["true"])).status == 0
            until = time.monotonic() + 400
            while victim["id"] in (names := {node["id"] for node in await sandboxes.nodes()}) or len(names) < 2:
                assert time.monotonic() < until
                await asyncio.sleep(0.2)
            again = await sandboxes.claim("small")
            assert again.place not in {joined["id"] for joined in nodes.joined}
            assert (await again.run(["true"])).status == 0
            await again.release()

    try:
        with RayNodes(config, host="127.0.0.1") as nodes:
            asyncio.run(live(nodes))
    finally:
        manager.kill(signal.SIGTERM)
