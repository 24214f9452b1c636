"""A session of an endpoint that calls tools: the agent loop's tokens go out as messages, and calls come back as text.

What can be called goes along as `tools`. What an answer's calls led to goes back as one message of `tool` for each
call, by its id: of the last one the observation's text, of a call that could not be read why not. The screenshot
follows in a message of the user, since many endpoints take text alone in a tool's message, and all take pictures there.

The policy's own messages are sent again as it wrote them, but for calls that an endpoint could not read again:
arguments that are no JSON object are sent as {}, a name that is none with other letters, an id that is missing as ours.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.native_answers import NativeAnswer, NativeCall, native_answer, native_calls
from tars_jax.agent.response import ParseError
from tars_jax.agent.tool_schemas import NATIVE, action_tools, chat_tools, tool_name, tools_prompt
from tars_jax.environment import ActionSpace
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.http_client import encoded_images
from tars_jax.inference.policy_client import Declined, MessageEndpoint, PolicyUnavailable, encodable
from tars_jax.inference.sampling import InvalidRequest, Sampled, Sampling, seed_of

NOTHING = "(no answer)"  # in place of an empty message, which some endpoints refuse
DONE = "done"
# Of a message what is sent again, beside its calls: reasoning that some endpoints must be given back.
_SENT_AGAIN = ("content", "reasoning", "reasoning_content", "reasoning_details")

PixelSize = Callable[[int, int], tuple[int, int]]


@dataclasses.dataclass(frozen=True)
class SentAnswer:
    """An answer, as text of ours and as its endpoint is sent it again."""

    text: str
    items: tuple[Mapping[str, Any], ...]  # messages, or items of a response
    calls: tuple[tuple[str, str], ...] = ()  # of each call its id, and what is wrong with it; "": nothing


class History:
    """The messages of a window, and what was said in them."""

    def __init__(self, turns: TurnFormat) -> None:
        self._turns = turns
        self._messages: list[Message] = []
        self._said: list[SentAnswer] = []

    def read(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> list[Message]:
        """The conversation that new tokens make; `wrote` goes on from it."""
        self._messages = [*([] if restart else self._messages), *self._turns.messages(tokens, images)]
        return self._messages

    def wrote(self, said: SentAnswer, finish: str) -> Sampled:
        """Records an answer; returns its text as tokens."""
        tokens = self._turns.answer(encodable(said.text))
        again = self._turns.messages(tokens, [])  # how a new window will show it
        text = "".join(part for message in again for part in message.parts if isinstance(part, str))
        self._said.append(dataclasses.replace(said, text=text))
        self._messages = [*self._messages, Message("assistant", (text,))]
        return Sampled(tuple(tokens), (0.0,) * len(tokens), (-1,) * len(tokens), finish=finish)

    def said(self, messages: Sequence[Message], otherwise: Callable[[str, int], SentAnswer]) -> list[SentAnswer]:
        """The answer behind each assistant message; for text that is not in this history, what `otherwise` makes of it
        and of its place."""
        texts = ["".join(map(str, each.parts)) for each in messages if each.role == "assistant"]
        before = len(self._said) - len(texts)  # a window shows the last of them
        return [
            self._said[before + place]
            if before + place >= 0 and self._said[before + place].text == text
            else otherwise(text, place)
            for place, text in enumerate(texts)
        ]


class NativeSession:
    """A session by chat completions with tools."""

    def __init__(
        self,
        client: MessageEndpoint,
        turns: TurnFormat,
        space: ActionSpace,
        grammar: str,
        seed: int,
        *,
        image_size: PixelSize | None = None,
        guide: bool = True,
    ) -> None:
        """`image_size`: as `AgentConfig` has it."""
        self._client, self._space, self._grammar, self._seed = client, space, grammar, seed % 2**31
        self._image_size, self._guide = image_size, guide
        self._functions = action_tools(space, pixels=image_size is not None)
        self._history = History(turns)
        self._size: tuple[int, int] | None = None  # (width, height) in whose pixels the policy points
        self._answers = 0

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        """Like `PolicySession.respond`. Raises InputError where the endpoint takes no tools."""
        if images and self._image_size is not None:
            height, width = self._image_size(*images[-1].shape[:2])
            self._size = width, height
        messages = self._history.read(tokens, images, restart=restart)
        seed = seed_of(self._seed, self._answers) if sampling is None or sampling.seed is None else sampling.seed
        body = {"messages": await self._wire(messages), "tools": chat_tools(self._functions), "seed": seed % 2**31}
        with naming_tools(NATIVE):
            found = await self._client.post("chat/completions", body)
        message, finish = _message_of(found)
        said = self._said_of(message)
        self._answers += 1
        return self._history.wrote(said, finish)

    def _said_of(self, message: Mapping[str, Any]) -> SentAnswer:
        calls, items = [], []
        for place, item in enumerate(message.get("tool_calls") or ()):
            called, id = called_function(item["function"], self._functions), str(item.get("id") or "")
            id = id or f"call_{self._answers}_{place}"
            calls.append((id, called))
            again = {"name": readable_name(item["function"]), "arguments": readable_arguments(called)}
            items.append({**item, "id": id, "type": "function", "function": again})
        words = text_of(message.get("content")).strip()
        thought = words or text_of(message.get("reasoning_content") or message.get("reasoning")).strip()
        answer = self._answer(thought if calls else words, [call for _, call in calls])
        sent = {"role": "assistant"} | {name: message[name] for name in _SENT_AGAIN if message.get(name)}
        if items:
            sent = {"content": None, **sent, "tool_calls": items}
        else:
            sent = {"content": NOTHING} | sent
        ids = tuple((id, error) for (id, _), error in zip(calls, answer.errors, strict=True))
        return SentAnswer(answer.text, (sent,), ids)

    def _answer(self, words: str, calls: Sequence[NativeCall]) -> NativeAnswer:
        return native_answer(words, calls, self._grammar, self._space, self._size)

    def _otherwise(self, text: str, place: int) -> SentAnswer:
        """Reads an answer that came from elsewhere, for instance from a person."""
        parsed = parse_response(text, self._grammar, space=self._space, pixel_size=self._size)
        if isinstance(parsed, ParseError):
            return SentAnswer(text, ({"role": "assistant", "content": text or NOTHING},))
        calls = native_calls(parsed, self._size)
        names = {function.name: name for name, function in self._functions.items()}
        ids = [f"earlier_{place}_{index}" for index in range(len(calls))]
        items = [
            {
                "id": id,
                "type": "function",
                "function": {"name": names.get(call.name, tool_name(call.name)), "arguments": call.written},
            }
            for id, call in zip(ids, calls, strict=True)
        ]
        sent = {"role": "assistant", "content": parsed.thought or None, "tool_calls": items}
        return SentAnswer(text, (sent,), tuple((id, "") for id in ids))

    async def _wire(self, messages: Sequence[Message]) -> list[Mapping[str, Any]]:
        pixels = self._image_size is not None
        wire: list[Mapping[str, Any]] = []
        if self._guide:
            wire.append({"role": "system", "content": tools_prompt(self._space, pixels=pixels)})
        answers, open_calls = iter(self._history.said(messages, self._otherwise)), tuple[tuple[str, str], ...]()
        for message in messages:
            if message.role == "assistant":
                said = next(answers)
                wire += said.items
                open_calls = said.calls
                continue
            text, shown = await content_of(message)
            if open_calls:
                told = results(open_calls, text)
                wire += [{"role": "tool", "tool_call_id": id, "content": result} for id, result in told]
                text, open_calls = "", ()
            parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
            parts += [{"type": "image_url", "image_url": {"url": url}} for url in shown]
            if parts:
                wire.append({"role": message.role, "content": parts if shown else text})
        return wire


async def content_of(message: Message) -> tuple[str, list[str]]:
    """The text of a message, and its pictures as data URLs."""
    text = "".join(part for part in message.parts if isinstance(part, str))
    return text, await encoded_images([part for part in message.parts if not isinstance(part, str)])


def results(calls: Sequence[tuple[str, str]], text: str) -> list[tuple[str, str]]:
    """Tool messages: each call's error or DONE; the last also carries the observation's text."""
    told = [(id, encodable(error)) for id, error in calls]
    id, error = told[-1]
    told[-1] = id, "\n".join(each for each in (error if error not in text else "", text.strip()) if each)
    return [(id, each or DONE) for id, each in told]


def called_function(function: Mapping[str, Any], known: Mapping[str, Any]) -> NativeCall:
    """A call on the wire, of `known` tools by their names there."""
    name, written = function.get("name"), function.get("arguments")
    name = name if isinstance(name, str) else ""
    if not isinstance(written, str):  # some servers send the object itself
        written = "" if written is None else json.dumps(written, ensure_ascii=False)
    return NativeCall(known[name].name if name in known else encodable(name), encodable(written))


def readable_name(function: Mapping[str, Any]) -> str:
    return tool_name(str(function.get("name") or ""))


def readable_arguments(call: NativeCall) -> str:
    """The call's arguments as JSON that an endpoint can read again; {} where they are no JSON object."""
    return call.written if call.arguments is not None and call.written.strip() else "{}"


