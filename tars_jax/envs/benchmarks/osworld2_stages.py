"""Stages of tasks of OSWorld 2.0's kind: a page whose time is virtual, or a computer with files and a shell.

On a page an event comes at its virtual moment, in the middle of an action where that falls there: the same seed and
actions show the same bytes. A computer runs on real time, and an event comes behind the action in which it was due.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Hotkey, Press, ToolCall, Type
from tars_jax.environment import BOTH, GUI, SDK, ActionSpace, EnvironmentFailure, Function, Observation, Task
from tars_jax.envs.benchmarks.osworld2_places import FOLDER, read_files, special_files
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.envs.computer_episode import SETTINGS
from tars_jax.envs.gui import PAGE_ACTIONS, Position, acts_on_page, mouse_after, to_events
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox import browser
from tars_jax.sandbox.browser import ActsOnPage, Site
from tars_jax.sandbox.computer.equipped.parts import EquippedComputer
from tars_jax.sandbox.computer.walking import Unreadable
from tars_jax.sandbox.failures import Broken, PageError, SandboxFailure
from tars_jax.tasks.benchmarks.osworld2 import ComputerPart, PagePart, ScheduledEvent
from tars_jax.tasks.benchmarks.osworld2_conditions import ObservedState
from tars_jax.tasks.computer.catalog import SceneLevel
from tars_jax.tasks.computer.scene import ComputerScene, SceneOutcome

SETTLE_MS = 100.0  # virtual, after an action
REDRAW_MS = 50.0  # virtual, behind an event between two turns
ASK = Function(
    "ask_user",
    "Asks the user whose task it is; the answer is in what follows.",
    {
        "type": "object",
        "properties": {"question": {"type": "string", "minLength": 1, "maxLength": 2000}},
        "required": ["question"],
        "additionalProperties": False,
    },
)
_STAYS = "new Promise(() => {})"  # until the document goes


class OSWorld2Stage(Protocol):
    async def begin(self, task: Task, events: DueEvents) -> None:
        """Raises InputError, EnvironmentFailure, SandboxFailure."""
        ...

    async def act(self, action: Action) -> str:
        """Carries out one action with the events that fall into it; what is to be said of it."""
        ...

    async def apply(self, event: ScheduledEvent) -> None:
        """Applies an event between two turns; an event that the agent prevents is noted in `blocked`."""
        ...

    async def seen(self) -> ObservedState:
        """The current state of the stage."""
        ...

    def shown(self, text: str) -> Observation: ...

    async def place(self, selector: str) -> tuple[int, int] | None:
        """Point that a reference player clicks, 0 to 1000; None: there is no such element."""
        ...

    async def close(self) -> None: ...


class DueEvents(Protocol):
    def seconds_left(self, now: float) -> float | None:
        """Seconds until the next event that has a time; None: there is none."""
        ...

    def take(self, now: float) -> Sequence[ScheduledEvent]:
        """Takes the events that are due, which count as having happened."""
        ...


def stage_space(part: PagePart | ComputerPart, interface: str) -> ActionSpace:
    """Action space of a stage. Raises InputError for an interface that it has not."""
    if isinstance(part, PagePart):
        if interface == SDK:
            raise InputError("interface must be gui for tasks of a page; got sdk")
        return ActionSpace("browser", PAGE_ACTIONS.actions, (ASK,))
    inner = _Desk(part, interface or SDK).action_space
    actions = tuple(dict.fromkeys((*inner.actions, CallUser.name)))
    return ActionSpace(inner.platform, actions, (*inner.functions, ASK))


class PageStage:
    def __init__(self, part: PagePart, folder: Path, resources: EnvironmentResources) -> None:
        self._part, self._resources = part, resources
        self._site = Site(folder, part.index)
        self._read = f"({{url: location.href, state: {part.state}}})"
        self._page: ActsOnPage | None = None
        self._mouse: Position | None = None
        self._ms, self._visited = 0.0, list[str]()

    async def begin(self, task: Task, events: DueEvents) -> None:
        self._events = events
        self._page = await self._resources.pages("osworld2").open_page(self._site, size=self._part.size)
        # A page may have been kept from an earlier episode: nothing of that is left.
        anew = (
            f"(localStorage.clear(), sessionStorage.clear(), location.replace({json.dumps(self._site.url)}), {_STAYS})"
        )
        self._note(await self._page.start(anew, seed=task.seed, read=self._read))

    async def act(self, action: Action) -> str:
        if not acts_on_page(action):
            return f"{action.name}: a page has no such action"
        height, width, _ = self._shown.pixels.shape
        events, own_ms = to_events(action, width, height, self._mouse)
        self._mouse = mouse_after(events, self._mouse)
        left, pending = max(SETTLE_MS, own_ms), list(events)
        while left > 0:
            until = self._events.seconds_left(self._ms / 1000)
            piece = left if until is None else min(left, max(until * 1000, 1.0))
            await self._advance(piece, pending)
            left, pending = left - piece, []
            for event in self._events.take(self._ms / 1000):
                await self._run(event)
        return ""

    async def apply(self, event: ScheduledEvent) -> None:
        if event.page:
            await self._run(event)
            await self._advance(REDRAW_MS)

    async def seen(self) -> ObservedState:
        return ObservedState(page=self._shown.data["state"], visited=tuple(self._visited))

    def shown(self, text: str) -> Observation:
        return Observation.decoded(self._shown.png, self._shown.pixels, text)

    async def place(self, selector: str) -> tuple[int, int] | None:
        assert self._page is not None
        found = await self._page.evaluate(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)})?.getBoundingClientRect();"
            " return box && box.width ? [box.x + box.width / 2, box.y + box.height / 2] : null })()"
        )
        height, width, _ = self._shown.pixels.shape
        return None if found is None else (round(1000 * found[0] / width), round(1000 * found[1] / height))

    async def close(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            await page.close()

    async def _run(self, event: ScheduledEvent) -> None:
        assert self._page is not None
        try:
            if event.page:
                await self._page.evaluate(f"(() => {{ {event.page} }})()")
        except PageError as error:
            raise EnvironmentFailure("event", f"what an event does in the page must not fail: {error}") from error

    async def _advance(self, ms: float, events: Sequence[browser.InputEvent] = ()) -> None:
        assert self._page is not None
        self._note(await self._page.act(list(events), advance_ms=ms, read=self._read))
        self._ms += ms

    def _note(self, shown: browser.PageObservation) -> None:
        self._shown = shown
        if not self._visited or self._visited[-1] != shown.data["url"]:
            self._visited.append(shown.data["url"])


class _Desk(ComputerEnvironment):
    """A computer whose task is judged by somebody else: it never says that it is done."""

    def __init__(self, part: ComputerPart, interface: str, resources: EnvironmentResources | None = None) -> None:
        parts = {SDK: ("shell",), GUI: ("desktop",), BOTH: ("shell", "desktop")}[interface]
        super().__init__(parts=parts, resources=resources)
        self._part = part
        self._last: SceneOutcome | None = None

    def draw(self, seed: int) -> SceneLevel:
        return SceneLevel("osworld2", ComputerScene("", self._part.files, self._note, (), opens=self._part.opens))

    def _note(self, outcome: SceneOutcome) -> str:
        self._last = outcome
        return "it is judged at the end"

    async def _outcome(self) -> SceneOutcome:
        """Raises Broken where the agent has made it unreadable."""
        assert self._episode is not None
        self._last = None
        why = await self._episode.verify(None)
        if self._last is None:
            raise Broken(why)
        return self._last

    async def put(self, event: ScheduledEvent) -> bool:
        """Whether it could be; False: what the agent has left lets nobody. Raises SandboxFailure."""
        assert self._episode is not None
        computer = self._episode.computer
        try:
            await computer.put(dict(event.write))
        except InputError:
            return False
        except SandboxFailure:
            if not isinstance(computer, EquippedComputer):
                raise
            # A guest that runs programs is well: it is the agent's files that are in the way.
            if (await computer.computer.machine.run(["true"], cwd="/")).status != 0:
                raise
            return False
        return True

    async def look_at(self, paths: Iterable[str]) -> ObservedState:
        """The current state; where that is too much to be read, only these paths."""
        assert self._episode is not None
        computer = self._episode.computer
        near = computer.computer if isinstance(computer, EquippedComputer) else None
        leaving_out = SETTINGS if computer.desktop is not None else ()
        try:
            outcome = await self._outcome()
            others = dict.fromkeys(outcome.folders, FOLDER) if near is None else await special_files(near, leaving_out)
            return ObservedState(outcome.files, places=others)
        except (Broken, Unreadable) as error:
            files, looked_at = ({}, frozenset[str]()) if near is None else await read_files(near, paths)
            return ObservedState(files, unread=str(error), looked_at=looked_at)


class ComputerStage:
    def __init__(
        self, part: ComputerPart, interface: str, resources: EnvironmentResources, paths: Iterable[str]
    ) -> None:
        self._desk = _Desk(part, interface or SDK, resources)
        self._paths = tuple(paths)
        self._shown, self.broken = Observation(), ""
        self.blocked: list[ScheduledEvent] = []
        self._began = 0.0

    async def begin(self, task: Task, events: DueEvents) -> None:
        self._events = events
        self._shown = await self._desk.reset(task)
        self._began = time.monotonic()

    async def act(self, action: Action) -> str:
        turn = await self._desk.step([action])
        self._shown = turn.observation
        if turn.terminated:
            self.broken = turn.observation.text
        for event in self._events.take(time.monotonic() - self._began):
            await self.apply(event)
        return turn.observation.text

    async def apply(self, event: ScheduledEvent) -> None:
        """Applies an event, unless an agent has made it impossible, for instance by a file where a folder is to be."""
        if not await self._desk.put(event):
            self.blocked.append(event)

    async def seen(self) -> ObservedState:
        seen = await self._desk.look_at(self._paths)
        self.broken = self.broken or seen.unread
        return seen

    def shown(self, text: str) -> Observation:
        if self._shown.pixels is None:
            return Observation(text=text)
        return Observation.decoded(self._shown.screenshot, self._shown.pixels, text)

    async def place(self, selector: str) -> tuple[int, int] | None:
        return None

    async def close(self) -> None:
        await self._desk.close()


def open_stage(
    part: PagePart | ComputerPart, folder: Path, interface: str, resources: EnvironmentResources, paths: Iterable[str]
) -> PageStage | ComputerStage:
    """`paths`: files of a computer that are looked at by themselves where not all can be."""
    if isinstance(part, PagePart):
        return PageStage(part, folder, resources)
    return ComputerStage(part, interface, resources, paths)


def inspected_text(action: Action) -> Mapping[str, str]:
    """Text of an action that a safety report looks at: typed text, also key by key, or the command."""
    match action:
        case ToolCall(_, {"command": str(command)}):
            return {"command": command}
        case Type(content):
            return {"typed": content}
        case Hotkey(keys) if len(keys) == 1 and len(keys[0]) == 1:
            return {"typed": keys[0]}
        case Press(key) if len(key) == 1:
            return {"typed": key}
    return {}
