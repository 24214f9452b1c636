"""Nodes as actors of a Ray cluster: Ray chooses the machines and starts again what died; all else is as over HTTP.

Takes the extra tars_jax[ray]. An actor runs a node in a thread of its own, which joins the managers by itself, so that
one that Ray has started again joins as a new node without anybody's help.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import os
import secrets
import threading
from collections.abc import Mapping
from typing import Any, Self

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.nodes.kinds import make_kinds
from tars_jax.sandbox.service.nodes.node import NodeConfig
from tars_jax.sandbox.service.nodes.sandboxes import COMPUTER, Spec
from tars_jax.sandbox.service.nodes.serving import node_service, serving_node
from tars_jax.web.listening import ListenAddress

STOP_S = 60.0


@dataclasses.dataclass(frozen=True)
class RayNodesConfig:
    managers: tuple[str, ...]  # http://HOST:PORT, as the machines of the cluster reach them
    key: str = dataclasses.field(repr=False)
    warm: Mapping[Spec, int] = dataclasses.field(default_factory=dict)  # as `read_warm` reads it
    kinds: tuple[str, ...] = (COMPUTER,)  # of sessions
    nodes: int = 2
    capacity: int = 8  # of each
    cpus: float = 1  # that Ray reserves for a node
    dead_s: float = 10.0
    address: str | None = None  # of the cluster; None: the one that is connected, else one on this machine
    patience_s: float = 600.0


class _NodeActor:
    """The actor. What it is made of is said by `joined`."""

    def __init__(self, config: RayNodesConfig, name: str, host: str) -> None:
        self._stop, self._up = threading.Event(), threading.Event()
        self._said: dict[str, Any] = {}
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(config, name, host), daemon=True)
        self._thread.start()

    def _run(self, config: RayNodesConfig, name: str, host: str) -> None:
        try:
            asyncio.run(self._live(config, name, host))
        except Exception as error:  # told by `joined`
            self._error = error
            self._up.set()

    async def _live(self, config: RayNodesConfig, name: str, host: str) -> None:
        node_config = NodeConfig(name, config.capacity, dict(config.warm), config.dead_s, config.dead_s / 10)
        reached = ListenAddress(host=host or _own_address())
        service = node_service()
        kinds = make_kinds(config.kinds, config.capacity, service, node=node_config.id)
        async with serving_node(node_config, kinds, config.managers, config.key, reached, service) as (node, address):
            self._said = {"id": node.id, "address": address, "pid": os.getpid()}
            self._up.set()
            await asyncio.to_thread(self._stop.wait)

    def joined(self) -> dict[str, Any]:
        self._up.wait()
        if self._error is not None:
            raise self._error
        return self._said

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(STOP_S)


class RayNodes:
    """A context manager: nodes on the machines of a Ray cluster, spread. They end with it."""

    def __init__(self, config: RayNodesConfig, host: str = "") -> None:
        """`host`: where nodes listen; "": at the address by which the cluster knows their machine.

        Raises InputError where Ray is not installed.
        """
        try:
            self._ray = importlib.import_module("ray")
        except ImportError as error:
            raise InputError(
                f"nodes on a cluster take Ray, which is not installed ({error}): pip install 'tars_jax[ray]'"
            ) from error
        self._config, self._host = config, host
        self._actors: list[Any] = []
        self.joined: list[dict[str, Any]] = []  # id, address and pid of each when it first joined

    def __enter__(self) -> Self:
        """Raises SandboxFailure("node") where they do not join."""
        config = self._config
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not self._ray.is_initialized():
            self._ray.init(
                address=config.address, include_dashboard=False, log_to_driver=False, configure_logging=False
            )
        actor = self._ray.remote(_NodeActor).options(
            num_cpus=config.cpus, max_restarts=-1, max_concurrency=4, scheduling_strategy="SPREAD",
            runtime_env={"env_vars": {"JAX_PLATFORMS": "cpu", "RAY_USE_UVLOOP": "0"}},
        )  # fmt: skip
        run = secrets.token_hex(3)
        self._actors = [actor.remote(config, f"ray-{run}-{number}", self._host) for number in range(config.nodes)]
        try:
            waiting = [each.joined.remote() for each in self._actors]
            self.joined = self._ray.get(waiting, timeout=config.patience_s)
        except self._ray.exceptions.RayError as error:
            self.__exit__()
            raise SandboxFailure("node", f"a node of the Ray cluster did not join: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        stopping = [each.stop.remote() for each in self._actors]
        self._ray.wait(stopping, num_returns=len(stopping), timeout=STOP_S) if stopping else None
        for each in self._actors:
            self._ray.kill(each)
        self._actors = []


def _own_address() -> str:
    return importlib.import_module("ray").util.get_node_ip_address()