@contextlib.contextmanager
def naming_tools(tools: str) -> Iterator[None]:
    """Re-raises endpoint errors about tools or /responses as errors of the config field that asks for them."""
    try:
        yield
    except Declined:
        raise
    except InvalidRequest as error:
        words = f"{error.field} {error}".lower()
        no_path = any(each in words for each in ("status 404", "not found", "/responses")) and "model" not in words
        if "tool" in words or no_path:
            raise InputError(
                f"config.tools must be text for an endpoint that takes no such tools; got {tools}: {error}"
            ) from error
        raise


def text_of(content: Any) -> str:
    """The text of a message's content, which may be a list of parts."""
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return encodable(content) if isinstance(content, str) else ""


def _message_of(found: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The message of a chat completion, and why it ended; what it calls that is no call is one of nothing.

    Raises PolicyUnavailable for what is no chat completion.
    """
    try:
        choice = found["choices"][0]
        message, finish = dict(choice["message"]), str(choice.get("finish_reason"))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise PolicyUnavailable(f"the endpoint's answer is no chat completion: {str(found)[:200]}") from error
    if not isinstance(message.get("content"), str | list | None):
        message["content"] = None
    calls = message.get("tool_calls") or []
    message["tool_calls"] = [
        each if isinstance(each, dict) and isinstance(each.get("function"), dict) else {"function": {}}
        for each in (calls if isinstance(calls, list) else [calls])
    ]
    return message, finish
