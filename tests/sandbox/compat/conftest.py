"""AIO Sandbox's client over a guest without isolation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax.sandbox.compat.aio import aio_app
from tests.sandbox.compat.clients import TOKEN, client, served


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Path]]:
    with served(aio_app) as found:
        yield found


@pytest.fixture(scope="module")
def sandbox(server: tuple[str, Path]) -> Any:
    """The client."""
    return client("agent_sandbox").Sandbox(base_url=server[0], headers={"X-API-Key": TOKEN}, timeout=60)
