"""Answers of an endpoint that calls tools, as text in our grammars; and our text as calls of tools.

Calls that make actions are written canonically. Calls that make none (of an unknown function, with arguments that are
no JSON or of a wrong type) are written down as they came, all of them, so that reading the text says what is wrong, as
it does of any policy's text; where our grammars read such a text as something that means one thing, it is that.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.agent.actions import Action, ActionError, BadArgument
from tars_jax.agent.calls import actions_from_call, call_of
from tars_jax.agent.computer_tool import read_computer_action
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.grammar_text import quoted
from tars_jax.agent.response import ParseError, Response
from tars_jax.agent.schemas import read_json, to_json
from tars_jax.environment import ActionSpace

ELSEWHERE = "not carried out, as another call of this answer could not be read"
_SHOWN = 200  # characters of what was written that an error shows


@dataclasses.dataclass(frozen=True)
class NativeCall:
    """One call of an answer."""

    name: str  # of the space's function or action; what it called where it has none of that name
    written: str  # its arguments, as JSON text

    @property
    def arguments(self) -> Mapping[str, Any] | None:
        """None: the text is no JSON object. An empty text is one without members."""
        try:
            read = read_json(self.written) if self.written.strip() else {}
        except ValueError:
            return None
        return read if isinstance(read, dict) else None

    def actions(self, space: ActionSpace, pixel_size: tuple[float, float] | None) -> tuple[Action, ...]:
        """Actions of this call. Raises ActionError for calls or arguments that the action space does not have."""
        if (arguments := self.arguments) is None:
            shown = repr(self.written)[:_SHOWN]
            raise BadArgument(f"{self.name[:_SHOWN]}: the arguments must be a JSON object; got {shown}")
        return actions_from_call(self.name, arguments, space=space, pixel_size=pixel_size)


@dataclasses.dataclass(frozen=True)
class ComputerCall(NativeCall):
    """One action of OpenAI's computer tool; `written` is a list of it, so that no grammar reads it as arguments."""

    size: tuple[int, int]  # width and height of the display, in pixels

    @classmethod
    def of(cls, action: Any, size: tuple[int, int]) -> ComputerCall:
        kind = action.get("type") if isinstance(action, dict) else None
        return cls(kind if isinstance(kind, str) else "computer", json.dumps([action]), size)

    def actions(self, space: ActionSpace, pixel_size: tuple[float, float] | None) -> tuple[Action, ...]:
        return read_computer_action(json.loads(self.written)[0], space, self.size)


@dataclasses.dataclass(frozen=True)
class NativeAnswer:
    """An answer in our grammar. `errors`: of each call, what is wrong with it; empty where it is carried out."""

    text: str
    errors: tuple[str, ...]


def native_answer(
    words: str,
    calls: Sequence[NativeCall],
    grammar: str,
    space: ActionSpace,
    pixel_size: tuple[float, float] | None = None,
) -> NativeAnswer:
    """An endpoint's answer, `words` beside its `calls`, in the form that `parse_response` reads; words alone stay as
    they are.

    All calls are actions, or none is carried out.
    """
    if not calls:
        return NativeAnswer(words, ())
    actions: list[Action] = []
    errors = [""] * len(calls)
    for place, call in enumerate(calls):
        try:
            actions += call.actions(space, pixel_size)
        except ActionError as error:
            errors[place] = str(error)
    if not any(errors) and not actions:
        errors[-1] = "nothing was to be carried out"
    if not any(errors):
        response = Response(words, tuple(actions))
        return NativeAnswer(format_response(response, grammar, space=space, pixel_size=pixel_size), tuple(errors))
    text = _as_it_came(words, calls, grammar)
    if not isinstance(parse_response(text, grammar, space=space, pixel_size=pixel_size), ParseError):
        return NativeAnswer(text, ("",) * len(calls))
    return NativeAnswer(text, tuple(error or ELSEWHERE for error in errors))


def native_calls(response: Response, pixel_size: tuple[float, float] | None = None) -> list[NativeCall]:
    """The calls of a response that was no endpoint's: a person's, or another policy's."""
    calls = (call_of(action, pixel_size) for action in response.actions)
    return [NativeCall(name, to_json(parameters)) for name, parameters in calls]


def _as_it_came(words: str, calls: Sequence[NativeCall], grammar: str) -> str:
    if grammar == "tool":
        written = "".join(f"<seed:tool_call>{_json_call(call)}</seed:tool_call>" for call in calls)
        return f"<think>{words}</think>{written}" if words else written
    if all(call.arguments is not None for call in calls):
        written = "\n\n".join(map(_text_call, calls))
    else:  # as JSON, since in parentheses a text may read as an argument without its name
        written = f"[{', '.join(map(_json_call, calls))}]"
    return f"Thought: {words}\nAction: {written}" if words else f"Action: {written}"


def _json_call(call: NativeCall) -> str:
    return to_json({"name": call.name, "arguments": call.written if call.arguments is None else call.arguments})


def _text_call(call: NativeCall) -> str:
    arguments = ", ".join(
        f"{name}={quoted(value) if isinstance(value, str) else to_json(value)}"
        for name, value in (call.arguments or {}).items()
    )
    return f"{call.name}({arguments})"
