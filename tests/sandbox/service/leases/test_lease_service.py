"""A manager of leases as a real process: races of many clients, kills, what it refuses."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import sqlite3
from pathlib import Path

import httpx
import pytest

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.leases import LeaseClient, LeaseEnded, LeaseHeld, SqliteLeases
from tests.sandbox.service.leases.managers import KEY, Manager, manager

pytestmark = pytest.mark.multiprocess


async def race(addresses: list[str], clients: int, rounds: int) -> int:
    """Clients want the same few ids until each had `rounds`; between a claim and its release nobody else has one."""
    inside: dict[str, str] = {}
    fences: dict[str, int] = {}
    granted = 0

    async def one(name: str, client: LeaseClient) -> None:
        nonlocal granted
        chance = random.Random(name)
        had = 0
        while had < rounds:
            id = f"id{chance.randrange(5)}"
            try:
                lease = await client.claim(id, name, 30, place=f"place of {name} ü")
            except LeaseHeld:
                continue
            had += 1
            assert id not in inside, f"{id} was given to {name} and is {inside[id]}'s"
            assert lease.fence > fences.get(id, 0)
            inside[id], fences[id] = name, lease.fence
            granted += 1
            assert (await client.look_up(id)).holder == name
            assert (await client.renew(id, lease.fence, 20)).fence == lease.fence
            del inside[id]
            assert await client.release(id, lease.fence)

    async with contextlib.AsyncExitStack() as stack:
        all_clients = [
            await stack.enter_async_context(LeaseClient(addresses[number % len(addresses)], KEY))
            for number in range(clients)
        ]
        await asyncio.gather(*(one(f"client {n}", client) for n, client in enumerate(all_clients)))
        assert await all_clients[0].list("id") == []
    return granted


def test_many_clients_race_for_few_ids(tmp_path: Path) -> None:
    with manager(tmp_path) as running:
        assert asyncio.run(race([running.address], 24, 3)) == 24 * 3


def test_a_kill_loses_no_lease_that_was_answered(tmp_path: Path) -> None:
    answered: dict[str, int] = {}
    released: set[str] = set()

    async def claims(name: int, client: LeaseClient) -> None:
        for number in range(1000):
            id = f"c{name}-{number}"
            with contextlib.suppress(LeaseEnded):
                lease = await client.claim(id, "me", 60, place="there")
                answered[id] = lease.fence
                if number % 3 == 0:
                    await client.release(id, lease.fence)
                    released.add(id)

    async def live(running: Manager) -> None:
        async with LeaseClient(running.address, KEY, patience_s=60) as client:
            working = [asyncio.create_task(claims(name, client)) for name in range(8)]
            for _ in range(2):
                before = len(answered)
                while len(answered) < before + 60:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(running.kill)
                await asyncio.to_thread(running.start)
            before = len(answered)
            while len(answered) < before + 30:
                await asyncio.sleep(0.01)
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            assert len(set(answered.values())) == len(answered)  # no fence twice
            found = {lease.id: lease.fence for lease in await client.list("c")}
            asked = {id for id in answered if id not in released}
            lost = {id for id in asked if found.get(id) != answered[id]}
            assert lost <= {f"c{n}-{number}" for n in range(8) for number in range(0, 1000, 3)}  # on their way back
            assert len(lost) <= 8 and not released & set(found)

    with manager(tmp_path) as running:
        asyncio.run(live(running))


def test_a_lost_answer_is_asked_for_again(tmp_path: Path) -> None:
    async def live() -> None:
        with manager(tmp_path) as running:
            async with LeaseClient(running.address, KEY) as client:
                first = await client.claim("box", "ann", 120, once="word", data='{"a": "ü"}')
                again = await client.claim("box", "ann", 30, once="word")
                assert (again.fence, again.data) == (first.fence, '{"a": "ü"}')
                with pytest.raises(LeaseHeld):
                    await client.claim("box", "bob", 30, once="word")
                with pytest.raises(LeaseHeld) as held:
                    await client.claim("box", "ann", 30)
                assert 30 < held.value.left_s <= 120
                assert await client.release("box", first.fence)
                assert not await client.release("box", first.fence)
                with pytest.raises(LeaseEnded, match="it was released"):
                    await client.claim("box", "ann", 30, once="word")
                second = await client.claim("box", "bob", 60)
                assert second.fence > first.fence
                with pytest.raises(LeaseEnded, match=f"its fence is {second.fence}, not {first.fence}"):
                    await client.renew("box", first.fence)
                assert not await client.release("box", first.fence)
                assert (await client.look_up("box")).holder == "bob"
                brief = await client.claim("brief", "bob", 0.2)
                await asyncio.sleep(0.25)
                with pytest.raises(LeaseEnded, match="its time is over"):
                    await client.renew("brief", brief.fence)
                with pytest.raises(LeaseEnded, match="nobody has claimed it"):
                    await client.look_up("another")
            running.kill(signal.SIGTERM)

    asyncio.run(live())


def test_what_a_manager_refuses(tmp_path: Path) -> None:
    async def wrong_key(address: str) -> None:
        async with LeaseClient(address, "another-key") as client:
            with pytest.raises(InputError, match="Authorization must be Bearer KEY"):
                await client.look_up("a")
        async with LeaseClient("http://127.0.0.1:9", KEY, patience_s=0.2) as client:
            with pytest.raises(SandboxFailure, match="service: no manager answers"):
                await client.look_up("a")

    with manager(tmp_path) as running, httpx.Client(base_url=running.address) as http:
        asyncio.run(wrong_key(running.address))
        http.headers["Authorization"] = f"Bearer {KEY}"
        claim = {"id": "a", "holder": "ann", "seconds": 5}
        for change, named in (
            ({"id": "../a"}, "id must be"), ({"id": ""}, "id must be"), ({"id": "a" * 129}, "id must be"),
            ({"seconds": 0}, "seconds must be"), ({"seconds": None}, "seconds must be"), ({"seconds": 1e9}, "seconds"),
            ({"seconds": True}, "seconds must be"), ({"holder": 7}, "holder must be"), ({"holder": "x" * 200}, "hold"),
            ({"data": "x" * 9000}, "data must be at most 8192"), ({"secs": 5}, "'secs' is no field"),
        ):  # fmt: skip
            answer = http.post("/v1/leases/claim", json={**claim, **change})
            assert answer.status_code == 400 and named in answer.json()["error"]["message"], (change, answer.text)
        assert http.post("/v1/leases/renew", json={"id": "a"}).status_code == 400
        assert http.post("/v1/leases/claim", content=b"{").status_code == 415
        json_type = {"Content-Type": "application/json"}
        assert http.post("/v1/leases/claim", content=b"{", headers=json_type).status_code == 400
        assert http.post("/v1/leases/claim", content=b"[" * 70000, headers=json_type).status_code == 413
        assert http.get("/v1/leases", headers={"Host": "evil.example"}).status_code == 400
        assert http.get("/v1/else").status_code == 404
        assert http.delete("/v1/leases/a").status_code == 405
        assert http.get("/v1/leases/nothing").status_code == 410
        assert http.get("/v1/leases").json() == {"leases": []}
        assert http.get("/health", headers={"Authorization": ""}).json() == {"status": "ok"}

        async def second() -> None:
            async with SqliteLeases(tmp_path / "leases.sqlite"):
                pass

        with pytest.raises(InputError, match="another manager has"):
            asyncio.run(second())


def test_a_file_that_is_none_of_leases(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database " * 100)

    async def live(file: Path) -> None:
        async with SqliteLeases(file):
            pass

    for file in (tmp_path / "text", tmp_path / "text" / "below"):
        with pytest.raises(InputError, match="must be a file of leases"):
            asyncio.run(live(file))


def test_a_full_disk_gives_a_typed_failure_and_nothing_that_is_not_kept(tmp_path: Path) -> None:
    async def live() -> None:
        async with SqliteLeases(tmp_path / "leases.sqlite") as leases:
            kept = await leases.claim("kept", "ann", 60)
            pages = leases._connection.execute("PRAGMA page_count").fetchone()[0]
            leases._connection.execute(f"PRAGMA max_page_count={pages + 1}")
            failures = 0
            for number in range(12):
                try:
                    await leases.claim(f"big{number}", "ann", 60, data="x" * 8000)
                except SandboxFailure as failure:
                    assert failure.kind == "storage"
                    failures += 1
                    with pytest.raises(LeaseEnded):
                        await leases.look_up(f"big{number}")
            assert failures >= 10
            leases._connection.execute("PRAGMA max_page_count=1000000")
            assert (await leases.look_up("kept")).fence == kept.fence
            assert (await leases.claim("later", "ann", 60)).fence > kept.fence + failures

    asyncio.run(live())


def test_time_of_a_restart(tmp_path: Path) -> None:
    """A lease outlives a manager's absence by a grace, and a new start of the machine by its whole length."""
    file = tmp_path / "leases.sqlite"

    async def at(now: float, id: str, seconds: float | None = None) -> float:
        async with SqliteLeases(file, lambda: now) as leases:
            if seconds is not None:
                await leases.claim(id, "ann", seconds)
            return (await leases.look_up(id)).left_s

    assert asyncio.run(at(1000.0, "a", 30)) == 30
    assert asyncio.run(at(1005.0, "a")) == 25
    assert asyncio.run(at(1028.0, "a")) == 10  # its holder could not renew it
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE facts SET value = 'another' WHERE name = 'boot'")
    assert asyncio.run(at(3.0, "a")) == 30
    with pytest.raises(LeaseEnded):
        asyncio.run(at(3.0, "b"))


def test_the_records_are_plain(tmp_path: Path) -> None:
    async def live() -> None:
        async with SqliteLeases(tmp_path / "leases.sqlite") as leases:
            await asyncio.gather(*(leases.claim(f"id{n}", "ann", 60) for n in range(500)))
            assert leases.commits < 20, "what comes together is written together"
            assert len(leases) == 500

    asyncio.run(live())
    with sqlite3.connect(tmp_path / "leases.sqlite") as connection:
        rows = connection.execute("SELECT record FROM leases").fetchall()
    assert len(rows) == 500 and json.loads(rows[0][0])[1] == "ann"
