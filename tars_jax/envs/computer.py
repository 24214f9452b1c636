"""A computer as an environment: tasks over the files of its home folder, done with functions such as execute_bash.

train --config.environment=computer --config.environment_options='{"task": "find_word", "level": 1}'
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.home import TooMuch
from tars_jax.sandbox.tools.forms import FUNCTIONS, Toolbox
from tars_jax.tasks.computer import catalog
from tars_jax.tasks.computer.catalog import Level
from tars_jax.tasks.computer.scene import Outcome

TOOLS = ("execute_bash",)


@dataclasses.dataclass
class _Episode:
    computer: Computer
    toolbox: Toolbox
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

    Raises InputError for options that it cannot have.
    """

    max_steps = 8
    time_limit = 180.0
    reference_player = staticmethod(catalog.reference_player)

    def __init__(self, task: str = "", level: int = 1, tools: Sequence[str] = TOOLS, isolation: str = "auto") -> None:
        catalog.check_level(task, level)
        if unknown := [name for name in tools if name not in FUNCTIONS]:
            raise InputError(f"tools must be of {', '.join(FUNCTIONS)}; got {unknown[0]!r}")
        self._task, self._level, self._tools, self._kind = task, level, tuple(tools), isolation
        self._computers: Computers | None = None
        self._episode: _Episode | None = None

    @property
    def action_space(self) -> ActionSpace:
        return ActionSpace("tools", (Finished.name,), tuple(FUNCTIONS[name] for name in self._tools))

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
        computer = await self._computers.open()
        try:
            await computer.put(level.scene.files, level.scene.folders)
            self._episode = _Episode(computer, Toolbox(computer.machine, self._tools), level)
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
        answer: str | None = None
        ended = False
        for action in actions:
            if isinstance(action, Finished | CallUser):
                ended, answer = True, getattr(action, "content", "")
                break
            said.append(await self._do(episode, action))
        episode.turn += 1
        wrong = await self._verdict(episode, answer)
        success = not wrong
        observation = self._observed(episode, "\n".join(said) or "finished", wrong)
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
                await episode.toolbox.__aexit__()

    async def _do(self, episode: _Episode, action: Action) -> str:
        if not isinstance(action, ToolCall):
            return f"{action.name}: there is no screen"
        return (await episode.toolbox.call(action.name, action.parameters)).text or "(no output)"

    async def _verdict(self, episode: _Episode, answer: str | None) -> str:
        """What is still wrong."""
        try:
            files, folders = await episode.computer.home()
        except TooMuch as error:
            return f"the home folder holds {error}"
        return episode.level.verdict(Outcome(files, folders, answer))

    def _observed(self, episode: _Episode, text: str, wrong: str) -> Observation:
        level = episode.level
        return Observation(text=text, info={"state": level.state(episode.turn), "task": level.name, "wrong": wrong})
