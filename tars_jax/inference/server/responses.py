"""POST /v1/responses: OpenAI's responses with functions and the computer tool, as a thin layer over chat completions.

The conversation becomes messages of a chat, which answers and records it as any other; the text is taken apart into
reasoning, words and calls by the form that the policy acts in (`Served.computer`). Where the computer tool is given
and no screen has been shown, the answer is a call for a screenshot, and the policy is not asked.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tars_jax import InputError
from tars_jax.inference.data_urls import ImageUrl, image_size
from tars_jax.inference.response_forms import Heard, Size, Tools, WordsAlone, parse_response_tools
from tars_jax.inference.response_input import ChatMessage, InputReader, as_turns
from tars_jax.inference.response_output import output_items, response_events
from tars_jax.inference.server.chat import Chat
from tars_jax.inference.server.episodes import Episode, EpisodeEndpoints
from tars_jax.inference.server.response_store import ResponseStore, Stored
from tars_jax.inference.server.served import Served
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import EventStream, JsonResponse, read_json

MAX_PIXELS = 4096 * 4096
SCREENSHOT = Heard(calls=({"actions": [{"type": "screenshot"}]},))
# Fields that change nothing here, and fields that may be given as long as they ask for nothing.
WITHOUT_EFFECT = (
    "include", "metadata", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention", "reasoning",
    "safety_identifier", "service_tier", "stream_options", "truncation", "user", "max_tool_calls",
)  # fmt: skip
NEUTRAL = {"background": False, "conversation": None, "prompt": None, "top_logprobs": 0}
# How a request of chat completions calls what this one calls otherwise.
_FIELDS = {
    "messages": "input", "max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Asked:
    """A parsed request of the responses API."""

    before: Stored
    new: list[ChatMessage]
    calls: frozenset[str]
    tools: Tools
    size: Size | None  # of the display
    instructions: str | None
    options: dict[str, Any]  # of the chat completion
    fields: dict[str, Any]  # that the response states again
    stored: bool
    stream: bool

    @property
    def messages(self) -> list[ChatMessage]:
        return [*self.before.messages, *self.new]


class Responses:
    """Endpoints of the responses of a server."""

    def __init__(self, served: Served, chat: Chat, episodes: EpisodeEndpoints) -> None:
        self._chat, self._episodes, self._name = chat, episodes, served.name
        self._form = served.computer or WordsAlone()
        self._store = ResponseStore()

    async def create(self, request: Request) -> Response:
        episode = self._episodes.asking(request.headers)
        owner = "" if episode is None else episode.id
        fields = RequestFields(await read_json(request))
        try:
            asked = self._read(fields, episode, owner)
            body = await self._respond(asked, episode, owner)
        except InputError as error:  # of the form in which the policy acts: a function that it cannot write
            raise RequestError(str(error), "tools") from error
        return await EventStream.begin(_each(response_events(body))) if asked.stream else JsonResponse(body)

    async def show(self, request: Request) -> Response:
        return JsonResponse(self._store.get(self._owner(request), request.path_params["id"]).body)

    async def delete(self, request: Request) -> Response:
        id = request.path_params["id"]
        self._store.delete(self._owner(request), id)
        return JsonResponse({"id": id, "object": "response", "deleted": True})

    def _owner(self, request: Request) -> str:
        episode = self._episodes.of(request.headers)
        return "" if episode is None else episode.id

    def _read(self, fields: RequestFields, episode: Episode | None, owner: str) -> _Asked:
        """Raises RequestError that names what is wrong."""
        self._chat.require_model(fields.text("model"), episode)
        tools = parse_response_tools(fields)
        previous = fields.optional_text("previous_response_id")
        before = Stored() if previous is None else self._store.get(owner, previous, "previous_response_id")
        size = tools.display or self._size([*before.messages, fields.value("input")])

        def write(heard: Heard) -> str:
            return self._form.write(heard, tools.functions, size)

        reader = InputReader(lambda id: self._store.text(owner, id), write, before.calls)
        new, calls = reader.read(fields)
        instructions = fields.optional_text("instructions")
        stored, stream = fields.flag("store", True), fields.flag("stream")
        options = {name: fields.value(name) for name in ("temperature", "top_p", "top_k", "seed", "constraint")}
        options |= {"max_completion_tokens": fields.value("max_output_tokens"), **_format(fields)}
        options |= {"tool_choice": _choice(fields, tools)}
        for name, nothing in NEUTRAL.items():
            if fields.value(name) not in (None, nothing):
                raise fields.error(name, f"{nothing}, as this server does nothing else".replace("None", "null"))
        fields.ignore(WITHOUT_EFFECT)
        fields.done()
        stated = {
            "instructions": instructions,
            "max_output_tokens": fields.values.get("max_output_tokens"),
            "metadata": fields.values.get("metadata") or {},
            "previous_response_id": previous,
            "store": stored,
            "temperature": 1.0 if options["temperature"] is None else options["temperature"],
            "text": fields.values.get("text") or {"format": {"type": "text"}},
            "tool_choice": fields.values.get("tool_choice") or "auto",
            "tools": list(tools.given),
            "top_p": 1.0 if options["top_p"] is None else options["top_p"],
            "truncation": fields.values.get("truncation") or "disabled",
        }
        return _Asked(before, new, calls, tools, size, instructions, options, stated, stored, stream)

    async def _respond(self, asked: _Asked, episode: Episode | None, owner: str) -> dict[str, Any]:
        text, heard, finish, usage, fingerprint = "", SCREENSHOT, "stop", {}, None
        if not asked.tools.screen or next(_images(asked.messages), None) is not None:
            try:
                body = self._chat_body(asked)
                request = dataclasses.replace(self._chat.parse(body, episode), calls_apart=False)
                found = await self._chat.answer(request, episode)
            except RequestError as error:
                raise _renamed(error) from error
            (choice,) = found["choices"]
            text, finish, usage = choice["message"]["content"], choice["finish_reason"], found["usage"]
            heard = Heard(*self._form.read(text, asked.tools.functions, asked.size if asked.tools.screen else None))
            fingerprint = found["system_fingerprint"]
        items = output_items(heard, asked.tools.screen)
        self._store.remember(owner, [item[id] for item in items for id in ("id", "call_id") if id in item], text)
        read, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        now = int(time.time())
        body = {
            "id": f"resp_{secrets.token_hex(24)}",
            "object": "response",
            "created_at": now,
            "completed_at": now,
            "status": "incomplete" if finish == "length" else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if finish == "length" else None,
            "model": self._name,
            "output": items,
            "parallel_tool_calls": True,
            "reasoning": {"effort": None, "summary": None},
            "system_fingerprint": fingerprint,
            "usage": {
                "input_tokens": read,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": written,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": read + written,
            },
            **asked.fields,
        }
        if asked.stored:
            answer = [{"role": "assistant", "content": text}] if text else []
            calls = asked.calls | {item["call_id"] for item in items if "call_id" in item}
            self._store.put(owner, asked.before, [*asked.new, *answer], calls, body)
        return body

    def _chat_body(self, asked: _Asked) -> dict[str, Any]:
        tools = asked.tools
        told = self._form.told(tools.environment, tools.functions, screen=bool(tools.screen))
        messages = as_turns(asked.messages)
        if told.before:
            messages = _after(told.before, messages)
        if system := "\n\n".join(filter(None, (asked.instructions, told.system))):
            messages = [{"role": "system", "content": system}, *messages]
        listed = {"tools": list(told.tools)} if told.tools else {}
        return {"model": self._name, "messages": messages, **listed, **asked.options}

    def _size(self, value: Any) -> Size | None:
        """Size of the last picture; None where there is none."""
        shown = [*_images(value)]
        return image_size(ImageUrl(shown[-1], "input"), MAX_PIXELS) if shown else None


def _images(value: Any) -> Iterator[str]:
    """The addresses of all pictures in messages or items, in order."""
    if isinstance(value, dict):
        if isinstance(url := value.get("image_url"), str):
            yield url
        elif isinstance(url, dict) and isinstance(url.get("url"), str):
            yield url["url"]
        else:
            for each in value.values():
                yield from _images(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _images(each)


def _after(words: str, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The messages, with words before what the user says first."""
    found = list(messages)
    for place, message in enumerate(found):
        if message["role"] == "user":
            content = message["content"]
            said = (
                f"{words}\n\n{content}"
                if isinstance(content, str)
                else [{"type": "text", "text": f"{words}\n\n"}, *content]
            )
            found[place] = {**message, "content": said}
            break
    return found


