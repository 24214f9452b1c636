"""A real web application as an environment: a policy acts in the browser, or sends requests to the site's own API, and
success is read from the site's state.

./launch/websites.sh fossil trac
train --config.environment=website_app                      # the sample tasks of the sites that are installed
train --config.environment=website_app --config.environment_options='{"tasks": "tasks.jsonl", "sites": ["trac"]}'
train --config.environment=website_app --config.environment_options='{"tasks": "tasks.jsonl", "task": "trac-17"}'
train --config.environment=website_app --config.environment_options='{"sites": ["fossil"], "interface": "both"}'
train --config=website_small                                # a family of tasks that a nano policy can learn
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.agent import Response, parse_response
from tars_jax.agent.actions import Action, CallUser, Finished, Navigate, Point, ToolCall
from tars_jax.agent.calls import call_of
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.environment import BOTH, GUI, INTERFACES, SDK, Observation, Task, Transition
from tars_jax.envs import shared_websites
from tars_jax.envs.computer_screen import PageScreen
from tars_jax.envs.interfaces import check_interface, space_of
from tars_jax.envs.website_players import CONTROLS, reference_move
from tars_jax.envs.website_requests import REQUEST, answer_request, introduction
from tars_jax.plugins import Plugins
from tars_jax.sandbox.computer.equipped.page import ComputerPage
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.sampling import split_of_seed
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import installed
from tars_jax.tasks.websites.samples import sample_tasks
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import Website
from tars_jax.tasks.websites.tables import Tables, steady_tables
from tars_jax.tasks.websites.task import WebsiteTask, read_website_tasks, together

SIZE = (1280, 720)
SPACES = {each: space_of(each, "browser", PLATFORM_ACTIONS["browser"], (REQUEST,)) for each in INTERFACES}
FAMILIES = Plugins("tasks", "tars_jax.website_tasks")


class WebsiteAppEnvironment:
    """Success is that the site's state has changed by the task's effect, and by nothing else.

    A task without an answer ends as soon as it is done; one with an answer ends with `finished`, which says it.

    Args:
      tasks: a file of tasks (`tars_jax.tasks.websites.task`), or the tasks themselves as JSON objects; or
        package.module:attribute, a function that returns them; empty: the samples
        (`tars_jax.tasks.websites.samples`) of the sites that are installed.
      task: the id of one of them; empty: the seed draws one, of those that are of its split where tasks say theirs.
      sites: only tasks of these sites; (): of all.
      size: (width, height) of the page in pixels.
      interface: gui: the pages in a browser; sdk: requests to the site, without a browser; both: the policy chooses at
        each step.
      shown: (width, height) that screenshots are shrunk to, for small policies; (): as the page is.
      isolation: a kind of `sandbox/computer/isolation.py`; auto: the first that works here.

    Raises InputError for options that it cannot have, and where a site is not installed in its version.
    """

    time_limit = 300.0
    action_space = SPACES[GUI]

    def __init__(
        self, tasks: str | Sequence[Mapping[str, Any]] = "", task: str = "", size: Sequence[int] = SIZE,
        isolation: str = "auto", sites: Sequence[str] = (), shown: Sequence[int] = (), interface: str = GUI,
    ) -> None:  # fmt: skip
        self._interface = check_interface(interface)
        self.action_space = SPACES[interface]
        self._tasks = select_tasks(tasks, task, sites)
        self._sites: dict[str, Website] = {name: load_website(name) for name in {each.site for each in self._tasks}}
        for each in self._tasks:
            _check_task(each, self._sites[each.site])
        for site in self._sites.values():
            installed(site)
        self._size, self._kind = (int(size[0]), int(size[1])), isolation
        self._shown = (int(shown[0]), int(shown[1])) if shown else None
        self._websites: shared_websites.SharedWebsites | None = None
        self._session: WebsiteSession | None = None
        self._screen: PageScreen | None = None
        self._page: ComputerPage | None = None  # that the screen shows
        self._task: WebsiteTask | None = None
        self._before: Tables = {}
        self._begun = _today()
        self._by = interface  # through which the reference player shows the task
        self._left: list[Action] = []  # of the task's recorded solution, as it is shown
        self._whole = True

    @staticmethod
    def max_steps(options: Mapping[str, Any]) -> int:
        """The largest budget among the tasks that may come."""
        asked = select_tasks(options.get("tasks", ""), options.get("task", ""), options.get("sites", ()))
        return max(each.max_steps for each in asked)

    reference_player = staticmethod(reference_move)

    @property
    def instruction(self) -> str:
        return self._task.instruction if self._task else ""

    async def reset(self, task: Task) -> Observation:
        await self._end_episode()
        if self._websites is None:
            self._websites = shared_websites.acquire(self._kind)
        websites = self._websites
        self._task = asked = draw_task(self._tasks, task.seed)
        site = self._sites[asked.site]
        try:
            self._session = session = await websites.take(site, asked.seed)
            self._whole = False  # until all of the beginning has come about
            for path, fields in asked.sent_first:
                if (status := (await session.submit(path, fields))[0]) >= 400:
                    raise SandboxFailure("website", f"{asked.id}: the form at {path} was answered with {status}")
            self._before, self._begun = await steady_tables(session), _today()
            first_page = asked.start or site.first_page
            if self._interface != SDK:
                self._page = page = await session.open_page(await websites.browsers(), self._size)
                self._screen = await PageScreen.open(page, task.seed, site.origin + first_page)
        except SandboxFailure:
            websites.discard()
            raise
        wrong = asked.wrong(self._before, self._before, None)
        self._by, solution = shown_by(asked, self._interface)
        self._left = list(map(on_grid, solution))
        self._whole = True
        return await self._observed("" if self._screen else introduction(site, first_page), wrong)

    async def step(self, actions: Sequence[Action]) -> Transition:
        session, task = self._session, self._task
        assert session is not None and task is not None  # the guard resets before it steps
        said: list[str] = []
        answer: str | None = None
        ended = self._whole = False
        for action in actions:
            if self._left and on_grid(action) == self._left[0]:
                del self._left[0]
            if isinstance(action, Finished | CallUser):
                ended, answer = True, getattr(action, "content", "")
                break
            said.append(await self._do(session, action))
        now = await steady_tables(session)
        wrong = task.wrong(self._before, now, answer, (self._begun, _today()))
        self._whole = True
        success = not wrong and (ended or task.answer is None)
        text = "\n".join(filter(None, said)) or ("finished" if ended else "")
        return Transition(await self._observed(text, wrong), float(success), ended or success, success=success)

    async def close(self) -> None:
        await self._end_episode()
        websites, self._websites = self._websites, None
        if websites is not None:
            await shared_websites.release(websites)

    async def _end_episode(self) -> None:
        page, self._page, self._screen = self._page, None, None
        session, self._session = self._session, None
        whole, self._whole = self._whole, True
        try:
            if page is not None:
                await page.close()
        finally:
            if session is not None and self._websites is not None:
                await self._websites.give_back(session, whole=whole)

    async def _do(self, session: WebsiteSession, action: Action) -> str:
        screen, site = self._screen, session.site
        if isinstance(action, ToolCall):
            return await answer_request(session, action.parameters)
        if screen is None:
            return f"{action.name}: there is no screen"
        if isinstance(action, Navigate):
            address = f"http://{action.content}" if action.content.startswith("localhost") else action.content
            url = urljoin(screen.seen.data["url"], address)
            if not site.is_here(url):
                return f"navigate: an address must be one of {site.origin}; got {address!r:.200}"
            action = Navigate(url)
        return await screen.act(action)

    async def _observed(self, text: str, wrong: str) -> Observation:
        assert self._task is not None
        site, task = self._sites[self._task.site], self._task
        info: dict[str, Any] = {
            "task": task.id, "site": task.site, "wrong": wrong, "solution": list(map(call_of, self._left)),
            "by": self._by,
        }  # fmt: skip
        if form := task.about.get("form"):
            info |= {"form": form, "start": task.start or site.first_page}
        if self._screen is None or self._page is None:
            return Observation(text=text, info={"state": info})
        png, pixels, more = await self._screen.shown()
        info["url"] = self._screen.seen.data["url"]
        if form:
            info["controls"] = await self._page.page.evaluate(CONTROLS)
        words = "\n".join(filter(None, (text, more)))
        if self._shown is None:
            return Observation.decoded(png, pixels, words, {"state": info})
        small = Image.fromarray(pixels).resize(self._shown, Image.Resampling.BOX)
        return Observation.from_pixels(np.asarray(small), words, {"state": info})


def _today() -> datetime.date:
    """As the programs of sites have it, whose clocks are the machine's, in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def select_tasks(
    tasks: str | Sequence[Mapping[str, Any]], task: str = "", sites: Sequence[str] = ()
) -> tuple[WebsiteTask, ...]:
    """The tasks that may come. Raises InputError where there are none."""
    known = read_tasks(tasks)
    found = tuple(each for each in known if task in ("", each.id) and (not sites or each.site in sites))
    if not found and not any(each.site in sites for each in known) and sites:
        of_known = ", ".join(dict.fromkeys(each.site for each in known))
        raise InputError(f"sites must be some of {of_known}, of which there are tasks; got {', '.join(sites)}")
    if not found:
        raise InputError(f"task must be the id of one of {len(known)} tasks; got {task!r}")
    return found


