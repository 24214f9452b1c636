"""An engine in an actor of a Ray cluster, for players on other machines; the learner hands it weights."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import numpy as np

from tars_jax import GaveUp, InputError
from tars_jax.agent.loop import PolicySession, ask_to_remember
from tars_jax.agent.window import SampledResponse


def require_ray() -> Any:
    """The module ray. Raises InputError that names the extra where it is not installed."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise InputError(f"a fleet takes Ray, which is not installed ({error}): pip install 'tars_jax[ray]'") from error


def connect(address: str | None = None) -> None:
    """Joins the cluster at `address`, unless this process has joined one. Without an address it starts its own, which
    reports no usage to Ray's makers unless RAY_USAGE_STATS_ENABLED says 1.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = require_ray()
    if not ray.is_initialized():
        ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)


class _PolicyHost:
    """The actor: an engine, and the sessions of hosts on other machines."""

    def __init__(self, make_engine: Callable[[], Any], place: Callable[[Any], Any]) -> None:
        self._place = place
        self._open = contextlib.ExitStack()
        self._engine = self._open.enter_context(make_engine())
        self._sessions: dict[int, tuple[Any, PolicySession, contextlib.AsyncExitStack]] = {}
        self._given_up: set[int] = set()  # closed before they were open: Ray starts an actor's calls in any order

    async def open(self, number: int, owner: tuple[str, int], seed: int) -> None:
        """Session `number` for a process `owner` (actor, process number); those of its predecessors are closed."""
        for earlier, (other, _, _) in list(self._sessions.items()):
            if other[0] == owner[0] and other != owner:
                await self.close(earlier)
        stack = contextlib.AsyncExitStack()
        session = await stack.enter_async_context(self._engine.session(seed))
        if number in self._given_up:
            self._given_up.remove(number)
            await stack.aclose()
        else:
            self._sessions[number] = owner, session, stack

    async def respond(
        self, number: int, tokens: Sequence[int], images: Sequence[np.ndarray], restart: bool
    ) -> SampledResponse:
        return await self._sessions[number][1].respond(tokens, images, restart=restart)

    async def remember(self, number: int, tokens: Sequence[int], most: int, usual: str) -> SampledResponse:
        return await ask_to_remember(self._sessions[number][1], tokens, most, usual)

    async def close(self, number: int) -> None:
        """Closes a session; one that is not open yet is closed as soon as it is."""
        if number not in self._sessions:
            self._given_up.add(number)
            return
        _, _, stack = self._sessions.pop(number)
        await stack.aclose()

    async def sessions(self) -> int:
        """Number of open sessions."""
        return len(self._sessions)

    async def statistics(self) -> Any:
        return self._engine.statistics()

    async def set_weights(self, parameters: Any, version: int) -> None:
        self._engine.set_weights(self._place(parameters), version)

    async def stop(self) -> None:
        self._open.close()


@dataclasses.dataclass(frozen=True)
class RaySessions:
    """Sessions of an engine in another process; goes to hosts with the player that uses it."""

    policy: Any  # the actor's handle

    @contextlib.asynccontextmanager
    async def session(self, seed: int) -> AsyncIterator[PolicySession]:
        actor = require_ray().get_runtime_context().get_actor_id() or "head"
        # The number is ours: a session whose opening nobody waits for any longer can be closed, too.
        number = secrets.randbits(63)
        try:
            await self.policy.open.remote(number, (actor, os.getpid()), seed)
            yield _RaySession(self.policy, number)
        finally:
            await self.policy.close.remote(number)


@dataclasses.dataclass(frozen=True)
class _RaySession:
    policy: Any
    number: int

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> SampledResponse:
        return await self.policy.respond.remote(self.number, tokens, images, restart)

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> SampledResponse:
        return await self.policy.remember.remote(self.number, tokens, most, usual)


class RayPolicy:
    """An engine in an actor of its own, as the head sees it. Use as a context manager."""

    def __init__(
        self,
        make_engine: Callable[[], Any],
        *,
        place: Callable[[Any], Any] = lambda parameters: parameters,
        cpus: float = 1,
        gpus: float = 0,
        address: str | None = None,
        patience: float = 3600.0,
    ) -> None:
        """Starts the actor and waits for its engine, for `patience` seconds at most; raises GaveUp then.

        `make_engine` gives the engine and `place` lays numpy weights out as the engine's are; both are called in the
        actor's process.
        """
        connect(address)
        self._ray = require_ray()
        actor = self._ray.remote(_PolicyHost).options(num_cpus=cpus, num_gpus=gpus, max_concurrency=1000)
        self._actor = actor.remote(make_engine, place)
        try:
            self._ray.get(self._actor.sessions.remote(), timeout=patience)
        except self._ray.exceptions.GetTimeoutError as error:
            self._ray.kill(self._actor)
            raise GaveUp(
                f"The policy's engine did not come up within {patience:g} seconds: it needs {cpus:g} CPUs and {gpus:g} "
                "GPUs of the Ray cluster, and the time to load."
            ) from error
        self.version = 0

    @property
    def sessions(self) -> RaySessions:
        """The source of sessions for `engine_player`."""
        return RaySessions(self._actor)

    def open_sessions(self) -> int:
        return int(self._ray.get(self._actor.sessions.remote()))

    def statistics(self) -> Any:
        """The `EngineStatistics` of the engine."""
        return self._ray.get(self._actor.statistics.remote())

    def set_weights(self, parameters: Any, version: int) -> None:
        """Hands over weights, a tree of arrays that this process can read whole; returns when they are in use."""
        host_arrays = _to_host(parameters)
        self._ray.get(self._actor.set_weights.remote(self._ray.put(host_arrays), version))
        self.version = version

    def __enter__(self) -> RayPolicy:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.get(self._actor.stop.remote(), timeout=30)
        self._ray.kill(self._actor)


def _to_host(tree: Any) -> Any:
    return {name: _to_host(each) for name, each in tree.items()} if isinstance(tree, dict) else np.asarray(tree)
