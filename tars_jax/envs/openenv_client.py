"""`openenv`: an environment that a server of OpenEnv plays, over a WebSocket of its own.

    load_environment("openenv", {"address": "http://127.0.0.1:8000", "success_return": 1.0})

What its schema says of an action are the arguments of a function `act`; where its actions are calls of MCP tools,
each tool is a function. An observation is shown as text, a field a line, and a field `screenshot` (PNG, base64) as a
picture.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tars_jax import InputError
from tars_jax.agent import check_space
from tars_jax.agent.actions import FUNCTIONS
from tars_jax.environment import ActionSpace, EnvironmentFailure, Function, Observation, Task, Transition
from tars_jax.json_fields import short_repr
from tars_jax.sandbox.tools.names import folded, free_name
from tars_jax.web.client import NO_ANSWER, NOT_IN_FORM, failing_as, http_client

ACT = "act"
MOST_BYTES = 64 << 20  # of one message
_UNSAID = ActionSpace("tools", functions=(Function(ACT, "Acts in the environment."),))  # until the server says more
_ANSWERED_S = 30.0  # the schema's request
_WRONG = (*NO_ANSWER, *NOT_IN_FORM, WebSocketException)
_SILENT = ("metadata", "done", "reward", "screenshot")  # fields of an observation that no text shows


class OpenEnvEnvironment:
    """Plays one episode after another, all over one connection.

    `success` is what the metadata says under "success"; else whether the return has reached `success_return` at the
    end; without one, None. A server that refuses an action says why in the next observation, and the step counts.

    Args:
      address: http or https, where the server's /schema and /ws are.
      token: for servers that ask for one, sent as `Authorization: Bearer`.
      instruction: what to do; empty: what the episode's metadata says under "instruction", else the server's
        description.
      begins_with: fields of `reset` besides the seed.
      success_return: the least return of a success.

    Raises InputError for an address that is none.
    """

    time_limit = 300.0
    may_be_empty = True  # with tools, a reset often says nothing

    def __init__(
        self, address: str, token: str = "", instruction: str = "", begins_with: Mapping[str, Any] | None = None,
        success_return: float | None = None,
    ) -> None:  # fmt: skip
        if not address.startswith(("http://", "https://")):
            raise InputError(f"address must be http://HOST:PORT or https://HOST; got {address!r:.200}")
        self._address = address.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._begins_with, self._success_return = dict(begins_with or {}), success_return
        self._asked = instruction
        self.instruction, self.action_space = instruction, _UNSAID
        self._about = ""  # the server's description
        self._tools: dict[str, str] = {}  # by the names of functions
        self._by_tools = False
        self._socket: ClientConnection | None = None
        self._return = 0.0

    @staticmethod
    def success_return(options: Mapping[str, Any]) -> float | None:
        least: float | None = options.get("success_return")
        return least

    async def reset(self, task: Task) -> Observation:
        if self._socket is None:
            self._socket = await self._connected()
        self._return = 0.0
        try:
            begun = await self._ask("reset", {**self._begins_with, "seed": task.seed})
        except _Refused as refused:
            raise InputError(f"{self._address} must take the task; it said {refused}") from None
        said = _metadata(begun).get("instruction")
        self.instruction = self._asked or (said if isinstance(said, str) else "") or self._about
        if self._by_tools:
            self._tools, self.action_space = _functions(await self._ask("step", {"type": "list_tools"}))
        return _observation(begun, [_text(begun)])

    async def step(self, actions: Sequence[Any]) -> Transition:
        reward, turn, texts = 0.0, dict[str, Any](), list[str]()
        for action in actions:
            try:
                turn = await self._ask("step", self._written(action))
            except _Refused as refused:
                texts.append(f"{action.name}: {refused}")
                continue
            texts.append(_text(turn))
            reward += float(turn.get("reward") or 0.0)
            if turn.get("done"):
                break
        self._return += reward
        ended = bool(turn.get("done"))
        truncated = ended and _metadata(turn).get("truncated") is True
        success = self._success(_metadata(turn).get("success"), ended)
        return Transition(_observation(turn, texts), reward, ended and not truncated, truncated, success)

    async def close(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()

    async def _connected(self) -> ClientConnection:
        """Raises InputError for a server whose actions cannot be written, EnvironmentFailure for one that is away."""
        with failing_as(self._away, _WRONG):
            async with http_client(self._address, _ANSWERED_S, headers=self._headers) as client:
                schema = (await client.get(f"{self._address}/schema")).raise_for_status().json()["action"]
                self._about = str((await client.get(f"{self._address}/metadata")).json().get("description") or "")
            url = self._address.replace("http", "ws", 1) + "/ws"
            socket = await connect(url, additional_headers=self._headers, max_size=MOST_BYTES)
        properties = schema.get("properties", {})
        self._by_tools = properties.keys() <= {"metadata", "type"} or {"tool_name", "arguments"} <= properties.keys()
        if not self._by_tools:
            self.action_space = _checked(Function(ACT, schema.get("description", ""), _arguments(schema)))
        return socket

    async def _ask(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """The data of the answer. Raises _Refused for what the server does not take, EnvironmentFailure otherwise."""
        assert self._socket is not None
        try:
            with failing_as(self._away, _WRONG):
                await self._socket.send(json.dumps({"type": kind, "data": data}))
                answer = json.loads(await self._socket.recv())
                said, given = answer["type"], dict(answer["data"])
        except EnvironmentFailure:
            await self.close()  # what comes next would answer something else
            raise
        if said == "error" and given.get("code") == "VALIDATION_ERROR":
            raise _Refused(str(given.get("message")))
        if said == "error":
            raise EnvironmentFailure("exception", f"{self._address} answered {kind} with {given.get('message')!s:.300}")
        if said != "observation":
            raise EnvironmentFailure("protocol", f"{self._address} answered {kind} with {said} {short_repr(given)}")
        return given

    def _away(self, why: str) -> EnvironmentFailure:
        return EnvironmentFailure("connection", f"{self._address}: {why:.300}")

    def _written(self, action: Any) -> dict[str, Any]:
        if not self._by_tools:
            return dict(action.parameters)
        return {"type": "call_tool", "tool_name": self._tools[action.name], "arguments": dict(action.parameters)}

    def _success(self, said: Any, ended: bool) -> bool | None:
        if isinstance(said, bool):
            return said
        if self._success_return is None:
            return None
        return ended and self._return >= self._success_return


class _Refused(Exception):
    """The server does not take what was sent."""


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An action's schema without what no policy writes."""
    properties = {name: each for name, each in schema.get("properties", {}).items() if name != "metadata"}
    return {**schema, "type": "object", "properties": properties}


