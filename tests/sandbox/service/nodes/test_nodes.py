"""Two nodes that open real computers, as processes of this machine, and a manager."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path

import httpx
import pytest

from tars_jax import InputError
from tars_jax.sandbox.failures import FAILURES, QuotaExceeded, SandboxFailure, SessionEnded
from tars_jax.sandbox.service.nodes import ClaimedSandbox, Sandboxes
from tars_jax.sandbox.service.nodes.sandboxes import read_specs
from tests.sandbox.service.leases.managers import KEY
from tests.sandbox.service.nodes.cluster import Cluster, cluster

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")


@needs_root
@pytest.mark.multiprocess
@pytest.mark.slow
def test_claims_are_placed_used_and_given_back(tmp_path: Path) -> None:
    async def live(running: Cluster) -> None:
        async with Sandboxes(running.manager.address, KEY) as sandboxes:
            with pytest.raises(InputError, match="spec must be one that a node knows; got 'huge' and 2 nodes"):
                await sandboxes.claim("huge", deadline_s=0)
            claimed = [await sandboxes.claim("small", deadline_s=60) for _ in range(4)]
            places = [each.place for each in claimed]
            assert {places.count(id) for id in running.ids} == {2}  # where there was most room, each time
            with pytest.raises(QuotaExceeded):
                await sandboxes.claim("other", deadline_s=0.3)
            for number, each in enumerate(claimed):
                done = await each.run(["sh", "-c", f"cat > ~/'a b ü'; echo {number}; cat ~/*; ls ~ | wc -l"], b"\xff\n")
                assert done.stdout == f"{number}\n".encode() + b"\xff\n1\n"
            with pytest.raises(InputError, match="no/such"):
                await claimed[0].run(["/no/such"])
            assert (await claimed[0].run(["sleep", "60"], timeout_s=0.2)).timed_out
            again = await sandboxes.find(claimed[1].id)
            assert (await again.run(["cat", "a b ü"])).stdout == b"\xff\n"
            waiting = asyncio.create_task(sandboxes.claim("other", deadline_s=60))
            await asyncio.sleep(0.3)
            assert await claimed[0].release() and not await claimed[0].release()
            with pytest.raises(SessionEnded):
                await claimed[0].renew()
            other = await waiting
            assert other.place == claimed[0].place
            assert (await other.run(["sh", "-c", "ls ~ | wc -l"])).stdout == b"0\n"
            for each in [other, *claimed]:
                await each.release()
            with pytest.raises((SessionEnded, SandboxFailure)):
                await claimed[1].run(["true"])
            short = await sandboxes.claim("small", seconds=0.5)
            with pytest.raises(SessionEnded):  # nobody renews it, and its node hears that
                async with asyncio.timeout(60):
                    while True:
                        await short.run(["true"])
                        await asyncio.sleep(0.2)
            async with await sandboxes.claim("small", seconds=5) as kept:
                await asyncio.sleep(7)
                assert (await kept.run(["true"])).status == 0
            await sandboxes.drain(running.ids[0])
            last = await sandboxes.claim("small")
            assert last.place == running.ids[1]
            await asyncio.to_thread(running.nodes[0].process.wait, 30)
            assert (await last.run(["true"])).status == 0
        with httpx.Client(base_url=last.address) as http:
            assert http.get("/v1/node").status_code == 401
            http.headers["Authorization"] = f"Bearer {KEY}"
            assert http.get("/v1/node", headers={"Host": "evil.example"}).status_code == 400
            assert http.get("/v1/node").json()["capacity"] == 2
            assert http.post("/v1/node/bind", json={"id": "x"}).status_code == 400
            run = {"fence": last.fence, "argv": ["true"], "stdin": "not base64"}
            assert http.post(f"/v1/sessions/{last.id}/run", json=run).status_code == 400
            assert http.post(f"/v1/sessions/{last.id}/run", json={**run, "fence": 0, "stdin": ""}).status_code == 410

    with cluster(tmp_path, capacity=2) as running:
        asyncio.run(live(running))


@needs_root
@pytest.mark.multiprocess
@pytest.mark.slow
def test_a_node_killed_under_load_costs_its_sessions_alone(tmp_path: Path) -> None:
    failures: list[str] = []

    async def work(number: int, sandboxes: Sandboxes, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                async with await sandboxes.claim("small", seconds=20, deadline_s=60) as sandbox:
                    for turn in range(6):
                        done = await sandbox.run(["sh", "-c", f"echo {number} >> ~/log; sort -u ~/log; wc -l < ~/log"])
                        assert done.stdout == f"{number}\n{turn + 1}\n".encode()
            except SandboxFailure as failure:
                assert failure.kind in FAILURES
                failures.append(failure.kind)
            except SessionEnded:
                failures.append("ended")

    async def live(running: Cluster) -> None:
        async with Sandboxes(running.manager.address, KEY) as sandboxes:
            stays: dict[str, ClaimedSandbox] = {}
            while len(stays) < 2:  # a node may be busy with its pool: the other has more than one then
                claimed = await sandboxes.claim("other", seconds=60)
                if (further := stays.setdefault(claimed.place, claimed)) is not claimed:
                    await further.release()
                    stays[claimed.place] = claimed
            victim, survivor = (stays[id] for id in running.ids)
            await survivor.run(["sh", "-c", "echo kept > ~/file"])
            stop = asyncio.Event()
            working = [asyncio.create_task(work(number, sandboxes, stop)) for number in range(4)]
            await asyncio.sleep(3)
            assert not failures
            await asyncio.to_thread(running.nodes[0].kill)
            began = time.monotonic()
            with pytest.raises(SandboxFailure) as lost:
                await victim.run(["true"])
            assert lost.value.kind == "node"
            while True:
                try:
                    await victim.renew()
                except SandboxFailure as failure:
                    assert failure.kind == "node"
                    break
                assert time.monotonic() - began < 15
                await asyncio.sleep(0.1)
            assert [node["id"] for node in await sandboxes.nodes()] == [running.ids[1]]
            assert (await survivor.run(["cat", "file"])).stdout == b"kept\n"
            running.nodes[0].start()
            running.ids[0] = await asyncio.to_thread(running.nodes[0].joined)
            await asyncio.sleep(2)
            stop.set()
            await asyncio.gather(*working)
            assert set(failures) <= {"node"} and len(failures) <= 12
            fresh = [await sandboxes.claim("other")]
            while running.ids[0] not in {each.place for each in fresh}:  # once the survivor is full, at the latest
                assert len(fresh) < 4
                fresh.append(await sandboxes.claim("other", deadline_s=30))
            for each in [*fresh, survivor]:
                await each.release()

    with cluster(tmp_path, capacity=4) as running:
        asyncio.run(live(running))


@needs_root
@pytest.mark.multiprocess
@pytest.mark.slow
def test_sessions_outlive_a_killed_manager(tmp_path: Path) -> None:
    async def live(running: Cluster) -> None:
        async with Sandboxes(running.manager.address, KEY, patience_s=60) as sandboxes:
            one = await sandboxes.claim("small", seconds=30)
            await one.run(["sh", "-c", "echo here > ~/file"])
            await asyncio.to_thread(running.manager.kill)
            assert (await one.run(["cat", "file"])).stdout == b"here\n"  # the node has it
            waiting = asyncio.create_task(sandboxes.claim("small", seconds=30))
            renewing = asyncio.create_task(one.renew())
            await asyncio.sleep(0.5)
            await asyncio.to_thread(running.manager.start)
            await renewing
            other = await waiting
            assert other.id != one.id and (await sandboxes.find(one.id)).fence == one.fence
            assert (await one.run(["cat", "file"])).stdout == b"here\n"
            assert (await other.run(["sh", "-c", "ls ~ | wc -l"])).stdout == b"0\n"
            await one.release()
            await other.release()
            with contextlib.suppress(SessionEnded):
                await one.renew()
                raise AssertionError("it was released")

    with cluster(tmp_path, nodes=1, capacity=3) as running:
        asyncio.run(live(running))


def test_specs_of_a_file(tmp_path: Path) -> None:
    assert read_specs(None)[1] == {}
    file = tmp_path / "specs ü.json"
    file.write_text('{"a": {"memory_mib": 64, "cpus": 0.5, "warm": 3}, "b": {}}')
    specs, warm = read_specs(file)
    assert (specs["a"].memory_mib, specs["a"].cpus, warm) == (64, 0.5, {"a": 3, "b": 0})
    for text, named in (
        ("{}", "must name a spec"), ("[]", "must hold a JSON object"), ('{"a": 1}', "'a' must be an object"),
        ('{"a": {"memory": 1}}', "memory is no field"), ('{"a": {"memory_mib": 2}}', "memory_mib of a container"),
        ('{"a": {"warm": -1}}', "a.warm must be"), ('{"a": {"cpus": "1"}}', "a.cpus must be"),
    ):  # fmt: skip
        file.write_text(text)
        with pytest.raises(InputError, match=named):
            read_specs(file)
