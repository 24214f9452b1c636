"""OpenAI's chat completions on the wire: what a request may ask, and the forms of the answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tars_jax.inference.chat_template import Message, Part
from tars_jax.inference.data_urls import ImageUrl
from tars_jax.inference.tool_calls import list_tools, parse_calls, parse_tool_choice, parse_tools, split_calls
from tars_jax.json_fields import is_text, short_repr
from tars_jax.web.protocol import RequestError, RequestFields

ROLES = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}

# Fields that change nothing here, and fields that may be given as long as they ask for nothing.
WITHOUT_EFFECT = (
    "metadata", "parallel_tool_calls", "prediction", "prompt_cache_key", "prompt_cache_retention", "reasoning_effort",
    "safety_identifier", "service_tier", "store", "user", "verbosity",
)  # fmt: skip
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "audio": (),
    "functions": ([],),
    "function_call": ("none",),
    "modalities": (["text"],),
    "web_search_options": (),
}


MOST_TOKENS = 1 << 31  # of an answer, as a request may ask for; windows are shorter
ANY_OBJECT: dict[str, Any] = {"type": "object"}

# Of a message: what names it or answers a call, and what answers of other servers hold, which programs send on.
IGNORED = (
    "annotations", "audio", "cache_control", "function_call", "name", "provider_specific_fields", "reasoning",
    "reasoning_content", "refusal", "thinking_blocks", "tool_call_id",
)  # fmt: skip

RoleAndParts = tuple[str, tuple[str | ImageUrl, ...]]


@dataclasses.dataclass(frozen=True)
class ChatLimits:
    """Upper limits of a request's fields."""

    choices: int = 16
    images: int = 64
    pixels: int = 4096 * 4096  # of one image
    vocabulary: int = 1 << 30
    top_logprobs: int = 20  # that may be asked for beside each token


@dataclasses.dataclass(frozen=True)
class ChatRequest:
    model: str
    messages: tuple[RoleAndParts, ...]
    forced: tuple[dict[str, Any], ...]  # tools of which the answer must call one; none: it may say what it likes
    listed: tuple[dict[str, Any], ...]  # tools that the prompt lists, of which it may call one
    form: dict[str, Any] | None  # a JSON schema that the answer fits where it calls no tool; None: it may be any text
    temperature: float
    top_p: float
    top_k: int
    frequency_penalty: float
    presence_penalty: float
    logit_bias: tuple[tuple[int, float], ...]
    max_tokens: int | None
    seed: int | None
    constraint: str | None
    stops: tuple[str, ...]
    choices: int
    log_probs: bool
    top_log_probs: int
    token_ids: bool  # whether the tokens of prompt and answer are told, as vLLM tells them
    stream: bool
    include_usage: bool
    calls_apart: bool = True  # from the words of an answer; False: it is told as it was written

    @property
    def tools(self) -> bool:
        """Whether the prompt lists any, so that calls of them are told apart from words."""
        return bool(self.listed) and self.calls_apart

    @property
    def callable(self) -> tuple[dict[str, Any], ...]:
        """Tools that an answer of a certain form may call."""
        return self.forced or (self.listed if self.form is not None else ())

    @property
    def schema(self) -> dict[str, Any] | None:
        """JSON schema that the answer must match, or may match instead of calling a tool."""
        return None if self.forced else self.form

    @property
    def images(self) -> list[ImageUrl]:
        return [part for _, parts in self.messages for part in parts if isinstance(part, ImageUrl)]

    @property
    def characters(self) -> int:
        return sum(len(part) for _, parts in self.messages for part in parts if isinstance(part, str))

    def with_pixels(self, images: Sequence[np.ndarray]) -> list[Message]:
        """The messages, with the pixels of `images` in their places."""
        pixels = iter(images)

        def filled(part: str | ImageUrl) -> Part:
            return part if isinstance(part, str) else next(pixels)

        return [Message(role, tuple(map(filled, parts))) for role, parts in self.messages]


