"""A full disk of the service, a client that leaves in the middle, too small quotas, and agents that break things."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tars_jax.sandbox.computer import namespace_container
from tars_jax.sandbox.computer.snapshots import copy_upper
from tars_jax.sandbox.failures import Broken
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.computers.client import ComputerClient
from tars_jax.sandbox.service.computers.kind import ComputersKind
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import Owner, ServiceConfig
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.web.running import serving
from tests.sandbox.computer.containers import needs_root
from tests.sandbox.service.conftest import ANN, OPERATOR, Service, require_containers
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.multiprocess
OWNERS = (Owner("operator", OPERATOR), Owner("ann", ANN, memory_mib=600, disk_mib=4096, processes=600))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Service]:
    """A service of which a kill leaves the computers, and whose owner may have so much."""
    require_containers()
    config = ServiceConfig(OWNERS, port=0)
    computers = ContainedComputers(kept_in=folder / "owner.json")
    sessions = ComputerSessions(computers, folder / "computers", config=SessionsConfig(collect_seconds=0.05))
    with (
        serving(make_app(config, ComputersKind(sessions)), config, plain=True) as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ANN}"}, timeout=100) as http,
    ):
        yield Service(address, sessions, http)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "small", str(place)], capture_output=True)
    if made.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted: {made.stderr!r}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    """Up to the last byte."""
    with open(place / "full", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"0" * 4096):
            pass
    return place / "full"


@needs_root
def test_a_full_disk_loses_nothing_and_says_what_was_not_kept(small_disk: Path) -> None:
    with served(small_disk) as service:
        session = service.lease(lease_seconds=600, parts=["shell"], memory_mib=128)
        path = f"/v1/sessions/{session['id']}"
        service.call(session, "run", command="x=plum")
        assert service.http.post(f"{path}/suspend", json={}).status_code == 200
        full = fill(small_disk)
        for _ in range(2):
            refusal = service.refused(session, 507, "run", command="echo $x")
            assert refusal["code"] == "sandbox_failure" and refusal["param"] == "disk", refusal
        told = service.http.get(path).json()
        assert told["suspended"] and told["live"] and told["failure"] is None
        full.unlink()
        assert service.call(session, "run", command="echo $x")["output"] == "plum\n"
        full = fill(small_disk)
        refused = service.http.post(f"{path}/snapshots", json={"name": "one"})
        assert refused.status_code == 507 and "could not be kept" in refused.json()["error"]["message"], refused.text
        assert service.http.get("/v1/snapshots").json() == {"snapshots": []}
        full.unlink()
        assert service.http.post(f"{path}/snapshots", json={"name": "one"}).status_code == 201
        kept = json.loads((small_disk / "computers" / "snapshots.json").read_text())["snapshots"]
        assert [each["name"] for each in kept] == ["one"]
        assert service.call(session, "run", command="echo $x")["output"] == "plum\n"


@needs_root
def test_a_fork_whose_client_leaves_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, goes_on = threading.Event(), threading.Event()
    layers: list[Path] = []

    def slow(disk: dict[str, Any], descriptor: int, folder: Path) -> dict[str, Any]:
        layers.append(folder)
        began.set()
        assert goes_on.wait(PATIENCE_S)
        return copy_upper(disk, descriptor, folder)

    monkeypatch.setattr(namespace_container, "copy_upper", slow)
    with served(tmp_path) as service:
        parent = service.lease(lease_seconds=600, parts=["shell"], memory_mib=64, processes=64)
        body = b'{"count": 3, "way": "files"}'
        head = f"POST /v1/sessions/{parent['id']}/fork HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ANN}\r\n"
        address = httpx.URL(service.address)
        with socket.create_connection((address.host, address.port or 0)) as client:
            client.sendall(
                head.encode() + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            assert began.wait(PATIENCE_S)
        goes_on.set()
        assert wait_until(lambda: not service.http.get(f"/v1/sessions/{parent['id']}").json()["under_way"])
        assert len(service.sessions) == 1 and layers and not any(layer.exists() for layer in layers)
        forked = service.http.post(f"/v1/sessions/{parent['id']}/fork", json={"count": 2})
        assert forked.status_code == 201 and len(service.sessions) == 3


def test_a_quota_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        first = service.lease(parts=["shell"], memory_mib=400, processes=200)
        path = f"/v1/sessions/{first['id']}"
        said = "ann has memory_mib of 400 leased, of 600, and asks for 400; release a session first"
        for answer in (
            service.http.post("/v1/sessions", json={"kind": "computer", "parts": ["shell"], "memory_mib": 400}),
            service.http.post(f"{path}/fork", json={}),
        ):
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], error["message"]) == (429, "quota", said)
        for field, more in (("disk_mib", 4000), ("processes", 500)):
            wanted = {"kind": "computer", "parts": ["shell"], "memory_mib": 64, field: more}
            answer = service.http.post("/v1/sessions", json=wanted)
            assert answer.status_code == 429 and f"ann has {field} of " in answer.json()["error"]["message"]
        assert len(service.sessions) == 1
        service.http.delete(path)
        service.lease(parts=["shell"], memory_mib=600)


def test_what_an_agent_breaks_is_told_as_that(service: Service) -> None:
    """By a word of its own, which the client raises as what it is."""
    pytest.importorskip("Xlib")
    if not Path("/usr/bin/Xvfb").exists():
        pytest.skip("Xvfb is not installed")
    session = service.lease(lease_seconds=600, parts=["shell", "desktop"], width=320, height=240)
    service.call(session, "run", command="kill -9 $(pgrep Xvfb)")
    for call in ("screenshot", "windows"):
        error = service.refused(session, 400, call)
        assert error["code"] == "broken" and "the X server was ended inside, by signal 9" in error["message"]
    assert service.call(session, "run", command="echo goes on")["output"] == "goes on\n"
    told = service.http.get(f"/v1/sessions/{session['id']}").json()
    assert told["live"] and told["failure"] is None

    async def ask() -> None:
        async with ComputerClient(service.address, ANN, lease_s=30) as client:
            computer = await client.open(parts=["shell", "desktop"], width=320, height=240)
            await computer.run("kill -9 $(pgrep Xvfb)")
            with pytest.raises(Broken, match="the X server was ended inside"):
                await computer.call("screenshot")

    asyncio.run(ask())
    service.http.delete(f"/v1/sessions/{session['id']}")
