"""Nodes and the manager killed by chance under load: no lease lost or doubled, no orphan, typed failures alone."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tars_jax.sandbox.failures import FAILURES, QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.sandbox.service.nodes import Sandboxes
from tests.sandbox.service.leases.managers import KEY
from tests.sandbox.service.nodes.cluster import Cluster, cluster

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation"),
]
CLIENTS, KILLS = 4, 3


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "chaos_seed" in metafunc.fixturenames:
        metafunc.parametrize("chaos_seed", range(metafunc.config.getoption("--chaos-seeds")))


class Witness:
    """What clients have seen."""

    def __init__(self) -> None:
        self.fences: set[int] = set()
        self.ids: set[str] = set()
        self.dead_nodes: set[str] = set()  # that were killed
        self.failures: list[str] = []
        self.done = 0

    def granted(self, id: str, fence: int) -> None:
        assert fence not in self.fences and id not in self.ids, "a lease was given twice"
        self.fences.add(fence)
        self.ids.add(id)


async def work(number: int, sandboxes: Sandboxes, witness: Witness, stop: asyncio.Event) -> None:
    while not stop.is_set():
        try:
            sandbox = await sandboxes.claim("small", seconds=120, deadline_s=60)
        except QuotaExceeded:
            witness.failures.append("quota")
            continue
        except SandboxFailure as failure:
            assert failure.kind in FAILURES
            witness.failures.append(failure.kind)
            continue
        witness.granted(sandbox.id, sandbox.fence)
        try:
            async with sandbox:
                # Nobody was here before, and nobody comes: the file is this lease's alone, from first to last.
                for turn in range(5):
                    line = f"{sandbox.fence}"
                    done = await sandbox.run(["sh", "-c", f"echo {line} >> ~/who; cat ~/who"], timeout_s=60)
                    assert done.stdout.decode().split() == [line] * (turn + 1), "a sandbox of two leases"
                    found = await sandboxes.find(sandbox.id)
                    assert (found.fence, found.place) == (sandbox.fence, sandbox.place), "a lease that moved"
                    await asyncio.sleep(0.05)
            witness.done += 1
        except SandboxFailure as failure:
            assert failure.kind in FAILURES
            assert sandbox.place in witness.dead_nodes, f"{failure} on {sandbox.place}, which lives"
            witness.failures.append(failure.kind)
        except SessionEnded as error:
            raise AssertionError(f"a lease was lost: {sandbox.id} of {sandbox.place}") from error


async def kills(running: Cluster, chance: random.Random, witness: Witness) -> None:
    for _ in range(KILLS):
        await asyncio.sleep(1.0 + 2.0 * chance.random())
        what = chance.choice(["manager", "node", "node", "both"])
        if what != "node":
            await asyncio.to_thread(running.manager.kill)
        if what != "manager":
            number = chance.randrange(len(running.nodes))
            witness.dead_nodes.add(running.ids[number])
            await asyncio.to_thread(running.nodes[number].kill)
        await asyncio.sleep(chance.random())
        if what != "node":
            await asyncio.to_thread(running.manager.start)
        if what != "manager":
            running.nodes[number].start()
            running.ids[number] = await asyncio.to_thread(running.nodes[number].joined)


def test_nothing_is_lost_or_doubled(chaos_seed: int, tmp_path: Path) -> None:
    witness = Witness()

    async def live(running: Cluster) -> None:
        stop = asyncio.Event()
        async with Sandboxes(running.manager.address, KEY, patience_s=90) as sandboxes:
            working = [asyncio.create_task(work(number, sandboxes, witness, stop)) for number in range(CLIENTS)]
            killing = asyncio.create_task(kills(running, random.Random(chaos_seed), witness))
            await asyncio.wait([killing, *working], return_when=asyncio.FIRST_EXCEPTION, timeout=200)
            before = witness.done
            while killing.done() and witness.done < before + 2 and not any(task.done() for task in working):
                await asyncio.sleep(0.1)
            stop.set()
            await asyncio.gather(killing, *working)
            assert witness.done > 0
            held = await sandboxes.manager.list("box.")
            mine = {lease.id for lease in held} & witness.ids
            places = {lease.place for lease in held if lease.id in mine}
            assert places <= witness.dead_nodes, "what was given back is held"

    with cluster(tmp_path, nodes=2, capacity=3, dead_s=30.0) as running:
        asyncio.run(live(running))
    print(f"{witness.done} done, {len(witness.ids)} leases, failures {witness.failures}")
