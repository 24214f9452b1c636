"""AndroidWorld's tasks on the phone of a server of its HTTP form, by touch.

An episode is a success as AndroidWorld counts one: its own check of the phone says so, and the agent has said that it
is done. The check is asked once before the first step, too, since some tasks are successes right after they were set
up: `score_at_start` of the verdict says what it said.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any, TextIO, TypeVar

import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs.benchmarks.android_world_actions import to_android_world
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkTasks, BenchmarkVerdict
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.phone.android_world.client import AndroidWorldClient, RequestRefused
from tars_jax.sandbox.phone.phone_lock import lock_phone
from tars_jax.tasks.benchmarks.android_world import Servers
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask

PATIENCE_S = 6000.0  # for a server that nobody plays on: as long as some episodes of others
LOOK_S = 0.5
SUCCESS = 0.5  # scores above it count as one
_Given = TypeVar("_Given")


class AndroidWorldEnvironment(BenchmarkEnvironment):
    """One server, one episode: environments of this machine wait for each other.

    Args:
      size: (width, height) in pixels that pictures are made to fit into; None: as the phone has them.
      score_first: ask the check before the first step, too.

    Raises InputError for options that it cannot have.
    """

    time_limit = PATIENCE_S + 1200.0  # a reset waits first

    def __init__(
        self, tasks: BenchmarkTasks, *, size: Sequence[int] | None = None, score_first: bool = True,
        time_limit: float = 0.0, resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        if size is not None and not (len(size) == 2 and all(type(side) is int and side >= 64 for side in size)):
            raise InputError(f"size must be a width and a height of 64 pixels or more; got {size!r}")
        self._size, self._score_first = None if size is None else (size[0], size[1]), score_first
        self._client: AndroidWorldClient | None = None
        self._lock: TextIO | None = None
        self._begun, self._ended_by, self._turn = False, "", -1
        self._at_start: float | None = None
        self._sent: list[dict[str, Any]] = []  # AndroidWorld's actions, each with its turn

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace("phone", ("left_double", *PLATFORM_ACTIONS["phone"]))

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        await self.end()
        self._type, self._index = entry.record["task_type"], entry.record["task_idx"]
        self._at_start, self._ended_by, self._sent, self._turn = None, "", [], -1
        servers = Servers.from_json(entry.record["servers"])
        client = await self._lease(servers)
        await _call(self._check_goal, servers, client, entry.instruction)
        await _call(client.initialize, self._type, self._index)
        self._begun = True
        if self._score_first:
            self._at_start = await _call(client.score, self._type, self._index)
        await _call(client.reset)
        return await self._observed("")

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        said: list[str] = []
        self._turn += 1
        for action in actions:
            for sent in to_android_world(action, *self._screen):
                self._sent.append({"step": self._turn, **sent})
                try:
                    await _call(self._held.act, sent, may_refuse=True)
                except RequestRefused as refused:
                    if refused.broke and action.name != "open_app":  # an app that there is not raises in the server
                        raise EnvironmentFailure("service", str(refused)) from refused
                    said.append(f"{action.name}: {refused}")
            if isinstance(action, Finished | CallUser):
                self._ended_by = action.name
                break
        return await self._observed("\n".join(said)), bool(self._ended_by)

    async def verify(self) -> BenchmarkVerdict:
        try:
            checked = await _call(self._held.score, self._type, self._index)
        except EnvironmentFailure as failure:
            raise EnvironmentFailure("verifier", f"{self._type} {self._index} has no score: {failure}") from failure
        score = checked if self._ended_by else 0.0
        details: dict[str, Any] = {
            "task_type": self._type, "task_idx": self._index, "checked": checked, "ended_by": self._ended_by,
            "score_at_start": self._at_start, "sent": self._sent,
        }  # fmt: skip
        if (self._at_start or 0.0) > SUCCESS:
            details["note"] = "its check was a success before the first step"
        await self.end()  # others wait for the server
        return BenchmarkVerdict(score, score > SUCCESS, details)

    async def end(self) -> None:
        client, self._client = self._client, None
        lock, self._lock = self._lock, None
        begun, self._begun = self._begun, False
        try:
            if client is not None and begun:
                await _call(client.tear_down, self._type, self._index)
        except EnvironmentFailure:
            pass  # the next episode's own setting up finds out what is wrong with the server
        finally:
            if client is not None:
                client.close()
            if lock is not None:
                lock.close()

    @property
    def _held(self) -> AndroidWorldClient:
        assert self._client is not None  # the base class begins before it acts
        return self._client

    async def _lease(self, servers: Servers) -> AndroidWorldClient:
        """One that nobody plays on and that answers. Raises EnvironmentFailure: "held", or why none does."""
        end = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            failure: EnvironmentFailure | None = None
            for address in servers.addresses:
                if (lock := lock_phone(address)) is None:
                    continue
                client = servers.client(address)
                try:
                    await _call(client.check)
                except EnvironmentFailure as error:
                    failure = error
                    client.close()
                    lock.close()
                    continue
                self._client, self._lock = client, lock
                return client
            if failure is not None:
                raise failure
            if asyncio.get_running_loop().time() > end:
                named = ", ".join(servers.addresses)
                raise EnvironmentFailure("held", f"no server was free for {PATIENCE_S:g} s of {named}")
            await asyncio.sleep(LOOK_S)

    def _check_goal(self, servers: Servers, client: AndroidWorldClient, goal: str) -> None:
        """That the server has the instance that was read: one that was started again has others."""
        if client.goal(self._type, self._index) == goal:
            return
        servers.prepare(client)
        if (found := client.goal(self._type, self._index)) != goal:
            about = f"the goal of {self._type} {self._index} of {client.address} must be {goal!r}; got {found!r}"
            raise SandboxFailure("service", about)

    async def _observed(self, text: str) -> Observation:
        pixels: np.ndarray = await _call(self._held.screenshot)
        self._screen = (pixels.shape[1], pixels.shape[0])
        if self._size is not None:
            image = Image.fromarray(pixels)
            image.thumbnail(self._size)
            pixels = np.asarray(image)
        return Observation.from_pixels(pixels, text)


async def _call(call: Callable[..., _Given], *arguments: object, may_refuse: bool = False) -> _Given:
    """In a thread. Raises EnvironmentFailure, and Refused where it may be the agent's fault."""
    try:
        return await asyncio.to_thread(functools.partial(call, *arguments))
    except SandboxFailure as failure:
        raise EnvironmentFailure(failure.kind, str(failure)) from failure
    except RequestRefused as refused:
        if may_refuse:
            raise
        raise EnvironmentFailure("service", str(refused)) from refused
