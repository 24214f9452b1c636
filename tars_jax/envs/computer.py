"""A computer as an environment: tasks over files, processes, windows and a local site, by functions and by a screen.

train --config.environment=computer --config.environment_options='{"task": "find_word", "level": 1}'
train --config.environment=computer --config.environment_options='{"task": "download_and_sum"}'
train --config.environment=computer --config.environment_options='{"task": "move_in_files", "interface": "both"}'
train --config.environment=computer \\
  --config.environment_options='{"task": "download_and_sum", "parts": ["shell", "browser"], "size": [320, 240]}'
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import FUNCTIONS as GUI_ACTIONS
from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall, Wait
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.environment import BOTH, GUI, SDK, ActionSpace, Observation, Task, Transition
from tars_jax.envs import shared_computers
from tars_jax.envs.computer_episode import BegunComputer, SavedEpisode
from tars_jax.envs.computer_screen import CHOOSE_FILES, DesktopScreen, PageScreen
from tars_jax.envs.interfaces import check_interface
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec, check_parts
from tars_jax.sandbox.desktop import DesktopConfig
from tars_jax.sandbox.failures import Broken, SandboxFailure
from tars_jax.sandbox.tools.file_forms import FILE_FUNCTIONS
from tars_jax.sandbox.tools.forms import FUNCTIONS, ToolResult
from tars_jax.sandbox.tools.mcp.spec import check_library, read_specs
from tars_jax.tasks.computer import catalog

TOOLS = ("execute_bash",)
STEPS, SCREEN_STEPS = 8, 32
PARTS = {GUI: ("desktop",), SDK: ("shell",), BOTH: ("shell", "desktop")}
TURN_S = 40.0  # after that, no further action of a turn begins: several long ones are no failure of the environment


class ComputerEnvironment:
    """Success is a verdict over the computer's state and the answer, which no output of the agent's own can change.

    A task that asks nothing ends as soon as it is done; a question ends with `finished`.

    For tasks of one's own, a class made of this one says in `draw` what a seed's task is: a scene with the files and
    programs that are there, the goal, and a solution, by which it has a reference player (docs/computer_python.md).

    Args:
      task: one of `tars_jax.tasks.computer.catalog.TASKS`; empty: the seed draws one that the parts can do.
      level: from 1 to 3.
      tools: the functions that the agent has, by their names in `sandbox/tools/forms.py`, where it has a shell.
      isolation: a kind of `sandbox/computer/isolation.py`; auto: the first that works here.
      mcp: MCP servers that run in the computer and whose tools are functions, too: objects with the fields of
        `sandbox/tools/mcp/spec.py`'s ServerSpec, such as {"name": "time", "command": "mcp-server-time"}.
      images: without a desktop, the last image that a function of the turn gave is the observation's screenshot.
      parts: of `computer/equipped/parts.py`: shell, desktop, browser; empty: those that the task needs, or a shell.
        Without a desktop, the browser is a page on a virtual clock, which reaches the computer's ports and files.
      interface: for tasks of files, in place of parts: gui: a file manager; sdk: `tools`, without a screen;
        both: the policy chooses at each step. Empty: as the parts say.
      size: (width, height) of the desktop's screen, or of the page, in pixels.

    Raises InputError for options that it cannot have.
    """

    time_limit = 180.0
    reference_player = staticmethod(catalog.reference_player)

    def __init__(
        self, task: str = "", level: int = 1, tools: Sequence[str] = TOOLS, isolation: str = "auto",
        mcp: Sequence[Mapping[str, Any]] = (), images: bool = False, parts: Sequence[str] = (),
        size: Sequence[int] = (1280, 720), interface: str = "", resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        catalog.check_level(task, level)
        if unknown := [name for name in tools if name not in FUNCTIONS]:
            raise InputError(f"tools must be of {', '.join(FUNCTIONS)}; got {unknown[0]!r}")
        servers = read_specs(mcp)
        if servers:
            check_library()
        self._at = None if resources is None else resources.sandbox
        self._task, self._level, self._tools, self._kind = task, level, tuple(tools), isolation
        self._parts, self._shows_images, self._interface = _parts(task, parts, interface), images, interface
        self._spec = ComputerSpec(
            (*self._parts, *(("mcp",) if servers else ())), self._tools, desktop=DesktopConfig(size[0], size[1]),
            mcp=servers, taken=(*GUI_ACTIONS, *FUNCTIONS, *FILE_FUNCTIONS),
        )  # fmt: skip
        self._computers: shared_computers.ComputerPlace | None = None
        self._episode: BegunComputer | None = None
        self._opened: BegunComputer | None = None  # from a moment, and not taken yet
        self._moments: set[SavedEpisode] = set()

    @staticmethod
    def max_steps(options: Mapping[str, Any]) -> int:
        interface = options.get("interface", "")
        parts = _parts(options.get("task", ""), options.get("parts", ()), interface)
        return SCREEN_STEPS if interface or "desktop" in parts or "browser" in parts else STEPS

    @property
    def action_space(self) -> ActionSpace:
        """Functions of MCP servers are among them from the first reset on."""
        functions = tuple(FUNCTIONS[name] for name in self._tools) if "shell" in self._parts else ()
        if self._episode is not None:
            functions = (*functions, *self._episode.computer.functions)
        if "desktop" in self._parts:
            return ActionSpace("computer", PLATFORM_ACTIONS["computer"], functions)
        if self._spec.has_page:
            return ActionSpace("browser", PLATFORM_ACTIONS["browser"], (*functions, CHOOSE_FILES))
        return ActionSpace("tools", (Finished.name,), functions)

    @property
    def instruction(self) -> str:
        return self._episode.level.scene.instruction if self._episode else ""

    def draw(self, seed: int) -> catalog.SceneLevel:
        """The task of a seed: always the same. It must be one that the parts of the computer can have."""
        if self._interface:
            rng = random.Random(f"files {seed}")
            level = catalog.draw_level(self._task or rng.choice(catalog.EITHER_WAY), self._level, seed)
            by = rng.choice((GUI, SDK)) if self._interface == BOTH else self._interface
            return level.by_shell() if by == SDK else level
        return catalog.draw_level(self._task, self._level, seed, self._parts)

    async def reset(self, task: Task) -> Observation:
        return await self.reset_in_group(task, 1)

    async def reset_in_group(self, task: Task, size: int) -> Observation:
        """Resets to one of `size` episodes of the task: without a desktop they begin from copies of one prepared
        computer."""
        await self._end_episode()
        if self._computers is None:
            self._computers = shared_computers.acquire_at(self._at, self._kind)
        shared, spec = self._computers, self._spec
        level = self.draw(task.seed)
        try:
            group = f"{task.id} {task.seed} {level.name} {self._level} {spec}"
            computer = await shared.open(spec, level.scene, group, size)
            self._episode = episode = await BegunComputer.begin(computer, level, task.seed)
        except SandboxFailure:
            if shared.fails_whole:
                shared_computers.discard(shared)
            raise
        scene = level.scene
        top = {
            path.partition("/")[0] + "/" * ("/" in path) for path in (*scene.files, *(f"{x}/" for x in scene.folders))
        }
        return await self._observed(episode, "\n".join(sorted(top)), await episode.verify(None))

    async def step(self, actions: Sequence[Action]) -> Transition:
        episode = self._episode
        assert episode is not None  # the guard resets before it steps
        said: list[str] = []
        image = b""
        answer: str | None = None
        last_begin = asyncio.get_running_loop().time() + TURN_S
        ended = False
        for action in actions:
            if isinstance(action, Finished | CallUser):
                ended, answer = True, getattr(action, "content", "")
                break
            if asyncio.get_running_loop().time() > last_begin:
                said.append(f"{action.name}: not done, as the turn has taken {TURN_S:g} s already")
                continue
            done = await self._do(episode, action)
            said.append(done.text)
            if done.images and self._shows_images:
                image = done.images[-1]
        episode.count(waited=bool(actions) and all(isinstance(action, Wait) for action in actions))
        text = "\n".join(each for each in said if each) or ("finished" if ended else "")
        try:
            wrong = await episode.verify(answer)
            success = not wrong
            observation = await self._observed(episode, text, wrong, image)
        except Broken as broken:  # by what the agent did: its own failure, and no reason to play again
            wrong = f"the computer was broken inside: {broken}"
            info = {"state": {}, "task": episode.level.name, "wrong": wrong}
            return Transition(Observation(b"", f"{text}\n{wrong}".strip(), info), 0.0, True, success=False)
        return Transition(observation, float(success), ended or success, success=success)

    async def close(self) -> None:
        await self._end_episode()
        computers, self._computers = self._computers, None
        if computers is not None:
            await shared_computers.release(computers)

    async def save_moment(self) -> SavedEpisode:
        """Files, programs and shells as they are. Raises InputError where that cannot be, and the episode goes on."""
        assert self._episode is not None  # the guard resets before it saves
        try:
            moment = await self._episode.saved()
        except SandboxFailure as failure:
            raise InputError(f"this moment cannot be kept: {failure}") from failure
        self._moments.add(moment)
        return moment

    async def open_moment(self, moment: SavedEpisode) -> None:
        """The episode at a moment, beside the one that goes on until `take_moment`. Raises as `save_moment`."""
        await self._close_opened()
        if moment not in self._moments:
            raise InputError("a moment must be one of this episode that is kept; got another")
        try:
            self._opened = await moment.open()
        except SandboxFailure as failure:
            raise InputError(f"this moment cannot be gone back to: {failure}") from failure

    async def take_moment(self) -> None:
        """Makes the opened moment the episode from now on."""
        if self._opened is None:
            raise InputError("a moment must be opened before it is taken; none is")
        before, self._episode, self._opened = self._episode, self._opened, None
        if before is not None:
            with contextlib.suppress(SandboxFailure):
                await before.close()

    async def drop_moment(self, moment: SavedEpisode) -> None:
        """Removes the moment; a second call does nothing."""
        if moment in self._moments:
            self._moments.remove(moment)
            await moment.remove()

    async def _close_opened(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def look(self) -> Observation | None:
        """A desktop as it is now; None where the screen stands still until somebody acts."""
        screen = None if self._episode is None else self._episode.screen
        if not isinstance(screen, DesktopScreen):
            return None
        png, pixels, _ = await screen.shown()
        return Observation.decoded(png, pixels)

    async def _end_episode(self) -> None:
        episode, self._episode = self._episode, None
        async with contextlib.AsyncExitStack() as stack:
            if episode is not None:
                stack.push_async_callback(episode.close)
            stack.push_async_callback(self._close_opened)
            for moment in list(self._moments):
                stack.push_async_callback(self.drop_moment, moment)

    async def _do(self, episode: BegunComputer, action: Action) -> ToolResult:
        if isinstance(action, ToolCall) and action.name == CHOOSE_FILES.name and isinstance(episode.screen, PageScreen):
            return ToolResult(await episode.screen.choose_files(action.parameters))
        if isinstance(action, ToolCall):
            done = await episode.computer.call(action.name, action.parameters)
            return done if done.text else ToolResult("(no output)", done.images)
        if episode.screen is None:
            return ToolResult(f"{action.name}: there is no screen")
        return ToolResult(await episode.screen.act(action))

    async def _observed(self, episode: BegunComputer, text: str, wrong: str, image: bytes = b"") -> Observation:
        state = await episode.state(wrong)
        info = {"state": state, "task": episode.level.name, "wrong": wrong}
        if episode.screen is None:
            return Observation(image, text, info)
        png, pixels, more = await episode.screen.shown()
        return Observation.decoded(png, pixels, "\n".join(filter(None, (text, more))), info)


def _parts(task: Any, parts: Sequence[str], interface: str) -> tuple[str, ...]:
    """Raises InputError for parts that a task cannot do without, and for those that there are not; for an interface to
    a task that has but one."""
    if interface:
        if parts:
            raise InputError(f"parts must be left out where interface says them; got {', '.join(parts)}")
        if task not in ("", *catalog.EITHER_WAY):
            raise InputError(f"task must be one of {', '.join(catalog.EITHER_WAY)} with an interface; got {task!r}")
        return PARTS[check_interface(interface)]
    needed = catalog.NEEDS.get(task, ("shell",))
    if not parts:
        return needed
    check_parts(tuple(parts))
    if task and (missing := [part for part in needed if part not in parts]) and not catalog.suits(task, parts):
        raise InputError(f"parts must have {missing[0]} for the task {task}; got {', '.join(parts)}")
    if not catalog.tasks_for(parts):
        raise InputError(f"parts must be those of a task; got {', '.join(parts)}")
    return tuple(parts)
