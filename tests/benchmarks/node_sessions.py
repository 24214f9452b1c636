"""Claims and renewals a second of a manager of nodes, with real HTTP clients and sessions that cost nothing.

    PYTHONPATH=. python tests/benchmarks/node_sessions.py [--nodes 2] [--clients 32] [--renewals 8] [--seconds 6]
        [--turns 3]

Each client claims a session of its own, as `ComputerClient` does; its lease is renewed so many times, together with
those of the other clients, as one client's are; then it is released. Manager and nodes are processes; nothing is
started in a session, so that what is measured is the way there and back. A lease of two minutes that is renewed each
40 s has 8 renewals in 5 minutes.

Printed are claims and renewals a second, claims alone, p50 and p99 of a claim in milliseconds, and processor time of a
claim with its renewals and release in microseconds: of the manager and the nodes, and of the client. Goal: 3,000 claims
and renewals a second on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

from starlette.routing import BaseRoute

from tars_jax.sandbox.failures import SessionEnded
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.client import ServiceClient
from tars_jax.sandbox.service.config import Owner
from tars_jax.sandbox.service.kinds import Kind, Opening
from tars_jax.sandbox.service.nodes.node import NodeConfig
from tars_jax.sandbox.service.nodes.serving import serving_node
from tars_jax.sandbox.sessions.leased_session import KeyedRequest, LeasedSession
from tars_jax.sandbox.sessions.registry import new_id, new_lease
from tars_jax.web.protocol import RequestFields
from tests.sandbox.service.nodes.cluster import KEY, ROOT, Manager


class Nothing(LeasedSession):
    kind = "nothing"

    def to_json(self) -> dict[str, Any]:
        return {**self.lease_to_json(), "calls": 0, "live": True}


class NothingKind:
    """A `Kind` and its `Registry`."""

    name, default_lease_s, most_lease_s = "nothing", 120.0, 86_400.0

    def __init__(self, node: str) -> None:
        self._node, self._sessions = node, dict[str, Nothing]()
        self.sessions = self

    def __contains__(self, id: str) -> bool:
        return id in self._sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, id: str) -> Nothing:
        if id not in self._sessions:
            raise SessionEnded(id)
        return self._sessions[id]

    def all_of(self, owner: str | None = None) -> Sequence[Nothing]:
        return [each for each in self._sessions.values() if owner in (None, each.lease.owner)]

    def renew(self, id: str, seconds: float | None = None) -> Nothing:
        session = self.get(id)
        session.renew(seconds)
        return session

    async def release(self, id: str) -> None:
        self._sessions.pop(id, None)

    def hand_over(self, id: str, owner: str, seconds: float) -> str:
        lease, token = new_lease(owner, seconds)
        self.get(id).hand_over(lease)
        return token

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        yield

    def opening(self, fields: RequestFields, owner: Owner, seconds: float) -> Opening:
        async def open(request: KeyedRequest | None) -> tuple[LeasedSession, str]:
            lease, token = new_lease(owner.name, seconds, request)
            session = Nothing(new_id(self._node), lease)
            self._sessions[session.id] = session
            return session, token

        return open

    def routes(self, access: Access) -> Sequence[BaseRoute]:
        return ()


async def node(manager: str, name: str) -> None:
    config = NodeConfig(name, 1 << 20)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with serving_node(config, [cast(Kind, NothingKind(config.id))], [manager], KEY):
        print("joined", flush=True)
        await stopped.wait()


class Renewals:
    """Of all clients' sessions: what has come until the last batch was answered is the next one."""

    def __init__(self, client: ServiceClient) -> None:
        self._client, self._waiting = client, dict[str, asyncio.Future[None]]()

    async def renew(self, id: str) -> None:
        done = self._waiting[id] = asyncio.get_running_loop().create_future()
        await done

    async def run(self) -> None:
        while True:
            batch, self._waiting = self._waiting, {}
            if batch:
                answer = await self._client.request("POST", "/v1/renewals", {"ids": list(batch)})
                assert answer == {"ended": []}, answer
                for done in batch.values():
                    done.set_result(None)
            else:
                await asyncio.sleep(0.001)


async def play(address: str, clients: int, renewals: int, seconds: float) -> tuple[list[float], int]:
    """Milliseconds of each claim; how many renewals there were."""
    taken: list[float] = []
    renewed = 0

    async def one(client: ServiceClient, batches: Renewals) -> None:
        nonlocal renewed
        while time.perf_counter() < until:
            began = time.perf_counter()
            asked = {"kind": "nothing", "lease_seconds": 120, "idempotency_key": secrets.token_hex(8)}
            id = (await client.request("POST", "/v1/sessions", asked))["id"]
            taken.append(1000 * (time.perf_counter() - began))
            for _ in range(renewals):
                await batches.renew(id)
                renewed += 1
            await client.request("DELETE", f"/v1/sessions/{id}")

    async with ServiceClient(address, KEY) as client:
        batches = Renewals(client)
        renewing = asyncio.create_task(batches.run())
        until = time.perf_counter() + seconds
        await asyncio.gather(*(one(client, batches) for _ in range(clients)))
        renewing.cancel()
        assert (await client.request("GET", "/v1/sessions"))["sessions"] == []
    return taken, renewed


def used_s(processes: Sequence[subprocess.Popen[str]]) -> float:
    """Processor seconds."""
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--renewals", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--node", nargs=2, metavar=("MANAGER", "NAME"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.node:
        asyncio.run(node(*given.node))
        return
    with tempfile.TemporaryDirectory(prefix="tars_jax-nodes-") as folder, contextlib.ExitStack() as stack:
        manager = Manager(Path(folder))
        stack.callback(manager.kill)
        processes = [manager.process]
        for number in range(given.nodes):
            command = [sys.executable, "-P", str(Path(__file__)), "--node", manager.address, f"node{number}"]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
            stack.callback(processes[-1].kill)
            assert processes[-1].stdout is not None
            assert processes[-1].stdout.readline() == "joined\n"
        print(f"load {os.getloadavg()[0]:.1f}, {given.nodes} nodes, {given.clients} clients, {given.renewals} renewals")
        print(f"{'':<8}{'both/s':>8}{'claims/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'servers us':>12}{'client us':>11}")
        rates = []
        for turn in itertools.chain([0], range(1, given.turns + 1)):
            before, own, began = used_s(processes), time.process_time(), time.perf_counter()
            seconds = given.seconds if turn else 1.0
            taken, renewed = asyncio.run(play(manager.address, given.clients, given.renewals, seconds))
            wall, count = time.perf_counter() - began, len(taken)
            costs = [1e6 * used / count for used in (used_s(processes) - before, time.process_time() - own)]
            taken.sort()
            if turn:
                rates.append((count + renewed) / wall)
                print(
                    f"turn {turn}  {rates[-1]:>8.0f}{count / wall:>10.0f}{taken[count // 2]:>9.1f}"
                    f"{taken[int(0.99 * count)]:>9.1f}{costs[0]:>12.0f}{costs[1]:>11.0f}", flush=True,
                )  # fmt: skip
        print(f"{statistics.median(rates):.0f} claims and renewals a second, median of {given.turns} turns")


if __name__ == "__main__":
    main()
