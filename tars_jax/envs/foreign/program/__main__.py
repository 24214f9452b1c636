"""Plays episodes of another package's environments, in the Python that has the package.

    python -I -X utf8 FOLDER verifiers        (stdin: requests; stdout: answers; objects of JSON, one a line)

What an environment prints goes to stderr. The first request loads one, in the main thread and before there is an event
loop, as its package may start one: {"load": ID, "arguments": {}, "path": [folders of the user's own modules]}. The
answer is {"loaded": {"rows": [[key of a prompt, its characters, side], ...], "max_turns", "threshold"}}, or
{"refused": why}, which is the end.

Then episodes, any number at once, by numbers of the owner's: {"episode": 3, "row": 17} begins one. It is answered by
{"episode": 3, "asks": [new messages], "tools": []} each time that a model is asked; what that says comes as
{"episode": 3, "says": message}, where null says that it has no turn left. The end is {"episode": 3, "ended": {"reward",
"rewards", "messages", "truncated"}} or {"episode": 3, "failed": why}. {"episode": 3, "stop": true} breaks one off. When
stdin closes, the owner has gone.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

LEAVING_S = 5.0  # that an environment may take to tidy up when the owner has gone
PACKAGES = {"verifiers": "of_verifiers", "skyrl_gym": "of_skyrl_gym"}


class RequestLines:
    """Requests and answers, which nothing that an environment prints can disturb."""

    def __init__(self) -> None:
        requests, self._answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        self.requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=[requests], daemon=True).start()

    def _read(self, requests: Any) -> None:
        for line in requests:
            self.requests.put(json.loads(line))
        self.requests.put(None)
        time.sleep(LEAVING_S)
        os._exit(1)  # an environment that hangs does not outlive its owner

    def answer(self, **answer: Any) -> None:
        self._answers.write(json.dumps(answer).encode() + b"\n")
        self._answers.flush()


class Dialog:
    """Messages that a model has seen in an episode, so that it is sent only new ones."""

    def __init__(self, number: int, lines: RequestLines) -> None:
        self._number, self._lines = number, lines
        self._turn = asyncio.Lock()
        self._known: list[dict[str, Any]] = []
        self.said: asyncio.Future[dict[str, Any] | None] | None = None

    async def ask(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Answer of the model to these messages, all of the dialog so far; None where it has no turn left."""
        async with self._turn:
            self.said = asyncio.get_running_loop().create_future()
            self._lines.answer(episode=self._number, asks=self.new(messages) or messages, tools=tools)
            said = await self.said
            self._known = [*messages, *([said] if said else [])]
            return said

    def new(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Messages of a dialog that the model has not seen; all of them, where the dialog does not go on as it
        began."""
        pairs = zip(messages, self._known, strict=False)
        goes_on = all(_essence(message) == _essence(known) for message, known in pairs)
        return messages[len(self._known) :] if goes_on else messages


def _essence(message: dict[str, Any]) -> Any:
    """Alike for two writings of one message: packages add empty fields, and write text as parts."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(str(part.get("text", part)) for part in content)
    return message["role"], content, len(message.get("tool_calls") or [])


class LiveEpisodes:
    """Episodes that are being played."""

    def __init__(self, environment: Any, lines: RequestLines) -> None:
        self._environment, self._lines = environment, lines
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._dialogs: dict[int, Dialog] = {}

    async def serve(self) -> None:
        """Serves episodes until the owner has gone."""
        loop, own = asyncio.get_running_loop(), ThreadPoolExecutor(1)  # others' threads may all be taken
        while (request := await loop.run_in_executor(own, self._lines.requests.get)) is not None:
            number = request["episode"]
            if "row" in request:
                self._dialogs[number] = Dialog(number, self._lines)
                self._tasks[number] = loop.create_task(self._play(number, request["row"]))
            elif "stop" in request and number in self._tasks:
                self._tasks[number].cancel()
            elif "says" in request and number in self._tasks:
                said = self._dialogs[number].said
                if said is not None and not said.done():
                    said.set_result(request["says"])
        await self._environment.close()

    async def _play(self, number: int, row: int) -> None:
        try:
            outcome = await self._environment.episode(row, self._dialogs[number])
            json.dumps(outcome, allow_nan=False)
        except asyncio.CancelledError:
            outcome = {"failed": "it was stopped"}
        except BaseException as error:
            outcome = {"failed": f"{type(error).__name__}: {error}"}
        del self._tasks[number], self._dialogs[number]
        self._lines.answer(episode=number, **outcome)


def main() -> None:
    lines = RequestLines()
    if (request := lines.requests.get()) is None:
        return
    try:
        package = importlib.import_module(PACKAGES[sys.argv[1]])
    except ImportError as error:
        lines.answer(refused=f"{sys.executable}: {error}; launch/foreign.sh makes a Python that has what it takes")
        return
    sys.path += [folder for folder in request["path"] if folder not in sys.path]
    try:
        environment = package.load(request["load"], request["arguments"])
        lines.answer(loaded=environment.described())
    except BaseException as error:
        cause = f"; {type(error.__cause__).__name__}: {error.__cause__}" if error.__cause__ else ""
        lines.answer(refused=f"{type(error).__name__}: {error}{cause}")
        return
    asyncio.run(LiveEpisodes(environment, lines).serve())


if __name__ == "__main__":
    main()
