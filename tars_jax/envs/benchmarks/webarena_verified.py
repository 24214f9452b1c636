"""WebArena-Verified's tasks in a page over their sites: ours, or a user's own, whose requests are recorded.

evaluate --config.suite=webarena_verified --config.tasks=config.json --config.checkpoint=RUN
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, Navigate
from tars_jax.environment import GUI, EnvironmentFailure, Observation, Task
from tars_jax.envs import shared_websites
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, BenchmarkVerdict
from tars_jax.envs.benchmarks.live_page import LivePage, blank, host_of
from tars_jax.envs.benchmarks.webarena_scoring import TIME_LIMIT_S, score, scorer_python, wrong_form
from tars_jax.envs.browsing import ACTIONS
from tars_jax.envs.computer_screen import PageScreen
from tars_jax.envs.interfaces import space_of
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.json_fields import read_json
from tars_jax.sandbox.browser.network_trace import NetworkTrace, har_of
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.site import PageSpec
from tars_jax.sandbox.computer.equipped.page import ComputerPage
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.webarena_verified import SitePlace, start_urls
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.web.network import Hosts

SIZE = (1280, 720)


class WebArenaVerifiedEnvironment(BenchmarkEnvironment):
    """An episode ends with `finished`, which says the answer as JSON; the benchmark's own evaluators score it.

    Args:
      interface: gui, as the trace is the page's.
      hosts: further hosts that pages over a user's own sites may reach, such as those of map tiles.
      size: (width, height) of the page in pixels.
      isolation: of the computers that our websites run in (`sandbox/computer/isolation.py`).
      scoring_seconds: that the evaluators may take.

    Raises InputError for options that it cannot have, and where the evaluators are not installed.
    """

    action_space = space_of(GUI, "browser", ACTIONS, ())

    def __init__(
        self, tasks: BenchmarkTasks, *, interface: str = GUI, hosts: Sequence[str] = (), size: Sequence[int] = SIZE,
        isolation: str = "auto", scoring_seconds: float = TIME_LIMIT_S, time_limit: float = 0.0,
        resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        if interface != GUI:
            raise InputError(f"option interface of webarena_verified must be gui; got {interface!r}")
        if (at := self.resources.sandbox) is not None and (at.service or at.guests):
            raise InputError("sandbox must be this machine for webarena_verified; got a service or guests")
        if not isinstance(hosts, list | tuple):
            raise InputError(f"option hosts must be a list of hosts; got {hosts!r:.100}")
        Hosts(hosts)
        self._python = scorer_python()
        self._hosts, self._size, self._kind = tuple(hosts), (int(size[0]), int(size[1])), isolation
        self._scoring_s = scoring_seconds
        self._websites: shared_websites.SharedWebsites | None = None
        self._session: WebsiteSession | None = None
        self._page: ComputerPage | Page | None = None
        self._screen: PageScreen | LivePage | None = None
        self._trace: NetworkTrace | None = None
        self._response: str | None = None
        self._whole = True

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        if self._websites is None:
            self._websites = shared_websites.acquire(self._kind)
        self._response, self._whole = None, False
        places: Mapping[str, SitePlace] = entry.record["places"]
        first, *_ = start_urls(entry.record["task"], places)
        try:
            if next(iter(places.values())).is_ours:
                await self._open_ours(places, first, task.seed)
            else:
                await self._open_others(places, first, task.seed)
        except SandboxFailure:
            self._websites.discard()
            raise
        self._whole = True
        return await self._observed("")

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        screen, said = self._screen, list[str]()
        assert screen is not None  # an episode begins with `begin`
        self._whole = False
        for action in actions:
            if isinstance(action, Finished | CallUser):
                self._response = getattr(action, "content", None)
                self._whole = True
                return await self._observed("\n".join(filter(None, said))), True
            if isinstance(action, Navigate) and isinstance(screen, PageScreen):
                action = Navigate(_absolute(screen.seen.data["url"], action.content))
            said.append(await screen.act(action))
        self._whole = True
        return await self._observed("\n".join(filter(None, said))), False

    async def verify(self) -> BenchmarkVerdict:
        trace = await self._trace.entries() if self._trace is not None else []
        if not trace:
            raise EnvironmentFailure("verifier", "the page has asked for nothing, so that its site was never shown")
        points, result = await score(self.entry.record, self._response, trace, self._python, self._scoring_s)
        details: dict[str, Any] = {"response": self._response, "har": har_of(trace), "result": result}
        if why := wrong_form(self._response):
            details["wrong_form"] = why
        return BenchmarkVerdict(points, points == 1.0, details)

    async def end(self) -> None:
        page, self._page, self._screen = self._page, None, None
        trace, self._trace = self._trace, None
        session, self._session = self._session, None
        whole, self._whole = self._whole, True
        if trace is not None:
            trace.close()
        try:
            if page is not None:
                await page.close()
        finally:
            if session is not None and self._websites is not None:
                await self._websites.give_back(session, whole=whole)

    async def close(self) -> None:
        await self.end()
        websites, self._websites = self._websites, None
        if websites is not None:
            await shared_websites.release(websites)

    async def _open_ours(self, places: Mapping[str, SitePlace], first: str, seed: int) -> None:
        assert self._websites is not None
        name, site_seed = next(iter(places.values())).website
        self._session = session = await self._websites.take(load_website(name), site_seed)
        self._page = page = await session.open_page(await self._websites.browsers(), self._size)
        self._trace = NetworkTrace(page.page.context)
        self._screen = await PageScreen.open(page, seed, first)

    async def _open_others(self, places: Mapping[str, SitePlace], first: str, seed: int) -> None:
        assert self._websites is not None
        hosts = list(dict.fromkeys([*(host_of(place.base) for place in places.values()), *self._hosts]))
        headers = {name: value for place in places.values() for name, value in place.headers.items()}
        spec = PageSpec(blank(), *self._size, network=tuple(hosts), storage=_storage(places), accepts_dialogs=True)
        self._page = page = await (await self._websites.browsers()).open(spec)
        await page.context.set_extra_http_headers(headers)
        self._trace = NetworkTrace(page.context, headers)
        self._screen = await LivePage.over(page, hosts, first, seed)

    async def _observed(self, text: str) -> Observation:
        screen = self._screen
        assert screen is not None
        state = {"url": screen.seen.data["url"], "title": screen.seen.data["title"]}
        if isinstance(screen, LivePage):
            return screen.observed(text, {"state": state})
        png, pixels, more = await screen.shown()
        return Observation.decoded(png, pixels, "\n".join(filter(None, (text, more))), {"state": state})


def _absolute(url: str, content: str) -> str:
    return content if "://" in content or content.startswith(("localhost", "127.0.0.1")) else urljoin(url, content)


def _storage(places: Mapping[str, SitePlace]) -> dict[str, Any] | None:
    """Browser storage of all sites together. Raises InputError for a file that is none."""
    files = [place.storage_state for place in places.values() if place.storage_state]
    if not files:
        return None
    kept: dict[str, Any] = {"cookies": [], "origins": []}
    for file in files:
        stored = read_json(Path(file))
        if not isinstance(stored, dict):
            raise InputError(f"{file} must be a storage state of Playwright's; got {type(stored).__name__}")
        for name in kept:
            kept[name] += stored.get(name, [])
    return kept
