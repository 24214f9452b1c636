"""Plays tasks in the environment that policies get them in: their solutions earn the reward, doing nothing does not."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from tars_jax.agent.actions import Finished
from tars_jax.environment import Task
from tars_jax.envs.website_app import WebsiteAppEnvironment, solution_of
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.task import WebsiteTask

ATTEMPTS = 2  # where a site or a page fails


class Player:
    """Keeps the sites that it has played on until it is closed. Made by `open_player`."""

    def __init__(self) -> None:
        self._kept: dict[str, WebsiteAppEnvironment] = {}

    async def reason(self, task: WebsiteTask) -> str:
        """The reason why a task must be dropped; empty: it may be kept."""
        for left in reversed(range(ATTEMPTS)):
            try:
                return await self._played(task)
            except SandboxFailure as failure:
                if not left:
                    return f"it fails in website_app: {failure.kind}"
        raise AssertionError

    async def close(self) -> None:
        for each in self._kept.values():
            await each.close()
        self._kept = {}

    async def _played(self, task: WebsiteTask) -> str:
        environment = WebsiteAppEnvironment([task.to_json()])
        beginning = Task(task.id, "website_app", 0, {}, task.max_steps)
        try:
            await environment.reset(beginning)
            if (await environment.step([Finished("")])).reward:
                return "website_app rewards doing nothing"
            for action in solution_of(task)[: task.max_steps]:  # the state is still that of the reset
                turn = await environment.step([action])
                if turn.terminated:
                    return "" if turn.reward == 1 else "website_app does not reward its solution"
            return "website_app does not reward its solution"
        finally:
            former = self._kept.pop(task.site, None)
            self._kept[task.site] = environment  # the sites that it has used wait for the next
            if former is not None:
                await former.close()


@contextlib.asynccontextmanager
async def open_player() -> AsyncIterator[Player]:
    player = Player()
    try:
        yield player
    finally:
        await player.close()