def _functions(listed: Mapping[str, Any]) -> tuple[dict[str, str], ActionSpace]:
    """Names of tools by those of functions, and what can be called. Raises EnvironmentFailure where there are none."""
    tools = _fields(listed).get("tools") or ()
    names: dict[str, str] = {}
    functions, taken = [], {folded(name) for name in FUNCTIONS}
    for tool in tools:
        name = free_name(tool["name"], "tool", taken)
        taken.add(folded(name))
        names[name] = tool["name"]
        functions.append(Function(name, tool.get("description") or "", tool.get("input_schema") or {"type": "object"}))
    if not functions:
        raise EnvironmentFailure("protocol", "a server whose actions are calls of tools must list one; got none")
    return names, _checked(*functions)


def _checked(*functions: Function) -> ActionSpace:
    space = ActionSpace("tools", functions=functions)
    check_space(space)
    return space


def _fields(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    observed = turn.get("observation")
    return observed if isinstance(observed, dict) else {}


def _metadata(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    said = turn.get("metadata") or _fields(turn).get("metadata")
    return said if isinstance(said, dict) else {}


def _text(turn: Mapping[str, Any]) -> str:
    """A field a line, `name: value`, and a text that is the only one as it is; of a tool's result its texts."""
    fields = _fields(turn)
    told = {name: value for name, value in fields.items() if name not in _SILENT and value not in (None, "")}
    if "tool_name" in told and isinstance(result := told.get("result"), dict) and "content" in result:
        texts = [part.get("text") or json.dumps(part, ensure_ascii=False) for part in result["content"]]
        return "\n".join(texts)
    if len(told) == 1 and isinstance(only := next(iter(told.values())), str):
        return only
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in told.items()
    )


def _observation(turn: Mapping[str, Any], texts: Sequence[str]) -> Observation:
    text = "\n".join(filter(None, texts))
    picture = _fields(turn).get("screenshot")
    if not isinstance(picture, str) or not picture:
        return Observation(text=text)
    try:
        return Observation(base64.b64decode(picture, validate=True), text)
    except binascii.Error as error:
        raise EnvironmentFailure("protocol", f"a screenshot must be base64; got {picture!r:.80}") from error
