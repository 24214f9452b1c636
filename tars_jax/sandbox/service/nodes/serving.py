"""A node that serves: its sandboxes opened, its application listening, itself joined with a manager."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import cast

from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig
from tars_jax.sandbox.service.gateway.apis import api_mounts
from tars_jax.sandbox.service.kinds import Kind
from tars_jax.sandbox.service.nodes.node import Node, NodeConfig
from tars_jax.sandbox.service.nodes.node_app import NodeApp
from tars_jax.sandbox.service.nodes.sessions import PooledKind
from tars_jax.web import running
from tars_jax.web.listening import ListenAddress, listen
from tars_jax.web.listening import address as address_of


def node_service(
    preview_domain: str = "localhost", roots: Sequence[Path] = (), assets: Path | None = None
) -> ServiceConfig:
    """Config of a node's sandbox service. Names and keys are looked at by managers: it takes any name, and no key opens
    it."""
    nobody = Owner(OPERATOR, secrets.token_urlsafe(24))
    return ServiceConfig(
        (nobody,), host="0.0.0.0", port=0, roots=tuple(roots), preview_domain=preview_domain, assets=assets
    )


@contextlib.asynccontextmanager
async def serving_node(
    config: NodeConfig, kinds: Sequence[Kind], managers: Sequence[str], key: str, address: ListenAddress | None = None,
    service: ServiceConfig | None = None,
) -> AsyncIterator[tuple[Node, str]]:  # fmt: skip
    """The node and its address, while the block runs. Raises InputError where it cannot serve or join.

    `address`: by which others reach this machine. `kinds`: their sessions' ids begin with the node's. `service`: of
    the sandbox service whose sessions it has.
    """
    address = address or ListenAddress()
    async with contextlib.AsyncExitStack() as stack:
        listening = stack.enter_context(listen(address))
        reached = address_of(listening, None)
        node = await stack.enter_async_context(Node(config, kinds))
        pooled = [cast(Kind, PooledKind(kind, node.take)) for kind in kinds]
        sandboxes = make_app(service or node_service(), *pooled, mounts=api_mounts(), openings=node.openings)
        app = NodeApp(node, sandboxes, [key])
        await stack.enter_async_context(running.serving_here(app, address, listening, sockets=True, lifespan=False))
        await node.join(managers, key, reached)
        yield node, reached
