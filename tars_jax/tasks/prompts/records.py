"""One record as a prompt, in whatever form it says it.

    {"prompt": "2 + 3 =", "answer": "5"}                             a text, and columns that rewards compare with
    {"prompt": [{"role": "user", "content": ...}], "completion": [{"role": "assistant", ...}]}
    {"messages": [{"role": "system" | "user" | "assistant", "content": ...}, ...]}
    {"conversations": [{"from": "human" | "gpt" | "system", "value": ...}, ...]}         ShareGPT
    {"question": ..., "answer": ...}

Of a whole dialog the prompt is what stands before its last answer, or, where several turns are played, up to the user's
first message; what the record's assistant says next is shown by demonstrations, and the user's later messages follow
the policy's answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import is_text, short_repr

Message = Mapping[str, str]  # {"role", "content"}
_ROLES = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    "developer": "system",
    "human": "user",
    "gpt": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "function": "tool",
    "observation": "tool",
}
FORMS = ("prompt", "messages", "conversations", "question")


@dataclasses.dataclass(frozen=True)
class RecordForm:
    """Form of a data set's records."""

    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)  # a name above -> the column that is it
    system: str = ""  # a message before those that have none of their own
    several: bool = False  # turns


@dataclasses.dataclass(frozen=True)
class PromptRecord:
    """A prompt. Messages end with the user's."""

    messages: tuple[Message, ...]
    as_text: bool  # the record's prompt is a text: reward functions get it, and the completion, as texts
    replies: tuple[str, ...]  # of the user, after an answer each
    answers: tuple[str, ...]  # what the record's own assistant says, turn by turn; empty: nobody knows
    columns: Mapping[str, Any]  # JSON

    @property
    def instruction(self) -> str:
        return one_text(self.messages)

    @property
    def given(self) -> Any:
        """The record as reward functions take it."""
        return self.messages[-1]["content"] if self.as_text else [dict(message) for message in self.messages]


def one_text(messages: Sequence[Message]) -> str:
    """Messages as one text: a single one as it is, behind a system message; of several each with its role."""
    head = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    if len(rest) == 1:
        return "\n\n".join([*head, rest[0]["content"]])
    said = "\n".join(f"{message['role']}: {message['content']}" for message in rest)
    return "\n\n".join([*head, said])


def read_prompt(record: Mapping[str, Any], where: str, form: RecordForm) -> PromptRecord:
    """Raises InputError that begins with `where` and names the field for a record of no form, or with a broken one."""
    columns = {**record, **{name: _column(record, where, name, column) for name, column in form.columns.items()}}
    name = next((name for name in FORMS if columns.get(name) is not None), None)
    if name is None:
        has = ", ".join(map(str, record)) or "none"
        raise InputError(
            f"{where} must have one of the fields {', '.join(FORMS)}, or one that the option columns says is; got {has}"
        )
    given, place = columns[name], f"{where}: field {form.columns.get(name, name)}"
    as_text = name == "prompt" and isinstance(given, str)
    if isinstance(given, str):
        dialog = [_message("user", given, place)]
    else:
        dialog = [_read_message(each, f"{place}[{number}]") for number, each in enumerate(_list(given, place))]
    completed = columns.get("completion")
    if completed is not None:
        dialog += _completion(completed, f"{where}: field {form.columns.get('completion', 'completion')}")
    if form.system and all(message["role"] != "system" for message in dialog):
        dialog.insert(0, _message("system", form.system, "option system"))
    first, rest = _cut(dialog, form.several)
    if not first:
        raise InputError(f"{place} must hold a message of the user; got {short_repr(given)}")
    answers = _joined(rest, assistant=True)
    if not answers and isinstance(columns.get("answer"), str | int | float):
        answers = [str(columns["answer"])]
    return PromptRecord(tuple(first), as_text, tuple(_joined(rest, assistant=False)), tuple(answers), columns)


def _column(record: Mapping[str, Any], where: str, name: str, column: str) -> Any:
    if column not in record:
        raise InputError(
            f"{where} must have the field {column}, which the option columns says is {name}; "
            f"got {', '.join(map(str, record)) or 'none'}"
        )
    return record[column]


def _list(given: Any, place: str) -> Sequence[Any]:
    if not isinstance(given, list) or not given:
        raise InputError(f"{place} must be a text or a list of messages; got {short_repr(given)}")
    return given


def _read_message(given: Any, place: str) -> Message:
    said = given if isinstance(given, Mapping) else {}
    role, content = said.get("role", said.get("from")), said.get("content", said.get("value"))
    if not isinstance(role, str) or role not in _ROLES:
        raise InputError(f"{place} must have a role of {', '.join(_ROLES)}; got {short_repr(given)}")
    if isinstance(content, list):
        content = "\n".join(_text_part(part, place) for part in content)
    return _message(_ROLES[role], content, place)


def _text_part(part: Any, place: str) -> str:
    if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    raise InputError(f"{place} must be text alone, as prompts show no pictures; got {short_repr(part)}")


def _message(role: str, content: Any, place: str) -> Message:
    if not is_text(content) or (not content.strip() and role != "assistant"):
        raise InputError(
            f"{place} must be a text that says something, of characters that UTF-8 has; got {short_repr(content)}"
        )
    return {"role": role, "content": content}


def _completion(given: Any, place: str) -> list[Message]:
    if isinstance(given, str):
        return [_message("assistant", given, place)]
    return [_read_message(each, f"{place}[{number}]") for number, each in enumerate(_list(given, place))]


def _cut(dialog: Sequence[Message], several: bool) -> tuple[Sequence[Message], Sequence[Message]]:
    """The prompt, which ends with the user's words, and what comes after it."""
    users = [place for place, message in enumerate(dialog) if message["role"] in ("user", "tool")]
    if not users:
        return (), ()
    end = users[0] if several else users[-1]
    while several and end + 1 in users:
        end += 1
    return dialog[: end + 1], dialog[end + 1 :]


def _joined(messages: Sequence[Message], *, assistant: bool) -> list[str]:
    """The turns of one side: its messages in a row are one turn."""
    turns: list[str] = []
    for number, message in enumerate(messages):
        is_its = (message["role"] == "assistant") is assistant
        goes_on = number > 0 and (messages[number - 1]["role"] == "assistant") is assistant
        if is_its and goes_on:
            turns[-1] += f"\n{message['content']}"
        elif is_its:
            turns.append(message["content"])
    return turns
