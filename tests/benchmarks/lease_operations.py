"""Lease operations a second of a manager, with real HTTP clients, beside etcd and redis-py in one run.

    PYTHONPATH=. python tests/benchmarks/lease_operations.py [--clients 64] [--seconds 6] [--turns 3]
        [--sides sqlite valkey etcd redis-py]

Each client claims an id of its own, renews it, looks it up and releases it, one call after the other, and looks whether
each answer is right. Clients are coroutines of one process, servers other processes; all flush before they answer:

    sqlite     python -m tars_jax.sandbox.service.leases with a file, by `LeaseClient`
    valkey     the same manager over Valkey, else Redis (appendfsync always; launch/valkey.sh); takes the extra `leases`
    etcd       etcd's leases over its own HTTP gateway, by the same connections: a claim is a grant and a transaction
    redis-py   `redis.asyncio.lock.Lock` of redis-py against the same server: acquire, extend, owned, release; no HTTP

Printed are operations a second, p50 and p99 in milliseconds, and processor time of an operation in microseconds, the
server's (and its store's) and the client's: where others use the machine, the last two count. Sides whose program is
not installed are left out. Goal: 3,000 operations a second on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import importlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from tars_jax.sandbox.service.leases import LeaseClient
from tars_jax.web.connections import Connections
from tests.ports import free_port
from tests.sandbox.service.leases.managers import KEY, STORE, Manager

Cycle = Callable[[int, str, Callable[[Awaitable[Any]], Awaitable[Any]]], Awaitable[None]]


class Server:
    """Processes of one side."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen] = []

    def start(self, *command: str) -> None:
        self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def used_s(self) -> float:
        """Processor seconds."""
        total = 0
        for process in self.processes:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@contextlib.contextmanager
def side(name: str, folder: Path) -> Iterator[tuple[Server, str]]:
    server, port = Server(), free_port()
    address = f"http://127.0.0.1:{port}"
    try:
        if name in ("valkey", "redis-py"):
            keep = ("--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir", str(folder))
            server.start(STORE or "", "--port", str(port), *keep)
            address = f"redis://127.0.0.1:{port}/0"
            time.sleep(1)
        if name == "etcd":
            peer = f"http://127.0.0.1:{free_port()}"
            urls = ("--listen-client-urls", address, "--advertise-client-urls", address)
            peers = ("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer)
            server.start(
                "etcd", "--data-dir", str(folder / "etcd"), *urls, *peers, "--initial-cluster", f"default={peer}"
            )
            time.sleep(4)
        if name in ("sqlite", "valkey"):
            where = str(folder / "leases.sqlite") if name == "sqlite" else address
            manager = Manager(where, folder)
            server.processes.append(manager.process)
            address = manager.address
        yield server, address
    finally:
        server.stop()


@contextlib.asynccontextmanager
async def cycle(name: str, address: str):  # type: ignore[no-untyped-def]
    """What a client does again and again; `timed` awaits a call and notes its time."""
    if name in ("sqlite", "valkey"):
        async with LeaseClient(address, KEY) as client:

            async def ours(number: int, id: str, timed: Any) -> None:
                lease = await timed(client.claim(id, f"client {number}", 30, place="here"))
                assert (await timed(client.renew(id, lease.fence))).fence == lease.fence
                assert (await timed(client.look_up(id))).holder == f"client {number}"
                assert await timed(client.release(id, lease.fence))

            yield ours
    elif name == "etcd":
        async with Connections(address, {}) as connections:

            async def post(path: str, values: dict[str, Any]) -> dict[str, Any]:
                received = await connections.request("POST", path, json.dumps(values).encode())
                assert received.status == 200, received.body
                return json.loads(received.body)

            async def etcd(number: int, id: str, timed: Any) -> None:
                key, value = (base64.b64encode(text.encode()).decode() for text in (id, f"client {number}"))

                async def claim() -> str:
                    lease = (await post("/v3/lease/grant", {"TTL": 30}))["ID"]
                    put = {"request_put": {"key": key, "value": value, "lease": lease}}
                    free = {"key": key, "target": "CREATE", "create_revision": 0}
                    assert (await post("/v3/kv/txn", {"compare": [free], "success": [put]}))["succeeded"]
                    return lease

                lease = await timed(claim())
                await timed(post("/v3/lease/keepalive", {"ID": lease}))
                assert (await timed(post("/v3/kv/range", {"key": key})))["kvs"][0]["value"] == value
                await timed(post("/v3/lease/revoke", {"ID": lease}))

            yield etcd
    else:
        server = importlib.import_module("redis.asyncio").from_url(address, max_connections=1000)

        async def locks(number: int, id: str, timed: Any) -> None:
            lock = server.lock(id, timeout=30, blocking=False)
            assert await timed(lock.acquire())
            assert await timed(lock.extend(30, replace_ttl=True))
            assert await timed(lock.owned())
            await timed(lock.release())

        yield locks
        await server.aclose()


async def play(name: str, address: str, clients: int, seconds: float, turn: int) -> list[float]:
    """Milliseconds of each operation."""
    taken: list[float] = []

    async def timed(work: Awaitable[Any]) -> Any:
        began = time.perf_counter()
        answer = await work
        taken.append(1000 * (time.perf_counter() - began))
        return answer

    async def one(number: int, again: Cycle) -> None:
        count = 0
        while time.perf_counter() < until:
            await again(number, f"id-{turn}-{number}-{count}", timed)
            count += 1

    async with cycle(name, address) as again:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(one(number, again) for number in range(clients)))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--sides", nargs="+", default=["sqlite", "valkey", "etcd", "redis-py"])
    given = parser.parse_args()
    there = {"valkey": STORE, "redis-py": STORE, "etcd": shutil.which("etcd"), "sqlite": "python"}
    sides = [name for name in given.sides if there[name]]
    with contextlib.suppress(ImportError):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())  # as the manager has
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"{'':<19}{'ops/s':>8}{'p50 ms':>9}{'p99 ms':>9}{'server us':>11}{'client us':>11}")
    rates: dict[str, list[float]] = {name: [] for name in sides}
    with contextlib.ExitStack() as stack:
        running = {}
        for name in sides:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tars_jax-leases-")))
            running[name] = stack.enter_context(side(name, folder))
        for turn in range(given.turns + 1):
            for name in sides:
                server, address = running[name]
                before, own, began = server.used_s(), time.process_time(), time.perf_counter()
                seconds = given.seconds if turn else 1.0
                taken = sorted(asyncio.run(play(name, address, given.clients, seconds, turn)))
                wall, count = time.perf_counter() - began, len(taken)
                if turn:
                    rates[name].append(count / wall)
                    costs = [1e6 * used / count for used in (server.used_s() - before, time.process_time() - own)]
                    print(
                        f"turn {turn}, {name:<11}{count / wall:>8.0f}{taken[count // 2]:>9.1f}"
                        f"{taken[int(0.99 * count)]:>9.1f}{costs[0]:>11.0f}{costs[1]:>11.0f}", flush=True,
                    )  # fmt: skip
    for name in sides:
        print(f"{name}: {statistics.median(rates[name]):.0f} operations a second, median of {given.turns} turns")


if __name__ == "__main__":
    main()
