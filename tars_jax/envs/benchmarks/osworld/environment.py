"""`osworld`: a task of OSWorld on a desktop of ours, from its steps to its score.

train --config.environment=osworld --config.environment_options='{"tasks": "OSWorld/evaluation_examples"}'
"""

from __future__ import annotations

import asyncio
import contextlib
import posixpath
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall
from tars_jax.agent.platforms import PLATFORM_ACTIONS
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs import shared_computers
from tars_jax.envs.benchmarks.episode import BenchmarkEnvironment, Verdict
from tars_jax.envs.benchmarks.osworld import programs
from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol, port_of, served
from tars_jax.envs.benchmarks.osworld.scoring import Scorer, scorer_python
from tars_jax.envs.benchmarks.osworld.session import SIZE, computer_spec, prepare
from tars_jax.envs.benchmarks.osworld.steps import Place, carry_out
from tars_jax.envs.computer_screen import DesktopScreen
from tars_jax.envs.interfaces import BOTH, GUI, SDK, check_interface, space_of
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.computer.guest_client import Ran
from tars_jax.sandbox.computer.parts import EquippedComputer
from tars_jax.sandbox.desktop import Desktop, Settle
from tars_jax.sandbox.failures import Broken
from tars_jax.sandbox.tools.forms import FUNCTIONS
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.benchmarks.osworld_files import CloudFile, cache_folders, cloud_files, local_copy

TOOLS = ("execute_bash", "str_replace_editor")
OPENED = Settle(first_ms=1500, quiet_ms=500, bound_ms=15_000)  # behind the steps of a task
WINDOWS_S, STILL_S = 60.0, 2.0  # for the windows of what a task launches, and without a further one
WITH_WINDOWS = frozenset((
    "google-chrome", "chromium", "vlc", "gimp", "libreoffice", "soffice", "thunderbird", "code", "nautilus", "gedit",
    "gnome-terminal", "eog", "evince", "firefox",
))  # fmt: skip
TURN_S = 60.0  # after that, no further action of a turn begins
SETTLE_S = 20.0  # Chrome writes its preferences ten seconds after they were changed
FAIL = "FAIL"
# What OSWorld's own prompts say, in our words.
INFEASIBLE = "If the task cannot be done, end with call_user() or finished(content='FAIL')."
INFEASIBLE_BY_WORDS = "If the task cannot be done, end with finished(content='FAIL')."


