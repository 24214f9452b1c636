"""BrowseComp's questions, over an encyclopedia here or over websites that the user allows.

evaluate --config.suite=browsecomp --config.tasks=browse_comp_test_set.csv --config.checkpoint=RUN
evaluate ... --config.interface=sdk --config.environment_options='{"encyclopedia": "wikipedia.zim"}'
evaluate ... --config.environment_options='{"hosts": ["*"], "start": "https://duckduckgo.com/"}'
"""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall
from tars_jax.environment import GUI, SDK, ActionSpace, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkVerdict
from tars_jax.envs.benchmarks.live_calls import LiveCalls
from tars_jax.envs.benchmarks.live_page import LivePage, address_of, check_hosts
from tars_jax.envs.browsing import BrowsingEnvironment
from tars_jax.envs.browsing_players import reference_move
from tars_jax.envs.interfaces import check_interface
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.browsecomp_response import question_in, response_of
from tars_jax.tasks.browsing.catalog import load_encyclopedia
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import BrowsingQuestion
from tars_jax.tasks.games.moves import Move
from tars_jax.web.network import Hosts

SIZE = (1280, 720)


def _reference_move(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """Answers at once, in the benchmark's form, as nobody has written down where the answer stands."""
    move = reference_move(state, rng, skill)
    if move.function != "finished":
        return move
    return dataclasses.replace(move, parameters={"content": response_of(move.parameters["content"])})


def _indexed(name: str) -> Encyclopedia:
    """With its index, which the first search makes: of a large one that takes minutes, once a process."""
    encyclopedia = load_encyclopedia(name)
    encyclopedia.search("a")
    return encyclopedia


class BrowseCompEnvironment(BenchmarkEnvironment):
    """BrowseComp: pages come from our search or the user's; the judge compares the answer with the benchmark's.

    Args:
      interface: gui: pages by screenshots alone; sdk: Search and LinkReader without a browser; both.
      encyclopedia: what there is to read, as `tasks/browsing/catalog.py` has it: world, foldoc, or a file of the
        user's own (.zim, .xml, .jsonl).
      hosts: in its place websites as they are now: hosts that may be reached, ["*"] for all.
      start: the address that pages begin with, where there are hosts.
      search: the address of the service that Search asks, where there are hosts (`live_calls.py`).
      size: (width, height) of the page in pixels.

    Raises InputError for options that it cannot have.
    """

    reference_player = staticmethod(_reference_move)

    def __init__(
        self, tasks: BenchmarkTasks, *, interface: str = GUI, encyclopedia: str = "world", hosts: Sequence[str] = (),
        start: str = "", search: str = "", size: Sequence[int] = SIZE, time_limit: float = 0.0,
        resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        self._interface, self._encyclopedia = check_interface(interface), encyclopedia
        self._size = (int(size[0]), int(size[1]))
        self._hosts = check_hosts(hosts) if hosts else ()
        self._start = address_of(start) if start else ""
        if bool(start) != bool(self._hosts and interface != SDK):
            raise InputError(f"option start must be the address that pages over hosts begin with; got {start!r}")
        if bool(search) != bool(self._hosts and interface != GUI):
            raise InputError(
                f"option search must be the service that Search asks where there are hosts; got {search!r}"
            )
        if start and not Hosts(self._hosts).allows_url(self._start):
            raise InputError(f"option start must be an address of one of the hosts; got {start!r}")
        self._calls = LiveCalls(self._hosts, search) if search else None
        self._browsing: BrowsingEnvironment | None = None
        self._page: LivePage | None = None
        self._response: str | None = None

    @staticmethod
    def needs_browser(options: Mapping[str, Any]) -> bool:
        return check_interface(options.get("interface", GUI)) != SDK

    @property
    def action_space(self) -> ActionSpace:
        return BrowsingEnvironment.space(self._interface)

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        self._response = None
        if self._hosts and self._interface == SDK:
            return Observation(text="Search and LinkReader read the web.", info={"state": {}})
        if self._hosts:
            opens = self.resources.pages("browsecomp")
            self._page = page = await LivePage.open(opens, self._hosts, self._start, self._size, task.seed)
            return page.observed()
        encyclopedia = await asyncio.to_thread(_indexed, self._encyclopedia)
        asked = BrowsingQuestion(entry.id, question_in(entry.instruction), (entry.reference,), self._encyclopedia)
        self._browsing = browsing = BrowsingEnvironment(
            self.resources, [asked.to_json()], interface=self._interface, size=self._size
        )
        return await browsing.begin(task, asked, encyclopedia, self._encyclopedia)

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        ending = next((each for each in actions if isinstance(each, Finished | CallUser)), None)
        if isinstance(ending, Finished):
            self._response = ending.content
        if self._browsing is not None:
            transition = await self._browsing.step(actions)
            return transition.observation, transition.terminated
        said: list[str] = []
        for action in actions:
            if action is ending:
                break
            said.append(await self._done(action))
        text = "\n".join(filter(None, said))
        if self._page is not None:
            return self._page.observed(text), ending is not None
        return Observation(text=text or "finished", info={"state": {}}), ending is not None

    async def _done(self, action: Action) -> str:
        """Carries out one action over live websites; what is to be said of it."""
        if isinstance(action, ToolCall) and self._calls is not None:
            return await self._calls.called(action.name, action.parameters)
        return await self._page.act(action) if self._page is not None else f"{action.name}: there is no screen"

    async def verify(self) -> BenchmarkVerdict:
        """The judge tells; here is what it is told of."""
        return BenchmarkVerdict(0.0, None, {"response": self._response})

    async def end(self) -> None:
        browsing, self._browsing = self._browsing, None
        page, self._page = self._page, None
        if self._calls is not None:
            await self._calls.close()
        try:
            if browsing is not None:
                await browsing.close()
        finally:
            if page is not None:
                await page.close()
