"""Episodes that another package's environment plays and scores itself: it asks its model, and here that is the policy.

What it asks first is the instruction, what it asks later is what a turn shows; what it said before stands in the
policy's windows already. Its tools are functions beside `answer`, which says something without calling any; several
calls of one turn are one message.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent import check_space
from tars_jax.agent.actions import FUNCTIONS
from tars_jax.environment import ActionSpace, EnvironmentFailure, Function, Observation, Task, Transition
from tars_jax.envs.foreign.worker import SharedWorker, Worker
from tars_jax.envs.prompt_dataset import ANSWER, answers
from tars_jax.json_fields import short_repr
from tars_jax.sandbox.tools.names import folded, free_name
from tars_jax.tasks.prompts import Message, RowSplit, one_text

STOPPING_S = 2.0  # that an environment may take to break off; one that blocks its worker takes all others with it


class ForeignEnvironment:
    """Plays one episode after another."""

    def __init__(
        self, name: str, shared: SharedWorker, rows: RowSplit, threshold: float, choices: Sequence[str]
    ) -> None:
        """`threshold`: the least reward of a success. `choices`: the only texts that can be answered; empty: any."""
        self._name, self._shared, self._rows, self._threshold = name, shared, rows, threshold
        self._answer_alone = answers(choices)
        self.action_space, self.instruction = self._answer_alone, ""
        self._tools: dict[str, str] = {}  # by the names of functions
        self._worker: Worker | None = None
        self._episode: _Episode | None = None
        self._turn = self._turns = 0

    async def reset(self, task: Task) -> Observation:
        await self._break_off()
        self._turn, self._turns = 0, task.max_steps
        self._episode = _Episode(self._name, await self._living_worker())
        asked = await self._episode.ask({"row": self._rows.row(task.seed)})
        if "asks" not in asked:
            raise EnvironmentFailure("protocol", f"{self._name} must ask its model something; got an end")
        self.instruction = _text(asked["asks"])
        self._tools, self.action_space = _functions(asked["tools"], self._answer_alone)
        return Observation()

    async def step(self, actions: Sequence[Any]) -> Transition:
        assert self._episode is not None
        self._turn += 1
        answer = await self._episode.ask({"says": self._message(actions)})
        asked = answer.get("asks", [])
        if "asks" in answer and self._turn < self._turns:
            return Transition(Observation(text=_text(asked)), success=False)
        if "asks" in answer:  # with the task's last turn behind it, the environment scores what there is
            answer = await self._episode.ask({"says": None})
        if "asks" in answer:
            raise EnvironmentFailure("protocol", f"{self._name} must end where its model has no turn left; it asked on")
        ended, self._episode = answer["ended"], None
        return Transition(
            Observation(text=_text([*asked, *ended["messages"]])),
            reward=ended["reward"],
            terminated=not ended["truncated"],
            truncated=ended["truncated"],
            success=ended["reward"] >= self._threshold,
            rewards=ended["rewards"],
        )

    async def close(self) -> None:
        await self._break_off()
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.to_thread(self._shared.release, worker)

    async def _living_worker(self) -> Worker:
        if self._worker is not None and self._worker.alive:
            return self._worker
        acquiring = asyncio.ensure_future(asyncio.to_thread(self._shared.acquire))
        try:
            worker, _ = await asyncio.shield(acquiring)
        except InputError as error:  # it could be loaded when the task was made
            raise EnvironmentFailure("worker", str(error)) from error
        except asyncio.CancelledError:  # it goes on loading, for whoever asks next
            acquiring.add_done_callback(self._give_back)
            raise
        self._worker = worker
        return worker

    def _give_back(self, acquired: asyncio.Future[tuple[Worker, Any]]) -> None:
        if not acquired.cancelled() and acquired.exception() is None:
            threading.Thread(target=self._shared.release, args=[acquired.result()[0]]).start()

    async def _break_off(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            await episode.break_off()

    def _message(self, actions: Sequence[Any]) -> dict[str, Any]:
        """The policy's actions as a message of an OpenAI model."""
        said = [str(action.parameters["text"]) for action in actions if action.name not in self._tools]
        calls = [
            {
                "id": f"call_{self._turn}_{number}",
                "type": "function",
                "function": {
                    "name": self._tools[action.name],
                    "arguments": json.dumps(dict(action.parameters), ensure_ascii=False),
                },
            }
            for number, action in enumerate(actions)
            if action.name in self._tools
        ]
        return {"role": "assistant", "content": "\n".join(said), **({"tool_calls": calls} if calls else {})}


class _Episode:
    """One that a worker plays."""

    def __init__(self, name: str, worker: Worker) -> None:
        self._name, self._worker, self._over = name, worker, False
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def hear(answer: dict[str, Any]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._answers.put_nowait, answer)

        self._number = worker.episode(hear)

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Raises EnvironmentFailure where the environment, or its worker, failed."""
        await self._send(request)
        return await self._next()

    async def break_off(self) -> None:
        """An environment that does not listen ends with its worker."""
        if self._over:
            return
        try:
            async with asyncio.timeout(STOPPING_S):
                await self._send({"stop": True})
                with contextlib.suppress(EnvironmentFailure):
                    while not self._over:
                        await self._next()
        except TimeoutError:
            await asyncio.to_thread(self._worker.kill)

    async def _send(self, request: Mapping[str, Any]) -> None:
        """In a thread: who is blocked reads nothing, and no pipe holds a long message."""
        await asyncio.to_thread(self._worker.send, {"episode": self._number, **request})

    async def _next(self) -> dict[str, Any]:
        answer = await self._answers.get()
        self._over = "asks" not in answer
        if self._over:
            self._worker.forget(self._number)
        if "gone" in answer:
            raise EnvironmentFailure("worker", f"{self._name}: {answer['gone']}")
        if "failed" in answer:
            raise EnvironmentFailure("exception", f"{self._name} raised {answer['failed']}")
        return answer


def _functions(tools: Sequence[Mapping[str, Any]], alone: ActionSpace) -> tuple[dict[str, str], ActionSpace]:
    """Names of tools by those of functions, and what can be called. Raises InputError for what no grammar can write."""
    if not tools:
        return {}, alone
    taken = {folded(name) for name in (*FUNCTIONS, ANSWER)}
    names: dict[str, str] = {}
    functions = [*alone.functions]
    for tool in (each["function"] for each in tools):
        name = free_name(tool["name"], "tool", taken)
        taken.add(folded(name))
        names[name] = tool["name"]
        schema = {"type": "object", "properties": {}, **(tool.get("parameters") or {})}
        functions.append(Function(name, tool.get("description") or "", schema))
    space = ActionSpace("tools", functions=tuple(functions))
    check_space(space)
    return names, space


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Raises InputError for pictures, which are not shown."""
    return one_text([_message(each) for each in messages]) if messages else ""


def _message(message: Mapping[str, Any]) -> Message:
    content = message.get("content") or ""
    if isinstance(content, list):
        if others := [part for part in content if part.get("type") != "text"]:
            raise InputError(f"messages must be text alone, as nothing else is shown; got {short_repr(others[0])}")
        content = "\n".join(part["text"] for part in content)
    calls = [each["function"] for each in message.get("tool_calls") or ()]  # where a dialog is told from its beginning
    text = "\n".join(filter(None, [content, *(f"{call['name']}({call['arguments']})" for call in calls)]))
    return {"role": message["role"], "content": text.encode(errors="replace").decode()}
