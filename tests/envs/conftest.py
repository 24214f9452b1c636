"""Where the computers of environments are: in this process, or with a sandbox service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.browser import BrowserConfig
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.computers.kind import ComputersKind
from tars_jax.sandbox.service.computers.opening import ContainedComputers
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.web.running import serving

KEY = "the-key-of-the-learner"


@pytest.fixture(scope="session")
def service_sessions(tmp_path_factory: pytest.TempPathFactory) -> ComputerSessions:
    browsers = BrowserConfig(browsers=1, pages_per_browser=4)
    return ComputerSessions(
        ContainedComputers(),
        tmp_path_factory.mktemp("far"),
        config=SessionsConfig(max_sessions=12, per_owner=12, collect_seconds=0.05),
        browsers=browsers,
    )


@pytest.fixture(scope="session")
def service(service_sessions: ComputerSessions) -> Iterator[str]:
    """The address of a service with computers and pages upon them."""
    config = ServiceConfig((Owner(OPERATOR, KEY),), port=0, person_seconds=0.2)
    with serving(make_app(config, ComputersKind(service_sessions)), config, plain=True) as address:
        yield address


@pytest.fixture(params=["near", "far"])
def place(request: pytest.FixtureRequest) -> EnvironmentResources:
    if request.param == "near":
        return EnvironmentResources()
    return EnvironmentResources(sandbox=SandboxAddress(request.getfixturevalue("service"), key=KEY))


@pytest.fixture
def far(service: str) -> EnvironmentResources:
    return EnvironmentResources(sandbox=SandboxAddress(service, key=KEY))
