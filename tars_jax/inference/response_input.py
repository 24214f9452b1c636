"""The items of an input of OpenAI's responses as messages of a chat.

What is one answer of the policy stands in several items (reasoning, words, calls). They are one message of the chat
again: the text as it was sampled, where the server still knows it, so that the window of a recorded episode goes on;
else as the policy would have written it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tars_jax.inference.response_forms import Heard
from tars_jax.json_fields import is_text
from tars_jax.web.protocol import RequestFields

ANSWERS = ("reasoning", "computer_call", "function_call")
OUTPUTS = ("computer_call_output", "function_call_output")
_ROLES = ("user", "system", "developer", "assistant")
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")

ChatMessage = dict[str, Any]


class ScreenTurn(ChatMessage):
    """A message of the user that began with the screenshot of a call, words first: so our policies read a turn."""


def as_turns(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Messages, of which a screenshot that no answer stands before is of the turn that it was asked for in."""
    found: list[ChatMessage] = []
    for message in messages:
        if isinstance(message, ScreenTurn) and found and found[-1]["role"] == "user":
            said = found[-1]["content"]
            parts = [{"type": "text", "text": said}] if isinstance(said, str) else said
            found[-1] = ScreenTurn(role="user", content=_words_first([*parts, *message["content"]]))
        else:
            found.append(message)
    return found


def _words_first(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(parts, key=lambda part: part["type"] != "text")


class Input(NamedTuple):
    """Messages that an input adds to a conversation."""

    messages: list[ChatMessage]
    calls: frozenset[str]  # ids of calls that it holds


class InputReader:
    """Reads the items of an input, in order."""

    def __init__(
        self, known: Callable[[str], str | None], write: Callable[[Heard], str], calls: frozenset[str]
    ) -> None:
        """`known`: the text of the answer that an item with an id was of; `calls`: ids of the calls before."""
        self._known, self._write, self._calls = known, write, set(calls)
        self._messages: list[ChatMessage] = []
        self._answer: list[tuple[dict[str, Any], str]] = []  # the items of one answer, and their places
        self._shown: list[dict[str, Any]] = []  # parts of a turn that began with a screenshot

    def read(self, fields: RequestFields) -> Input:
        """The field `input`: a text, or items. Raises RequestError that names what is wrong."""
        given = fields.value("input")
        if is_text(given) and given:
            return Input([{"role": "user", "content": given}], frozenset(self._calls))
        if not isinstance(given, list) or not given:
            raise fields.error("input", "a text or an array of items")
        for index, item in enumerate(given):
            self._item(item, fields.param(f"input[{index}]"))
        self._flush()
        self._turn()
        return Input(self._messages, frozenset(self._calls))

    def _item(self, item: Any, place: str) -> None:
        each = RequestFields(item, place)
        kind = each.text("type", "message" if "role" in item else None)
        if kind in ANSWERS or kind == "item_reference" or (kind == "message" and item.get("role") == "assistant"):
            self._turn()
            if self._answer and self._text_of(item) not in (None, self._text_of(self._answer[0][0])):
                self._flush()
            self._answer.append((item, place))
            if kind in ANSWERS[1:]:
                self._calls.add(each.text("call_id"))
            return
        self._flush()
        if kind == "message":
            role = each.text("role")
            if role not in _ROLES:
                raise each.error("role", f"one of {', '.join(_ROLES)}")
            self._message(role, _parts(each, "content"))
        elif kind in OUTPUTS:
            id = each.text("call_id")
            if id not in self._calls:
                raise each.error("call_id", "that of a call before it")
            if kind == "computer_call_output":
                self._shown.append(_screenshot(each))
            else:
                self._turn()
                self._messages.append({"role": "tool", "tool_call_id": id, "content": _parts(each, "output")})
        else:
            raise each.error("type", f"one of message, {', '.join((*ANSWERS, *OUTPUTS))}, item_reference")

    def _message(self, role: str, content: Any) -> None:
        if not self._shown or role != "user":
            self._turn()
            self._messages.append({"role": role, "content": content})
        elif isinstance(content, str):
            self._shown.append({"type": "text", "text": content})
        else:
            self._shown += content

    def _turn(self) -> None:
        """A screenshot and what was said to it are one message."""
        if self._shown:
            self._messages.append(ScreenTurn(role="user", content=_words_first(self._shown)))
            self._shown = []

    def _flush(self) -> None:
        """The items of an answer as its text."""
        if not self._answer:
            return
        texts = [text for item, _ in self._answer if (text := self._text_of(item)) is not None]
        text = texts[0] if texts else self._written()
        if text:
            self._messages.append({"role": "assistant", "content": text})
        self._answer = []

    def _text_of(self, item: Mapping[str, Any]) -> str | None:
        ids = [str(item[name]) for name in ("id", "call_id") if item.get(name)]
        return next((text for id in ids if (text := self._known(id)) is not None), None)

    def _written(self) -> str:
        thoughts, words, calls = list[str](), list[str](), list[dict[str, Any]]()
        for item, place in self._answer:
            each = RequestFields(item, place)
            match item.get("type", "message"):
                case "item_reference":
                    raise each.error("id", "that of an item that this server still knows")
                case "reasoning":
                    thoughts += (_text(_parts(each, name)) for name in ("summary", "content") if item.get(name))
                case "message":
                    words.append(_text(_parts(each, "content")))
                case "function_call":
                    calls.append({"name": each.text("name"), "arguments": each.text("arguments", "{}")})
                case _:
                    actions = item.get("actions") or [item.get("action")]
                    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
                        raise each.error("actions", "an array of actions")
                    # A screenshot is shown at every turn: who asked for one has done nothing.
                    if acted := [action for action in actions if action.get("type") != "screenshot"]:
                        calls.append({"actions": acted})
        heard = Heard("\n".join(filter(None, thoughts)), "\n".join(filter(None, words)), tuple(calls))
        return self._write(heard) if calls else heard.words


def _parts(fields: RequestFields, name: str) -> Any:
    """Content as chat completions have it: a text, or parts."""
    content = fields.value(name)
    if is_text(content):
        return content
    if not isinstance(content, list) or not content:
        raise fields.error(name, "a text or an array of parts")
    parts: list[dict[str, Any]] = []
    for index, part in enumerate(content):
        each = RequestFields(part, fields.param(f"{name}[{index}]"))
        kind = each.text("type")
        if kind in _TEXTS:
            parts.append({"type": "text", "text": each.text("text")})
        elif kind == "refusal":
            parts.append({"type": "text", "text": each.text("refusal")})
        elif kind == "input_image":
            parts.append({"type": "image_url", "image_url": {"url": each.text("image_url")}})
        else:
            raise each.error("type", "input_text, output_text or input_image")
    return parts


def _screenshot(fields: RequestFields) -> dict[str, Any]:
    output = RequestFields(fields.value("output"), fields.param("output"))
    if output.text("type") not in ("computer_screenshot", "input_image"):
        raise output.error("type", "computer_screenshot")
    return {"type": "image_url", "image_url": {"url": output.text("image_url")}}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if isinstance(part, dict) and is_text(part.get("text")))
