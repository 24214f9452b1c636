"""A service with computers and no browsers, for the tests that do no harm to it."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.computers.kind import ComputersKind
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import Owner, ServiceConfig
from tars_jax.sandbox.service.gateway.apis import api_mounts
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.web.running import serving
from tests.sandbox.service.chromium import ASSETS

OPERATOR, ANN, BOB = "operator-key", "key-of-ann", "key-of-bob"
OWNERS = (Owner("operator", OPERATOR), Owner("ann", ANN), Owner("bob", BOB, 1))


def require_containers() -> None:
    if os.geteuid() != 0 and shutil.which("bwrap") is None:
        pytest.skip("containers need root or bubblewrap")


@dataclasses.dataclass
class Service:
    """A running service, asked as ann."""

    address: str
    sessions: ComputerSessions
    http: httpx.Client

    def lease(self, **more: Any) -> dict[str, Any]:
        response = self.http.post("/v1/sessions", json={"kind": "computer", **more})
        assert response.status_code == 201, response.text
        return response.json()

    def call(self, session: dict[str, Any], name: str, **fields: Any) -> dict[str, Any]:
        response = self.http.post(f"/v1/sessions/{session['id']}/call", json={"call": {"call": name, **fields}})
        assert response.status_code == 200, response.text
        return response.json()

    def refused(self, session: dict[str, Any], status: int, name: str, **fields: Any) -> dict[str, Any]:
        response = self.http.post(f"/v1/sessions/{session['id']}/call", json={"call": {"call": name, **fields}})
        assert response.status_code == status, response.text
        return response.json()["error"]

    def release(self) -> None:
        for session in self.http.get("/v1/sessions").json()["sessions"]:
            self.http.delete(f"/v1/sessions/{session['id']}")


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    require_containers()
    config = ServiceConfig(OWNERS, port=0, max_body_megabytes=8, person_seconds=0.3)
    folder: Path = tmp_path_factory.mktemp("service")
    sessions = ComputerSessions(
        ContainedComputers(),
        folder / "computers",
        config=SessionsConfig(max_sessions=12, per_owner=12, collect_seconds=0.05),
    )
    with (
        serving(make_app(config, ComputersKind(sessions), mounts=api_mounts()), config, plain=True) as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ANN}"}, timeout=100) as http,
    ):
        yield Service(address, sessions, http)


@pytest.fixture(scope="package")
def previews(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with what launch/previews.sh has fetched."""
    require_containers()
    config = ServiceConfig(OWNERS, port=0, person_seconds=0.3, assets=ASSETS)
    sessions = ComputerSessions(
        ContainedComputers(), tmp_path_factory.mktemp("previews"), config=SessionsConfig(collect_seconds=0.05)
    )
    with (
        serving(make_app(config, ComputersKind(sessions), mounts=api_mounts()), config, plain=True) as address,
        httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ANN}"}, timeout=100) as http,
    ):
        yield Service(address, sessions, http)


@pytest.fixture(scope="package")
def computer(service: Service) -> dict[str, Any]:
    """One computer that tests share: they leave it as it was."""
    return service.lease(lease_seconds=3600)
