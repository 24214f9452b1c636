"""A computer as an OpenEnv environment: each reset gives a new one, each action calls a function that agents know."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.sandbox.compat.openenv.episodes import Description, EpisodeTurn, InvalidAction
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.home import MOST_BYTES, MOST_FILES, File
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.forms import FUNCTIONS, Toolbox

TOOLS = ("execute_bash", "str_replace_editor", "JupyterCI")


def describe(tools: Sequence[str] = TOOLS) -> Description:
    functions = ", ".join(f"{name}: {FUNCTIONS[name].description}" for name in tools)
    action = {
        "type": "object",
        "title": "Action",
        "required": ["function"],
        "properties": {
            "function": {"type": "string", "enum": list(tools)},
            "arguments": {"type": "object"},
            "metadata": {"type": "object"},
        },
        "additionalProperties": False,
        "$defs": {name: dict(FUNCTIONS[name].parameters) for name in tools},  # of `arguments`, by the function
    }
    observation = {
        "type": "object",
        "title": "Observation",
        "required": ["text"],
        "properties": {
            "text": {"type": "string"},
            "images": {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}},
            "failed": {"type": "boolean", "description": "the call was none that could be done"},
        },
    }
    about = f"A private Linux computer. reset takes `files`, texts by their paths below the home folder. {functions}"
    return Description("tars_jax-computer", about, action, observation)


class ComputerEpisode:
    """Raises as `Episode`. There is no reward: what it was for, its user tells by its own means."""

    def __init__(self, computers: Computers, spec: ContainerSpec | None = None, tools: Sequence[str] = TOOLS) -> None:
        self._computers, self._spec, self._tools = computers, spec, tools
        self._computer: Computer | None = None
        self._toolbox: Toolbox | None = None

    async def reset(self, seed: int | None, options: Mapping[str, Any]) -> EpisodeTurn:
        files = _files(options)
        await self.close()
        self._computer = await self._computers.open(self._spec)
        await self._computer.put(files)
        self._toolbox = Toolbox(self._computer.machine, self._tools)
        return EpisodeTurn({"text": f"a new computer; the home folder is {self._computer.machine.home}", "images": []})

    async def step(self, action: Mapping[str, Any]) -> EpisodeTurn:
        if unknown := [name for name in action if name not in ("function", "arguments", "metadata")]:
            raise InvalidAction(f"an action must have function and arguments; got {unknown[0]!r:.80}")
        name, arguments = action.get("function"), action.get("arguments", {})
        if not isinstance(name, str) or name not in self._tools:
            raise InvalidAction(f"function must be one of {', '.join(self._tools)}; got {name!r:.80}")
        if not isinstance(arguments, dict):
            raise InvalidAction(f"arguments must be an object; got {arguments!r:.80}")
        if self._toolbox is None:
            raise SandboxFailure("container", "there is no computer")
        answer = await self._toolbox.call(name, arguments)
        images = [base64.b64encode(image).decode() for image in answer.images]
        return EpisodeTurn({"text": answer.text, "images": images, "failed": answer.failed})

    def state(self) -> Mapping[str, Any]:
        return {}

    async def close(self) -> None:
        computer, toolbox, self._computer, self._toolbox = self._computer, self._toolbox, None, None
        if computer is not None:
            try:
                if toolbox is not None:
                    await toolbox.__aexit__()
            except SandboxFailure:
                pass  # it is gone already
            finally:
                await computer.close()


def _files(options: Mapping[str, Any]) -> dict[str, File]:
    if unknown := [name for name in options if name != "files"]:
        raise InvalidAction(f"an option of reset must be seed, episode_id or files; got {unknown[0]!r:.80}")
    files = options.get("files") or {}
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise InvalidAction(f"files must be an object of texts by their paths; got {files!r:.80}")
    for path in files:
        if path.startswith("/") or "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
            raise InvalidAction(f"files must have paths below the home folder; got {path!r:.80}")
    try:
        put = {path: File(text.encode()) for path, text in files.items()}
    except UnicodeEncodeError as error:
        raise InvalidAction(f"files must be text with a UTF-8 form: {error.reason}") from error
    if len(put) > MOST_FILES or sum(len(file.data) for file in put.values()) > MOST_BYTES:
        raise InvalidAction(f"files must be at most {MOST_FILES}, of {MOST_BYTES} bytes in all; got more")
    return put
