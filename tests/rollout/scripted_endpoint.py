"""An endpoint that answers as a function says, and takes nothing that OpenAI's would not take."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pydantic
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.responses import ResponseInputItemParam, ToolParam
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tars_jax.inference.server import ServerConfig, serving

MESSAGES = pydantic.TypeAdapter(list[ChatCompletionMessageParam])
TOOLS = pydantic.TypeAdapter(list[ChatCompletionToolParam])
ITEMS: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(list[ResponseInputItemParam])
TOOL: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ToolParam)
Script = Callable[[Mapping[str, Any]], Any]  # an answer, or a whole response of HTTP


def call(name: str, arguments: Any, id: str | None = "c1") -> dict[str, Any]:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": written}}


def calling(*calls: Mapping[str, Any], words: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": words, "tool_calls": list(calls)}


def check(body: Mapping[str, Any]) -> None:
    """As OpenAI's endpoint checks: the types of its package, and that each call is answered at once and by its id."""
    # What was asked comes as JSON, of which pydantic would take an iterable lazily.
    list(MESSAGES.validate_python(body["messages"], strict=False))
    list(TOOLS.validate_python(body["tools"], strict=False))
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert len({*names}) == len(names) and all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in names)
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert isinstance(message["content"], str) and message["content"]
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"no tool message answers {waiting}"
        assert message["content"] or message.get("tool_calls")
        for each in message.get("tool_calls", ()):
            assert isinstance(json.loads(each["function"]["arguments"]), dict)
            assert re.fullmatch("[A-Za-z0-9_-]{1,64}", each["function"]["name"])
            waiting.append(each["id"])
        assert len({*waiting}) == len(waiting)
    assert not waiting, f"no tool message answers {waiting}"


@contextlib.contextmanager
def scripted(script: Script) -> Iterator[tuple[str, list[Any]]]:
    """Its address, and what it was asked. What breaks a rule is answered with 400, which ends a run."""
    asked: list[Any] = []

    async def complete(request: Request) -> Response:
        body = json.loads(await request.body())
        asked.append(body)
        try:
            check(body)
        except (AssertionError, ValueError, KeyError) as error:
            return JSONResponse({"error": {"message": f"broken rule: {error}"}}, 400)
        said = script(body)
        if isinstance(said, Response):
            return said
        finish = "tool_calls" if said.get("tool_calls") else "stop"
        return JSONResponse({"choices": [{"message": said, "finish_reason": finish}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        yield f"{address}/v1", asked


def check_response(body: Mapping[str, Any]) -> None:
    """As OpenAI's endpoint checks what responses are asked: types, and an output for each call behind it."""
    ITEMS.validate_python(body["input"])
    for tool in body["tools"]:
        TOOL.validate_python(tool)
    assert not {"messages", "seed"} & body.keys()
    waiting: list[str] = []
    for item in body["input"]:
        if item["type"] in ("computer_call_output", "function_call_output"):
            waiting.remove(item["call_id"])
            continue
        if item["type"] in ("computer_call", "function_call"):
            waiting.append(item["call_id"])
        if item["type"] == "function_call":
            assert isinstance(json.loads(item["arguments"]), dict)
        assert item["type"] != "message" or item.get("role") == "assistant" or not waiting, f"no output of {waiting}"
    assert not waiting, f"no output of {waiting}"


@contextlib.contextmanager
def scripted_responses(script: Script) -> Iterator[tuple[str, list[Any]]]:
    """As `scripted`, of responses: the script says the output's items, or the whole body."""
    asked: list[Any] = []

    async def respond(request: Request) -> Response:
        body = json.loads(await request.body())
        asked.append(body)
        try:
            check_response(body)
        except (AssertionError, ValueError, KeyError) as error:
            return JSONResponse({"error": {"message": f"broken rule: {error}"}}, 400)
        said = script(body)
        if isinstance(said, Response):
            return said
        return JSONResponse({"status": "completed", "output": said} if isinstance(said, list) else said)

    app = Starlette(routes=[Route("/v1/responses", respond, methods=["POST"])])
    with serving(app, ServerConfig(port=0)) as address:
        yield f"{address}/v1", asked