def draw_task(tasks: Sequence[WebsiteTask], seed: int) -> WebsiteTask:
    """The one of a seed: none that is held out where a seed to train on draws, and none to train on where tasks are
    evaluated, unless all that may come are of the other side."""
    side = [each for each in tasks if each.split in ("", split_of_seed(seed))]
    return random.Random(f"website_app {seed}").choice(side or tasks)


def shown_by(task: WebsiteTask, interface: str) -> tuple[str, list[Action]]:
    """Through which interface a task is shown where a policy has `interface`, and the recorded actions, [] where there
    are none; of both by the task's id, where it can be shown by both."""
    every = {GUI: solution_of(task, GUI), SDK: solution_of(task, SDK)}
    ways = [by for by in (GUI, SDK) if interface in (by, BOTH) and (every[by] or "form" in task.about)]
    by = random.Random(task.id).choice(ways) if ways else interface
    return by, every.get(by, [])


def solution_of(task: WebsiteTask, interface: str = GUI) -> list[Action]:
    """The recorded actions that solve it, as `about` has them: `solution` in the browser, `requests` to the site. None:
    []. Raises InputError for what is no action."""
    found: list[Action] = []
    for call in task.about.get("requests" if interface == SDK else "solution", ()):
        response = parse_response(f"Action: {call}", space=SPACES[interface])
        if not isinstance(response, Response):
            raise InputError(
                f"solution of task {task.id!r} must be actions or requests; got {call!r}: {response.message}"
            )
        found += response.actions
    return found