def parse_chat(body: Any, limits: ChatLimits) -> ChatRequest:
    """Reads the body of a chat completion; raises RequestError that names the field."""
    fields = RequestFields(body)
    messages = tuple(_message(message, f"messages[{index}]") for index, message in enumerate(_messages(fields)))
    tools = parse_tools(fields) if fields.value("tool_choice") != "none" else ()
    forced = parse_tool_choice(fields, tools)
    form = parse_response_format(fields)
    fields.ignore(("tools",))
    if tools:
        messages = _with_tools(messages, list_tools(tools))
    images = sum(isinstance(part, ImageUrl) for _, parts in messages for part in parts)
    if images > limits.images:
        raise RequestError(f"messages must hold at most {limits.images} images; got {images}", "messages")
    log_probs = fields.flag("logprobs")
    top_log_probs = fields.integer("top_logprobs", 0, 0, limits.top_logprobs) or 0
    if top_log_probs and not log_probs:
        raise fields.error("top_logprobs", "0 without logprobs")
    stream = fields.flag("stream")
    request = ChatRequest(
        model=fields.text("model"),
        messages=messages,
        forced=forced,
        listed=tools,
        form=form,
        temperature=fields.number("temperature", 1.0, 0.0, 2.0),
        top_p=_top_p(fields),
        top_k=fields.integer("top_k", 0, 0, limits.vocabulary) or 0,
        frequency_penalty=fields.number("frequency_penalty", 0.0, -2.0, 2.0),
        presence_penalty=fields.number("presence_penalty", 0.0, -2.0, 2.0),
        logit_bias=logit_bias(fields, limits.vocabulary),
        max_tokens=_max_tokens(fields, MOST_TOKENS),
        seed=_seed(fields),
        constraint=fields.optional_text("constraint"),
        stops=stop_sequences(fields),
        choices=fields.integer("n", 1, 1, limits.choices) or 1,
        log_probs=log_probs,
        top_log_probs=top_log_probs,
        token_ids=fields.flag("return_token_ids"),
        stream=stream,
        include_usage=_include_usage(fields, stream),
    )
    for name, values in NEUTRAL.items():
        value = fields.value(name)
        if value is not None and value not in values:
            raise fields.error(
                name, " or ".join(["null", *map(short_repr, values)]) + ", as this server does nothing else"
            )
    fields.ignore(WITHOUT_EFFECT)
    fields.done()
    return request


def parse_response_format(fields: RequestFields) -> dict[str, Any] | None:
    """The field `response_format`: a JSON schema that the answer has to fit, that of any object for JSON mode; None for
    text. Raises RequestError for another form.
    """
    given = fields.value("response_format")
    if given is None or given == {"type": "text"}:
        return None
    if fields.value("constraint") is not None:
        raise fields.error("response_format", "text beside a constraint")
    outer = RequestFields(given, fields.param("response_format"))
    kind = outer.text("type")
    if kind == "json_object":
        outer.done()
        return dict(ANY_OBJECT)
    if kind != "json_schema":
        raise outer.error("type", "text, json_object or json_schema")
    inner = RequestFields(outer.value("json_schema"), outer.param("json_schema"))
    if not isinstance(schema := inner.value("schema"), dict):
        raise inner.error("schema", "a JSON schema")
    inner.ignore(("name", "description", "strict"))  # it is always kept to
    inner.done()
    outer.done()
    return dict(schema)


def _messages(fields: RequestFields) -> list[Any]:
    messages = fields.array("messages", required=True)
    if not messages:
        raise fields.error("messages", "one message or more")
    return messages


def _with_tools(messages: tuple[RoleAndParts, ...], listed: str) -> tuple[RoleAndParts, ...]:
    """The list behind the words of a system message that the conversation begins with, or as one."""
    role, parts = messages[0]
    if role != "system":
        return (("system", (listed,)), *messages)
    return ((role, (*parts, f"\n\n{listed}")), *messages[1:])


def _message(value: Any, path: str) -> RoleAndParts:
    fields = RequestFields(value, path)
    role = fields.text("role")
    if role not in ROLES:
        raise fields.error("role", "one of " + ", ".join(ROLES))
    if fields.value("tool_calls") and role != "assistant":
        raise fields.error("tool_calls", "null in a message that is not the assistant's")
    calls = parse_calls(fields)
    content = fields.value("content")
    if content in (None, "", []) and ROLES[role] in (
        "assistant",
        "tool",
    ):  # an empty answer, a tool with nothing to say
        parts: tuple[str | ImageUrl, ...] = (calls,)
    elif is_text(content):
        parts = (f"{content}\n{calls}" if calls else content,)
    elif isinstance(content, list) and content:
        parts = tuple(_part(part, f"{path}.content[{index}]", role) for index, part in enumerate(content))
        parts += (f"\n{calls}",) if calls else ()
    else:
        raise fields.error("content", "text or an array of parts")
    fields.ignore(IGNORED)
    fields.done()
    return ROLES[role], parts


def message_of(message: Mapping[str, Any]) -> Message:
    """A message of an answer as `parse_chat` reads it when its client sends it again."""
    fields = {name: message[name] for name in ("role", "content", "tool_calls") if name in message}
    role, parts = _message(fields, "message")
    return Message(role, tuple(part for part in parts if isinstance(part, str)))