class OSWorldEnvironment(BenchmarkEnvironment):
    """Steps, applications and files are as the task says them; the verdict is that of desktop-env's scorers.

    An agent says that a task cannot be done by `call_user()`, or by `finished` with a content that begins with FAIL.

    Args:
      interface: gui: a screen; sdk: `tools`, without one; both.
      tools: the functions of sdk and both, by their names in `sandbox/tools/forms.py`.
      size: (width, height) of the screen in pixels; tasks were written for OSWorld's.
      isolation: a kind of `sandbox/computer/isolation.py`; auto: the first that works here.
      settle: seconds that open applications have at the end to write what they keep, as OSWorld's own runner waits.
      scorer_limit: seconds that scoring may take.

    Raises InputError for options that it cannot have, and where PyAutoGUI or the scorers are not installed.
    """

    def __init__(
        self, tasks: BenchmarkTasks, *, interface: str = GUI, tools: Sequence[str] = TOOLS, size: Sequence[int] = SIZE,
        isolation: str = "auto", settle: float = SETTLE_S, scorer_limit: float = 600.0, time_limit: float = 0.0,
        resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, time_limit=time_limit, resources=resources)
        if (at := self.resources.sandbox) is not None and (at.service or at.guests):
            raise InputError("sandbox.address and sandbox.guests must be '' for osworld, whose computers are here")
        self._interface = check_interface(interface)
        if unknown := [name for name in tools if name not in FUNCTIONS]:
            raise InputError(f"tools must be of {', '.join(FUNCTIONS)}; got {unknown[0]!r}")
        if not 0 <= settle <= 600:
            raise InputError(f"settle must be seconds, 0 to 600; got {settle!r}")
        if scorer_limit <= 0:
            raise InputError(f"scorer_limit must be more than 0 seconds; got {scorer_limit!r}")
        self._tools = tuple(tools) if interface in (SDK, BOTH) else ()
        self._kind, self._size, self._scorer_s = isolation, (int(size[0]), int(size[1])), scorer_limit
        self._settle = settle
        self._scorer = Scorer(scorer_python())
        self._programs = Path(tempfile.mkdtemp(prefix="tars_jax-osworld-"))
        programs.fill(self._programs)
        self._computers: shared_computers.NearComputers | None = None
        self._computer: EquippedComputer | None = None
        self._screen: DesktopScreen | None = None
        self._cache: Path | None = None
        self._last = ""  # FAIL, DONE, or nothing: how the agent ended it
        self._broken = ""  # how it has broken its screen

    @property
    def action_space(self) -> ActionSpace:
        functions = [FUNCTIONS[name] for name in self._tools]
        return space_of(self._interface, "computer", PLATFORM_ACTIONS["computer"], functions)

    @property
    def instruction(self) -> str:
        said = super().instruction
        return (
            f"{said}\n\n{INFEASIBLE.format(call='' if self._interface == SDK else 'call_user() or ')}" if said else ""
        )

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        self._last = self._broken = ""
        self._scorer.start()
        if self._computers is None:
            self._computers = shared_computers.acquire(self._kind)
        spec = computer_spec(self._programs, self._size, self._tools, entry.record)
        self._computer = computer = await EquippedComputer.open(await self._computers.entered(), spec)
        desktop = self._desktop
        self._cache = await asyncio.to_thread(self._filled_cache, entry)
        await prepare(computer.computer.machine, desktop, entry.record)
        steps = entry.record.get("config") or []
        await self._carry_out(steps)
        if any(step["type"] in ("launch", "open") for step in steps):
            await _windows_there(desktop, [name for step in steps if (name := _shows_window(step))])
        await desktop.screenshot(settle=OPENED)
        self._screen = DesktopScreen(desktop)
        return await self._observed("")

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        computer, screen = self._computer, self._screen
        assert computer is not None and screen is not None  # reset has begun it
        said: list[str] = []
        end = asyncio.get_running_loop().time() + TURN_S
        self._last = ""
        try:
            for action in actions:
                if isinstance(action, Finished | CallUser):
                    self._last = FAIL if isinstance(action, CallUser) or _says_fail(action.content) else "DONE"
                    break
                if asyncio.get_running_loop().time() > end:
                    said.append(f"{action.name}: not done, as the turn has taken {TURN_S:g} s already")
                elif isinstance(action, ToolCall):
                    said.append((await computer.call(action.name, action.parameters)).text or "(no output)")
                else:
                    said.append(await screen.act(action))
            return await self._observed("\n".join(each for each in said if each)), bool(self._last)
        except Broken as broken:  # by what the agent did
            self._broken = str(broken)
            return Observation(text="\n".join(filter(None, (*said, f"the screen was broken inside: {broken}")))), True

    async def verify(self) -> Verdict:
        """Postconfig comes first; what the guest or the scorer lacks is a failure, and never a score.

        What the agent has broken is its own: a screen that is no more is scored 0, as is a step of postconfig that
        cannot be done, if the metric says so.
        """
        evaluator = self.entry.record["evaluator"]
        computer, cache = self._computer, self._cache
        assert computer is not None and cache is not None
        details: dict[str, Any] = {"last": self._last}
        try:
            if not self._broken and self._last != FAIL and evaluator["func"] != "infeasible":
                if self._settle and await self._desktop.windows():
                    await asyncio.sleep(self._settle)
                if undone := await self._carry_out(evaluator.get("postconfig") or [], strict=False):
                    details["undone"] = undone
                await self._desktop.screenshot(settle=OPENED)
        except Broken as broken:
            self._broken = str(broken)
        if self._broken:
            return Verdict(0.0, False, {**details, "broken": self._broken})
        async with contextlib.AsyncExitStack() as stack:
            host, server = await stack.enter_async_context(served(self._desktop))
            ports = {"server": server}
            for name, port in (("chrome", 9222), ("vlc", 8080)):
                ports[name] = await stack.enter_async_context(port_of(computer.computer.machine, port))
            request = {
                "evaluator": evaluator, "cache": str(cache), "host": host, "ports": ports, "last": self._last,
                "size": list(self._size), "platform": "Linux",
            }  # fmt: skip
            score, found = await self._scorer.score(request, self._scorer_s)
        return Verdict(score, score >= 1.0, {**found, **details})

    async def end(self) -> None:
        computer, self._computer, self._screen = self._computer, None, None
        cache, self._cache = self._cache, None
        try:
            if computer is not None:
                await computer.close()
        finally:
            if cache is not None:
                await asyncio.to_thread(shutil.rmtree, cache, True)

    async def close(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            computers, self._computers = self._computers, None
            if computers is not None:
                stack.push_async_callback(shared_computers.release, computers)
            stack.callback(shutil.rmtree, self._programs, True)
            stack.push_async_callback(self._scorer.close)
            await self.end()

    async def look(self) -> Observation | None:
        """The screen as it is now."""
        if self._screen is None:
            return None
        png, pixels, _ = await self._screen.shown()
        return Observation.decoded(png, pixels)

    async def shell(self, script: str, timeout_s: float = 120.0) -> Ran:
        """What a bash script of whoever prepares or checks a state does inside, as the agent's user."""
        assert self._computer is not None  # reset has opened it
        machine = self._computer.computer.machine
        return await machine.run(["bash", "-c", script], env=self._desktop.env, timeout_s=timeout_s)

    @property
    def _desktop(self) -> Desktop:
        assert self._computer is not None and self._computer.desktop is not None
        return self._computer.desktop

    async def _carry_out(self, steps: Sequence[Any], *, strict: bool = True) -> list[str]:
        assert self._cache is not None
        guest = GuestProtocol.of_desktop(self._desktop)
        try:
            place = Place(guest, self._cache, self._size, self._copy_of, self.entry.folder)
            return await carry_out(steps, place, strict=strict)
        finally:
            await guest.close()

    def _copy_of(self, file: CloudFile) -> Path | None:
        folder = self.entry.folder or self.tasks.path
        caches = [cache for above in (folder, *folder.parents[:3]) for cache in cache_folders(above)]
        return local_copy(file, self.entry.record["id"], self.entry.group, caches)

    def _filled_cache(self, entry: BenchmarkTask) -> Path:
        """A folder of this episode's with what the scorer would fetch."""
        cache = Path(tempfile.mkdtemp(prefix="tars_jax-osworld-cache-"))
        for file in cloud_files(entry.record):
            if not file.path and (copy := self._copy_of(file)) is not None:
                shutil.copyfile(copy, cache / Path(file.name).name)
        return cache

    async def _observed(self, text: str) -> Observation:
        assert self._screen is not None
        if self._interface == SDK:
            return Observation(text=text or "(ready)")
        png, pixels, _ = await self._screen.shown()
        return Observation.decoded(png, pixels, text)


def _says_fail(content: str) -> bool:
    return content.strip().upper().startswith((FAIL, "INFEASIBLE"))


def _shows_window(step: Mapping[str, Any]) -> str:
    """The program of a step that launches one of those with windows; else nothing."""
    command = step["parameters"].get("command") if step["type"] == "launch" else None
    words = command.split() if isinstance(command, str) else command or [""]
    name = posixpath.basename(str(words[0]))
    return name if name in WITH_WINDOWS else ""


async def _windows_there(desktop: Desktop, launched: Sequence[str]) -> None:
    """What was launched shows itself, and no more windows come or go; a task may also launch what has none.

    The pictures that applications show while they start have no class, or say so in their titles. Raises
    EnvironmentFailure where a program that has windows shows none.
    """
    loop = asyncio.get_running_loop()
    end, seen, since = loop.time() + WINDOWS_S, None, loop.time()
    while loop.time() < end:
        shown = [(each.id, each.title) for each in await desktop.windows() if any(each.app)]
        if shown != seen:
            seen, since = shown, loop.time()
        elif shown and loop.time() - since > STILL_S and not any("Startup" in title for _, title in shown):
            return
        await asyncio.sleep(0.1)
    if launched and not seen:
        raise EnvironmentFailure("setup", f"{launched[0]} has shown no window within {WINDOWS_S:g} s")
