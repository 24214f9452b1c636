"""Workers on many machines: Ray actors hold environments and browsers, the head holds the pool and the learner.

    head    Fleet           -- episode(assignment, player) -->  host: browsers, pages          one actor a machine
                pool        <--    trajectory and spans    --
    host    RaySessions     -- open, respond, close        -->  policy: an engine              one actor an accelerator
    learner RayPolicy       -- set_weights                 -->

The worker's loop and the episode are those of one machine (rollout_workers.py, episode_runner.py); only the runner is
somewhere else. A host that dies loses the episodes it was playing: their numbers are claimed again first, Ray starts
the host again, and until it is back its runners claim nothing. Needs the extra tars_jax[ray].
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Sequence
from typing import Any, Self

from tars_jax import GaveUp
from tars_jax.agent.loop import AgentConfig
from tars_jax.agent.prompts import PromptWriter
from tars_jax.envs.registry import EnvironmentResources
from tars_jax.judges import Judge
from tars_jax.rollout.activity import Activity
from tars_jax.rollout.config import FleetConfig
from tars_jax.rollout.episode_runner import EnvironmentRunner, page_resources
from tars_jax.rollout.players import EpisodeRunnerLost, Player
from tars_jax.rollout.ray_policy import connect, require_ray
from tars_jax.rollout.rollout_workers import EpisodeRunner, Record, RolloutWorkers
from tars_jax.rollout.sources import Assignment
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.browser import BrowserConfig, SandboxFailure
from tars_jax.sandbox.browser.service import browsers
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.files import decode_trajectory, encode_trajectory

RETRY_SECONDS = 0.5
log = logging.getLogger(__name__)
_HOST_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",  # accelerators are for the policy and the learner
    "RAY_USE_UVLOOP": "0",  # the browsers' pipes take asyncio's own loop
}


class _Host:
    """The actor: runners, and a browser manager for their pages where they need any."""

    def __init__(
        self, browser: BrowserConfig | None, writer: PromptWriter, agent: AgentConfig, pages: int, judge: Judge | None,
        sandbox: SandboxAddress | None,
    ) -> None:  # fmt: skip
        self._manager, resources = None, EnvironmentResources(sandbox=sandbox)
        self._elastic = browser is not None and bool(browser.max_browsers)
        if browser is not None:
            self._manager = browsers(browser, sandbox)
            resources = page_resources(self._manager, browser, pages, sandbox)
        self._runners = [EnvironmentRunner(resources, writer, agent, judge) for _ in range(pages)]
        self._free = [asyncio.Lock() for _ in range(pages)]
        self._starting = asyncio.Lock()
        self._started = False

    async def start(self) -> int:
        """Starts the browsers unless they run; the process's number."""
        async with self._starting:
            if not self._started:
                if self._manager is not None:
                    await self._manager.start()
                self._started = True
        return os.getpid()

    async def episode(
        self, runner: int, assignment: Assignment, player: Player
    ) -> tuple[bytes, list[tuple[str, float, float]]]:
        """The trajectory as a file's bytes, and the spans of its making."""
        await self.start()
        spans: list[tuple[str, float, float]] = []
        async with self._free[runner]:  # an episode that was cancelled may still be leaving
            trajectory = await self._runners[runner].episode(
                assignment, player, lambda name, start, end: spans.append((name, start, end))
            )
        return encode_trajectory(trajectory), spans

    async def rest(self) -> None:
        """Called while nothing is played: where browsers come and go, runners give back theirs."""
        if self._elastic:
            await asyncio.gather(*(runner.close() for runner in self._runners))

    async def stop(self) -> None:
        await asyncio.gather(*(runner.close() for runner in self._runners))
        if self._manager is not None:
            await self._manager.close()


class _RemoteRunner:
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
                    raise EpisodeRunnerLost(f"a host stayed away for {self._patience:.0f} seconds") from error
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
            raise EpisodeRunnerLost(str(error)) from error
        except SandboxFailure as failure:  # the host came back, and its browsers did not
            self._away = True
            raise EpisodeRunnerLost(str(failure)) from failure
        for span in spans:
            record(*span)
        return decode_trajectory(data)


class Fleet(RolloutWorkers):
    """Hosts on the machines of a Ray cluster. The same `play` and `streaming` as on one machine."""

    def __init__(
        self,
        browser: BrowserConfig | None,
        writer: PromptWriter,
        agent: AgentConfig,
        config: FleetConfig,
        activity: Activity | None = None,
        judge: Judge | None = None,
        sandbox: SandboxAddress | None = None,
    ) -> None:
        """`browser` is of each host; None where no environment needs one. `judge`, `sandbox` as `Rollouts` has them.

        Raises InputError where Ray is not installed.
        """
        self._ray = require_ray()
        super().__init__(activity)
        self._arguments = browser, writer, agent, config.pages, judge, sandbox
        self._config = config
        self._hosts: list[Any] = []

    def __enter__(self) -> Self:
        connect(self._config.address or None)  # in the main thread, which Ray wants
        return super().__enter__()

    @property
    def infrastructure(self) -> dict[str, Any]:
        """Counts of what was lost."""
        return {"hosts": len(self._hosts), "runners_lost": self.runners_lost}

    async def _open(self) -> Sequence[EpisodeRunner]:
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
        starting = asyncio.gather(*(host.start.remote() for host in self._hosts))
        try:
            self.pids = list(await asyncio.wait_for(starting, self._config.patience))
        except TimeoutError as error:
            for host in self._hosts:
                self._ray.kill(host)
            self._hosts = []
            raise GaveUp(
                f"The fleet waited {self._config.patience:g} seconds for its hosts: they need {needed:g} CPUs, and the "
                f"Ray cluster had {free:g} free."
            ) from error
        players: dict[int, Any] = {}
        return [
            _RemoteRunner(self._ray, host, number, self._config.patience, players)
            for host in self._hosts
            for number in range(self._config.pages)
        ]

    async def _rest(self) -> None:
        for host in self._hosts:
            with contextlib.suppress(self._ray.exceptions.RayError):
                await host.rest.remote()

    async def _close(self) -> None:
        for host in self._hosts:
            with contextlib.suppress(self._ray.exceptions.RayError, TimeoutError):
                await asyncio.wait_for(host.stop.remote(), timeout=30)
            self._ray.kill(host)