def _part(value: Any, path: str, role: str) -> str | ImageUrl:
    fields = RequestFields(value, path)
    kind = fields.text("type")
    if kind == "text":
        part: str | ImageUrl = fields.text("text")
    elif kind == "image_url" and role in ("user", "tool"):
        inner = RequestFields(fields.value("image_url"), f"{path}.image_url")
        part = ImageUrl(inner.text("url"), inner.param("url"))
        inner.ignore(("detail",))
        inner.done()
    else:
        raise fields.error("type", "text, or image_url in a message of the user")
    fields.ignore(("cache_control", "prompt_cache_breakpoint"))
    fields.done()
    return part


def _top_p(fields: RequestFields) -> float:
    top_p = fields.number("top_p", 1.0, 0.0, 1.0)
    if top_p == 0:
        raise fields.error("top_p", "a number above 0, at most 1")
    return top_p


def _seed(fields: RequestFields) -> int | None:
    seed = fields.integer("seed", None, -(2**63), 2**63 - 1)
    return None if seed is None else seed % 2**32


def _max_tokens(fields: RequestFields, most: int) -> int | None:
    old = fields.integer("max_tokens", None, 1, most)
    new = fields.integer("max_completion_tokens", None, 1, most)
    if old is not None and new is not None and old != new:
        raise fields.error("max_tokens", "the same as max_completion_tokens, or only one of them")
    return old if new is None else new


def _include_usage(fields: RequestFields, stream: bool) -> bool:
    if fields.value("stream_options") is None:
        return False
    if not stream:
        raise fields.error("stream_options", "null without stream")
    options = RequestFields(fields.value("stream_options"), "stream_options")
    include = options.flag("include_usage")
    options.flag("include_obfuscation")
    options.done()
    return include


class Chance(NamedTuple):
    """A token as clients see it, and its log-probability."""

    text: str
    spelled: bytes  # of a token that is a part of a character the text cannot tell
    log_prob: float

    def entry(self) -> dict[str, Any]:
        return {"token": self.text, "logprob": self.log_prob, "bytes": list(self.spelled)}


def log_probs_field(tokens: Iterable[tuple[Chance, Iterable[Chance]]]) -> dict[str, Any]:
    """The `logprobs` of a choice: of each token, and of what was likeliest in its place."""
    content = [{**token.entry(), "top_logprobs": [other.entry() for other in others]} for token, others in tokens]
    return {"content": content, "refusal": None}


def usage_field(prompt: int, completion: int) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def completion_choice(
    index: int,
    text: str,
    finish: str,
    log_probs: dict[str, Any] | None,
    tools: bool = False,
    token_ids: Sequence[int] | None = None,
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    words, calls = split_calls(text) if tools else (text, [])
    if calls:
        message |= {"content": words or None, "tool_calls": calls}
        finish = "tool_calls" if finish == "stop" else finish
    choice = {"index": index, "message": message, "logprobs": log_probs, "finish_reason": finish}
    return choice if token_ids is None else {**choice, "token_ids": list(token_ids)}


def chunk_choice(
    index: int,
    delta: dict[str, Any],
    log_probs: dict[str, Any] | None = None,
    finish: str | None = None,
    token_ids: Sequence[int] | None = None,
) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "logprobs": log_probs, "finish_reason": finish}
    return choice if token_ids is None else {**choice, "token_ids": list(token_ids)}


def call_deltas(place: int, call: dict[str, Any]) -> list[dict[str, Any]]:
    """The deltas of a call, the answer's `place`-th: first its name, then its arguments."""
    function = call["function"]
    begun = {**call, "index": place, "function": {**function, "arguments": ""}}
    return [
        {"tool_calls": [begun]},
        {"tool_calls": [{"index": place, "function": {"arguments": function["arguments"]}}]},
    ]


def stop_sequences(fields: RequestFields, most: int = 4) -> tuple[str, ...]:
    """OpenAI's `stop`: nothing, one string or a few."""
    value = fields.value("stop")
    stops: Sequence[Any] = () if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list | tuple) or len(stops) > most or not all(is_text(each) and each for each in stops):
        raise fields.error("stop", f"a text or up to {most} texts, none of them empty")
    return tuple(stops)


def logit_bias(fields: RequestFields, vocabulary: int) -> tuple[tuple[int, float], ...]:
    """OpenAI's `logit_bias`: {"50256": -100}, what is added to the logits of some tokens. 0 asks for nothing."""
    given = RequestFields(
        {} if fields.value("logit_bias") is None else fields.value("logit_bias"), fields.param("logit_bias")
    )
    found = []
    for name in given.names():
        token = int(name) if name.isascii() and name.isdecimal() and len(name) < 11 else -1
        if str(token) != name or token >= vocabulary:
            raise given.error(name, f"token ids below {vocabulary} as names")
        if added := given.number(name, 0.0, -100.0, 100.0):
            found.append((token, added))
    return tuple(found)
