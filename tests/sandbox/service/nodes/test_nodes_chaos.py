"""Nodes and the manager killed by chance under load: no session lost or doubled, no orphan, typed failures alone."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.client import ComputerClient
from tars_jax.sandbox.service.nodes import Nodes
from tars_jax.sandbox.sessions.registry import node_of
from tests.sandbox.service.nodes.cluster import ANN, KEY, SMALL, Cluster, cluster
from tests.waiting import until

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
SHORT, LONG = 2, 6  # kills
TURNS = 5  # of a session


class Witness:
    """What clients have seen."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.dead_nodes: set[str] = set()  # that were killed
        self.failures: list[str] = []
        self.done = 0


async def work(client: ComputerClient, witness: Witness, stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            computer = await client.open(**SMALL)
        except SandboxFailure as failure:
            assert failure.kind == "node" and witness.dead_nodes, failure
            witness.failures.append("open")
            continue
        assert computer.id not in witness.sessions, "a session was given twice"
        witness.sessions.add(computer.id)
        node = node_of(computer.id)
        try:
            # Nobody was here before, and nobody comes: the file is this session's alone, from first to last.
            for turn in range(TURNS):
                done = await computer.run(f"echo {computer.id} >> ~/who; cat ~/who")
                assert done["output"].split() == [computer.id] * (turn + 1), "a sandbox of two, or a call done twice"
            witness.done += 1
        except SandboxFailure as failure:
            assert failure.kind == "node" and node in witness.dead_nodes, f"{failure} on {node}"
            witness.failures.append(failure.kind)
        await computer.close()


async def kills(running: Cluster, chance: random.Random, witness: Witness, count: int) -> None:
    for number in range(count):
        await asyncio.sleep(0.5 + chance.random())
        what = ("node", "manager", "both")[number] if number < 2 else chance.choice(["manager", "node", "node", "both"])
        if what != "node":
            await asyncio.to_thread(running.manager.kill)
        if what != "manager":
            victim = chance.randrange(len(running.nodes))
            witness.dead_nodes.add(running.ids[victim])
            await asyncio.to_thread(running.nodes[victim].kill)
        await asyncio.sleep(chance.random())
        if what != "node":
            await asyncio.to_thread(running.manager.start)
        if what != "manager":
            running.nodes[victim].start()
            running.ids[victim] = await asyncio.to_thread(running.nodes[victim].joined)


@pytest.mark.parametrize("count", [SHORT, pytest.param(LONG, marks=pytest.mark.full)])
def test_nothing_is_lost_or_doubled(chaos_seed: int, count: int, tmp_path: Path) -> None:
    witness, clients = Witness(), 2 + count // 2

    async def live(running: Cluster) -> None:
        address, stop = running.manager.address, asyncio.Event()
        async with Nodes(address, KEY, patience_s=90) as nodes, ComputerClient(address, ANN, patience_s=90) as client:
            working = [asyncio.create_task(work(client, witness, stop)) for _ in range(clients)]
            killing = asyncio.create_task(kills(running, random.Random(chaos_seed), witness, count))
            await asyncio.wait([killing, *working], return_when=asyncio.FIRST_COMPLETED)  # of workers by an error alone
            before = witness.done
            while witness.done < before + 4 and not any(task.done() for task in working):
                await asyncio.sleep(0.1)
            stop.set()
            await asyncio.gather(killing, *working)
            left = {each["id"] for each in (await nodes.request("GET", "/v1/sessions"))["sessions"]}
            assert not left & witness.sessions, "what was given back is held"

            async def is_free() -> bool:
                return all(node["free"] >= node["capacity"] for node in await nodes.list())

            await until(is_free)  # of sessions that nobody heard of, as their manager or node was killed

    with cluster(tmp_path, nodes=2, capacity=3, dead_s=30.0) as running:
        asyncio.run(live(running))
    print(f"{witness.done} done, {len(witness.sessions)} sessions, failures {witness.failures}")