def on_grid(action: Action) -> Action:
    """The action with whole numbers for its points: a recorded one is exact to a billionth of a pixel, which takes a
    policy a dozen tokens more to write and moves a click by less than a pixel."""
    points: dict[str, Any] = {
        field.name: Point(round(point.x), round(point.y))
        for field in dataclasses.fields(action)
        if isinstance(point := getattr(action, field.name), Point)
    }
    return dataclasses.replace(action, **points)


def read_tasks(tasks: str | Sequence[Mapping[str, Any]]) -> tuple[WebsiteTask, ...]:
    """Reads the tasks of an option `tasks`. Raises InputError."""
    if tasks == "":
        return sample_tasks()
    if isinstance(tasks, str):
        path = Path(tasks)
        if ":" in tasks and not path.exists():
            return together(FAMILIES.load(tasks)())
        changed = path.stat().st_mtime_ns if path.is_file() else 0
        return _read_file(os.fspath(path), changed)
    if not isinstance(tasks, list | tuple):
        raise InputError(f"tasks must be a file or a list of tasks; got {type(tasks).__name__}")
    return together(
        [
            each if isinstance(each, WebsiteTask) else WebsiteTask.from_json(each, f"tasks[{n}].")
            for n, each in enumerate(tasks)
        ]
    )


@functools.lru_cache(maxsize=8)
def _read_file(path: str, changed: int) -> tuple[WebsiteTask, ...]:
    return read_website_tasks(Path(path))


def _check_task(task: WebsiteTask, site: Website) -> None:
    if task.version and task.version != site.version:
        raise InputError(f"task {task.id!r} must be for {site.name} {site.version}; got {task.version}")
    for reader in task.effect.readers:
        if reader not in site.readers:
            known = ", ".join(site.readers)
            raise InputError(f"task {task.id!r}: a reader of {site.name} must be one of {known}; got {reader!r}")
    for interface in (GUI, SDK):
        solution_of(task, interface)
