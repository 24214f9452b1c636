"""Leases in a real Valkey or Redis server: two managers over one store, and a server that is killed."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.leases import LeaseClient, LeaseEnded, LeaseHeld, SqliteLeases
from tars_jax.sandbox.service.leases.store import Leases
from tars_jax.sandbox.service.leases.valkey_store import ValkeyLeases
from tests.ports import free_port
from tests.sandbox.service.leases.managers import KEY, STORE, manager
from tests.sandbox.service.leases.test_lease_service import race
from tests.waiting import PATIENCE_S

needs_server = pytest.mark.skipif(
    STORE is None, reason="takes Valkey or Redis: ./launch/valkey.sh, or apt-get install one"
)
pytestmark = pytest.mark.multiprocess


class Server:
    def __init__(self, folder: Path) -> None:
        pytest.importorskip("redis", reason="takes the extra tars_jax[leases]")
        self._folder, self._port = folder, free_port()
        self.address = f"redis://127.0.0.1:{self._port}/0"
        self.start()

    def start(self) -> None:
        assert STORE is not None
        self.process = subprocess.Popen(
            [
                STORE, "--port", str(self._port), "--bind", "127.0.0.1", "--dir", str(self._folder),
                "--appendonly", "yes", "--appendfsync", "always", "--save", "",
            ],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with contextlib.suppress(InputError):
                asyncio.run(self._answers())
                return
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    async def _answers(self) -> None:
        async with ValkeyLeases(self.address):
            pass

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.kill()


@needs_server
def test_both_stores_answer_alike(server: Server, tmp_path: Path) -> None:
    async def history(leases: Leases) -> list[object]:
        said: list[object] = []

        async def one(work: object) -> None:
            try:
                got = await work  # type: ignore[misc]
                said.append(
                    got if not hasattr(got, "left_s") else (got.id, got.holder, got.place, got.data, got.seconds)
                )
                said.append(round(getattr(got, "left_s", 0), -1))
            except (LeaseHeld, LeaseEnded, InputError) as error:
                said.append((type(error), getattr(error, "why", "").replace("fence is", "")[:12]))

        async with leases:
            first = await leases.claim("a.b", "ann", 30.5, place="p ü", once="w", data="d")
            await one(leases.claim("a.b", "ann", 30, once="w"))
            await one(leases.claim("a.b", "ann", 30, once="v"))
            await one(leases.claim("a.b", "bob", 30, once="w"))
            await one(leases.renew("a.b", first.fence, 60))
            await one(leases.renew("a.b", first.fence, 1, data=""))
            await one(leases.renew("a.b", first.fence + 7))
            await one(leases.look_up("a.b"))
            await one(leases.look_up("c"))
            await one(leases.claim("no/id", "ann", 30))
            await one(leases.claim("id", "ann", 0))
            await one(leases.release("a.b", first.fence + 7))
            await one(leases.release("a.b", first.fence))
            await one(leases.release("a.b", first.fence))
            await one(leases.claim("a.b", "ann", 30, once="w"))
            short = await leases.claim("a.b", "bob", 0.1)
            assert short.fence > first.fence
            await leases.claim("a.c", "bob", 10)
            await asyncio.sleep(0.15)
            await one(leases.renew("a.b", short.fence))
            await one(leases.look_up("a.b"))
            said.append([lease.id for lease in await leases.list("a.")])
            assert (await leases.claim("a.b", "ann", 1e5)).fence > short.fence
            said.append([(lease.id, lease.seconds) for lease in await leases.list()])
        return said

    kept = asyncio.run(history(SqliteLeases(tmp_path / "leases.sqlite")))
    assert asyncio.run(history(ValkeyLeases(server.address))) == kept


@needs_server
def test_two_managers_share_one_store(server: Server, tmp_path: Path) -> None:
    with manager(tmp_path, server.address) as one, manager(tmp_path, server.address) as two:
        assert asyncio.run(race([one.address, two.address], 12, 3)) == 12 * 3

        async def one_is_killed() -> None:
            async with LeaseClient([one.address, two.address], KEY) as client:
                lease = await client.claim("kept", "ann", 60)
                await asyncio.to_thread(one.kill)
                assert (await client.look_up("kept")).fence == lease.fence
                with pytest.raises(LeaseHeld):
                    await client.claim("kept", "bob", 60)

        asyncio.run(one_is_killed())


@needs_server
def test_a_killed_server_has_lost_nothing(server: Server) -> None:
    async def live() -> None:
        async with ValkeyLeases(server.address) as leases:
            before = [await leases.claim(f"id{number}", "ann", 60) for number in range(30)]
            await asyncio.to_thread(server.kill)
            with pytest.raises(SandboxFailure, match="storage"):
                await leases.look_up("id0")
            await asyncio.to_thread(server.start)
            assert [(lease.id, lease.fence) for lease in await leases.list()] == sorted(
                (lease.id, lease.fence) for lease in before
            )
            assert (await leases.claim("more", "ann", 60)).fence == before[-1].fence + 1

    asyncio.run(live())


def test_what_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "redis.asyncio", None)
    with pytest.raises(InputError, match=r"tars_jax\[leases\]"):
        ValkeyLeases("redis://127.0.0.1:9/0")
