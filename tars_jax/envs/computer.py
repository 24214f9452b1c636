"""A computer as an environment: tasks over the files of its home folder, done with functions such as execute_bash.

train --config.environment=computer --config.environment_options='{"task": "find_word", "level": 1}'
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tars_jax import InputError
from tars_jax.agent.actions import FUNCTIONS as GUI_ACTIONS
from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall
from tars_jax.agent.functions import check_space
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.home import TooMuch
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.tools.forms import FUNCTIONS, Answer, Toolbox
from tars_jax.sandbox.tools.mcp.spec import ServerSpec, check_library, read_specs
from tars_jax.tasks.computer import catalog
from tars_jax.tasks.computer.catalog import Level
from tars_jax.tasks.computer.scene import Outcome

if TYPE_CHECKING:
    from tars_jax.sandbox.tools.mcp.functions import ForeignTools

TOOLS = ("execute_bash",)
TURN_S = (
    40.0  # after that, no further action of a turn begins: several that take long are no failure of the environment
)


@dataclasses.dataclass
class _Episode:
    computer: Computer
    toolbox: Toolbox
    foreign: ForeignTools | None  # functions of MCP servers
    level: Level
    turn: int = 0


class ComputerEnvironment:
    """Success is a verdict over files and the answer, which no output of the agent's own can change.

    A task that asks nothing ends as soon as it is done; a question ends with `finished`.

    Args:
      task: one of `tars_jax.tasks.computer.catalog.TASKS`; empty: the seed draws one.
      level: from 1 to 3.
      tools: the functions that the agent has, by their names in `sandbox/tools/forms.py`.
      isolation: a kind of `sandbox/computer/isolation.py`; auto: the first that works here.
      mcp: MCP servers that run in the computer and whose tools are functions, too: objects with the fields of
        `sandbox/tools/mcp/spec.py`'s ServerSpec, such as {"name": "time", "command": "mcp-server-time"}.
      images: the last image that a function of the turn gave is the observation's screenshot.

    Raises InputError for options that it cannot have.
    """

    max_steps = 8
    time_limit = 180.0
    reference_player = staticmethod(catalog.reference_player)

    def __init__(
        self, task: str = "", level: int = 1, tools: Sequence[str] = TOOLS, isolation: str = "auto",
        mcp: Sequence[Mapping[str, Any]] = (), images: bool = False,
    ) -> None:  # fmt: skip
        catalog.check_level(task, level)
        if unknown := [name for name in tools if name not in FUNCTIONS]:
            raise InputError(f"tools must be of {', '.join(FUNCTIONS)}; got {unknown[0]!r}")
        self._servers = read_specs(mcp)
        if self._servers:
            check_library()
        self._task, self._level, self._tools, self._kind = task, level, tuple(tools), isolation
        self._shows_images = images
        self._computers: Computers | None = None
        self._episode: _Episode | None = None

    @property
    def action_space(self) -> ActionSpace:
        """Functions of MCP servers are among them from the first reset on."""
        foreign = self._episode.foreign.functions if self._episode and self._episode.foreign else ()
        return ActionSpace("tools", (Finished.name,), (*(FUNCTIONS[name] for name in self._tools), *foreign))

    @property
    def instruction(self) -> str:
        return self._episode.level.scene.instruction if self._episode else ""

    async def reset(self, task: Task) -> Observation:
        await self._end_episode()
        if self._computers is None:
            computers = Computers(self._kind)
            await computers.__aenter__()
            self._computers = computers
        level = catalog.draw_level(self._task, self._level, task.seed)
        binds = {inside: path for server in self._servers for inside, path in server.binds.items()}
        computer = await self._computers.open(ContainerSpec(binds=binds))
        try:
            await computer.put(level.scene.files, level.scene.folders)
            foreign = await _foreign(computer, self._servers, self._tools)
            self._episode = _Episode(computer, Toolbox(computer.machine, self._tools), foreign, level)
        except BaseException:
            await computer.close()
            raise
        top = sorted({path.partition("/")[0] + "/" * ("/" in path) for path in level.scene.files})
        listed = sorted({*top, *(f"{folder.partition('/')[0]}/" for folder in level.scene.folders)})
        return self._observed(self._episode, "\n".join(listed), level.verdict(level.scene.first))

    async def step(self, actions: Sequence[Action]) -> Transition:
        episode = self._episode
        assert episode is not None  # the guard resets before it steps
        said: list[str] = []
        screenshot = b""
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
            said.append(done.text or "(no output)")
            if done.images and self._shows_images:
                screenshot = done.images[-1]
        episode.turn += 1
        wrong = await self._verdict(episode, answer)
        success = not wrong
        observation = self._observed(episode, "\n".join(said) or "finished", wrong, screenshot)
        return Transition(observation, float(success), ended or success, success=success)

    async def close(self) -> None:
        await self._end_episode()
        computers, self._computers = self._computers, None
        if computers is not None:
            await computers.__aexit__()

    async def _end_episode(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            async with contextlib.AsyncExitStack() as stack:
                stack.push_async_callback(episode.computer.close)
                if episode.foreign is not None:
                    stack.push_async_callback(episode.foreign.__aexit__)
                await episode.toolbox.__aexit__()

    async def _do(self, episode: _Episode, action: Action) -> Answer:
        if not isinstance(action, ToolCall):
            return Answer(f"{action.name}: there is no screen")
        if episode.foreign is not None and action.name in episode.foreign:
            return await episode.foreign.call(action.name, action.parameters)
        return await episode.toolbox.call(action.name, action.parameters)

    async def _verdict(self, episode: _Episode, answer: str | None) -> str:
        """What is still wrong."""
        try:
            files, folders = await episode.computer.home()
        except TooMuch as error:
            return f"the home folder holds {error}"
        return episode.level.verdict(Outcome(files, folders, answer))

    def _observed(self, episode: _Episode, text: str, wrong: str, screenshot: bytes = b"") -> Observation:
        level = episode.level
        return Observation(screenshot, text, {"state": level.state(episode.turn), "task": level.name, "wrong": wrong})


async def _foreign(computer: Computer, servers: Sequence[ServerSpec], tools: Sequence[str]) -> ForeignTools | None:
    """MCP servers, started before the agent acts. Raises InputError for functions that no grammar can write."""
    if not servers:
        return None
    from tars_jax.sandbox.tools.mcp.functions import ForeignTools

    foreign = ForeignTools(computer.machine, servers, (*GUI_ACTIONS, *tools))
    await foreign.__aenter__()
    try:
        if foreign.functions:
            check_space(ActionSpace("tools", functions=foreign.functions))
    except BaseException:
        await foreign.__aexit__()
        raise
    return foreign
