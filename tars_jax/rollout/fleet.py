"""Workers on many machines: Ray actors hold the browsers, the head holds the pool and the learner.

    head    Fleet (a crew)  -- episode(assignment, player) -->  host: browsers, pages          one actor a machine
                pool        <--    trajectory and spans    --
    host    RaySessions     -- open, respond, close        -->  policy: an engine              one actor an accelerator
    learner RayPolicy       -- set_weights                 -->

The worker's loop and the episode are those of one machine (crew.py, workers.py); only the seat is somewhere else. A
host that dies loses the episodes it was playing: their numbers are claimed again first, Ray starts the host again, and
until it is back its seats claim nothing. Needs the extra tars_jax[ray].
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Self

import numpy as np

from tars_jax import InputError
from tars_jax.agent.loop import AgentConfig, PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.window import Sampled
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.crew import Crew, Record, Seat
from tars_jax.rollout.players import Player, SeatLost
from tars_jax.rollout.sources import Assignment
from tars_jax.rollout.workers import page_seats
from tars_jax.sandbox.browser import BrowserConfig, SandboxFailure
from tars_jax.sandbox.browser.service import browsers
from tars_jax.trajectory import Trajectory, decode_trajectory, encode_trajectory

RETRY_SECONDS = 0.5
log = logging.getLogger(__name__)
_HOST_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",  # accelerators are for the policy and the learner
    "RAY_USE_UVLOOP": "0",  # the browsers' pipes take asyncio's own loop
}


def require_ray() -> Any:
    """The module ray. Raises InputError that names the extra where it is not installed."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise InputError(f"a fleet takes Ray, which is not installed ({error}): pip install 'tars_jax[ray]'") from error


@dataclasses.dataclass(frozen=True)
class FleetConfig:
    hosts: int = 2  # actors with a browser manager each
    pages: int = 4  # of each host, each a seat
    cpus: float = 1  # that Ray reserves for a host
    patience: float = 600.0  # seconds that a host may stay away before its seats are given up
    address: str | None = None  # of a Ray cluster; None: the one that is connected, else one on this machine


class _Host:
    """The actor: a browser manager and its pages."""

    def __init__(self, browser: BrowserConfig, writer: PromptWriter, agent: AgentConfig, pages: int) -> None:
        self._manager = browsers(browser)
        self._seats = page_seats(self._manager, browser, writer, agent, pages)
        self._free = [asyncio.Lock() for _ in range(pages)]
        self._starting = asyncio.Lock()
        self._started = False

    async def start(self) -> int:
        """Starts the browsers unless they run; the process's number."""
        async with self._starting:
            if not self._started:
                await self._manager.start()
                self._started = True
        return os.getpid()

    async def episode(
        self, seat: int, assignment: Assignment, player: Player
    ) -> tuple[bytes, list[tuple[str, float, float]]]:
        """The trajectory as a file's bytes, and the spans of its making."""
        await self.start()
        spans: list[tuple[str, float, float]] = []
        async with self._free[seat]:  # an episode that was cancelled may still be leaving
            trajectory = await self._seats[seat].episode(
                assignment, player, lambda name, start, end: spans.append((name, start, end))
            )
        return encode_trajectory(trajectory), spans

    async def stop(self) -> None:
        await self._manager.close()


class _RemoteSeat:
    """One page of a host, seen from the head."""

    def __init__(self, ray: Any, host: Any, number: int, patience: float, players: dict[int, Any]) -> None:
        self._ray, self._host, self._number, self._patience = ray, host, number, patience
        self._players = players  # by id, in Ray's object store: sent once, not with every episode
        self._away = False

    async def ready(self) -> None:
        deadline = time.monotonic() + self._patience
        while self._away:
            try:
                await self._host.start.remote()
                self._away = False
            except (self._ray.exceptions.RayActorError, SandboxFailure) as error:
                if time.monotonic() > deadline:
                    raise SeatLost(f"a host stayed away for {self._patience:.0f} seconds") from error
                await asyncio.sleep(RETRY_SECONDS)

    async def episode(self, assignment: Assignment, player: Player, record: Record) -> Trajectory:
        if id(player) not in self._players:
            self._players[id(player)] = player, self._ray.put(player)
        call = self._host.episode.remote(self._number, assignment, self._players[id(player)][1])
        try:
            data, spans = await call
        except asyncio.CancelledError:
            self._ray.cancel(call)
            raise
        except self._ray.exceptions.RayActorError as error:
            if isinstance(error, self._ray.exceptions.RayTaskError):  # of an actor that the host called: the policy's
                raise
            self._away = True
            raise SeatLost(str(error)) from error
        except SandboxFailure as failure:  # the host came back, and its browsers did not
            self._away = True
            raise SeatLost(str(failure)) from failure
        for span in spans:
            record(*span)
        return decode_trajectory(data)