def _format(fields: RequestFields) -> dict[str, Any]:
    """The field `text`: of a format, as chat completions have it."""
    if fields.value("text") is None:
        return {}
    text = RequestFields(fields.value("text"), fields.param("text"))
    text.ignore(("verbosity",))
    given = text.value("format")
    text.done()
    if isinstance(given, dict) and given.get("type") == "json_schema":
        return {
            "response_format": {"type": "json_schema", "json_schema": {k: v for k, v in given.items() if k != "type"}}
        }
    return {"response_format": given}


def _choice(fields: RequestFields, tools: Tools) -> Any:
    choice = fields.value("tool_choice")
    if choice in (None, "auto", "none"):
        return choice
    if tools.screen:
        raise fields.error("tool_choice", "auto or none beside the computer tool")
    if isinstance(choice, dict) and choice.get("type") == "function":
        return {"type": "function", "function": {"name": choice.get("name")}}
    return choice


def _renamed(error: RequestError) -> RequestError:
    """With the name that this request has for the field; of messages none knows the place among the items."""
    field = re.split(r"[.\[]", error.param or "")[0]
    param, message = _FIELDS.get(field) or error.param, error.message
    if param and field and message.startswith(field):
        message = param + message.removeprefix(field)
    return RequestError(message, param, status=error.status, code=error.code, headers=error.headers)


async def _each(events: Sequence[dict[str, Any]]) -> AsyncGenerator[dict[str, Any], None]:
    for event in events:
        yield event