class Fleet(Crew):
    """Hosts on the machines of a Ray cluster. The same `play` and `streaming` as on one machine."""

    def __init__(
        self,
        browser: BrowserConfig,
        writer: PromptWriter,
        agent: AgentConfig,
        config: FleetConfig,
        activity: Activity | None = None,
    ) -> None:
        """`browser` is of each host. Raises InputError where Ray is not installed."""
        self._ray = require_ray()
        super().__init__(activity)
        self._arguments = browser, writer, agent, config.pages
        self._config = config
        self._hosts: list[Any] = []

    def __enter__(self) -> Self:
        connect(self._config.address)  # in the main thread, which Ray wants
        return super().__enter__()

    @property
    def infrastructure(self) -> dict[str, Any]:
        """Counts of what was lost."""
        return {"hosts": len(self._hosts), "seats_lost": self.seats_lost}

    async def _open(self) -> Sequence[Seat]:
        needed, free = self._config.hosts * self._config.cpus, self._ray.available_resources().get("CPU", 0.0)
        if needed > free:  # a cluster may grow; where it does not, nothing else would be said
            log.warning("the fleet waits for %g CPUs of the Ray cluster, which has %g free", needed, free)
        actor = self._ray.remote(_Host).options(
            num_cpus=self._config.cpus,
            max_restarts=-1,
            max_concurrency=4 * self._config.pages,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": _HOST_ENVIRONMENT},
        )
        self._hosts = [actor.remote(*self._arguments) for _ in range(self._config.hosts)]
        self.pids = list(await asyncio.gather(*(host.start.remote() for host in self._hosts)))
        players: dict[int, Any] = {}
        return [
            _RemoteSeat(self._ray, host, number, self._config.patience, players)
            for host in self._hosts
            for number in range(self._config.pages)
        ]

    async def _close(self) -> None:
        for host in self._hosts:
            with contextlib.suppress(self._ray.exceptions.RayError, TimeoutError):
                await asyncio.wait_for(host.stop.remote(), timeout=30)
            self._ray.kill(host)


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

    async def open(self, number: int, owner: tuple[str, int], seed: int) -> None:
        """Session `number` for a process `owner` (actor, process number); those of its predecessors are closed."""
        for earlier, (other, _, _) in list(self._sessions.items()):
            if other[0] == owner[0] and other != owner:
                await self.close(earlier)
        stack = contextlib.AsyncExitStack()
        session = await stack.enter_async_context(self._engine.session(seed))
        self._sessions[number] = owner, session, stack

    async def respond(self, number: int, tokens: Sequence[int], images: Sequence[np.ndarray], restart: bool) -> Sampled:
        return await self._sessions[number][1].respond(tokens, images, restart=restart)

    async def close(self, number: int) -> None:
        """Closing one that was never opened does nothing."""
        if number in self._sessions:
            _, _, stack = self._sessions.pop(number)
            await stack.aclose()

    async def sessions(self) -> int:
        """How many are open."""
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

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        return await self.policy.respond.remote(self.number, tokens, images, restart)


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
    ) -> None:
        """Starts the actor and waits for its engine.

        `make_engine` gives the engine and `place` lays numpy weights out as the engine's are; both are called in the
        actor's process.
        """
        connect(address)
        self._ray = require_ray()
        actor = self._ray.remote(_PolicyHost).options(num_cpus=cpus, num_gpus=gpus, max_concurrency=1000)
        self._actor = actor.remote(make_engine, place)
        self._ray.get(self._actor.sessions.remote())
        self.version = 0

    @property
    def sessions(self) -> RaySessions:
        """For `engine_player`."""
        return RaySessions(self._actor)

    def open_sessions(self) -> int:
        return int(self._ray.get(self._actor.sessions.remote()))

    def statistics(self) -> Any:
        """The engine's `EngineStatistics`."""
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
