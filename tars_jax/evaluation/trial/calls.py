"""Calls that no player makes: at the edges of what an environment says that it takes, and beyond them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import ActionError, CallUser, Finished, ToolCall
from tars_jax.agent.functions import tool_call
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.platform_prompt import EXAMPLES, example_call
from tars_jax.agent.response import ParseError
from tars_jax.environment import ActionSpace, Function

UNKNOWN = "no_such_function"
# Values that a parameter is given; its schema refuses most of them.
VALUES: tuple[Any, ...] = ("", "?", "many words " * 200, None, True, -1, 0, 10**9, 0.5, [], ["?"], {}, {"?": 1})
MOST_CALLS = 40


@dataclasses.dataclass(frozen=True)
class TriedCall:
    """A call, as it is written, and the action that it is; or why no policy's call of this kind comes through."""

    written: str
    action: Any = None
    refused: str = ""


def unknown_call(space: ActionSpace) -> str:
    """Message to a policy that calls a function that does not exist."""
    parsed = parse_response(f"Action: {UNKNOWN}()", grammar="text", space=space)
    return parsed.message if isinstance(parsed, ParseError) else ""


def calls_of(space: ActionSpace) -> list[TriedCall]:
    """At most MOST_CALLS that come through, and those that do not: of each function with values of all kinds, one
    parameter after the other, or without it; and each action as the guide has it, those that end an episode last."""
    found = [call for function in space.functions for call in _of_function(function)]
    actions = [action for action, _ in EXAMPLES if action.name in space.actions]
    actions.sort(key=lambda action: isinstance(action, Finished | CallUser))
    through = [call for call in found if not call.refused][: MOST_CALLS - len(actions)]
    return [
        *through,
        *(TriedCall(format_call(action), action) for action in actions),
        *(call for call in found if call.refused),
    ]


def _of_function(function: Function) -> Iterator[TriedCall]:
    base = example_call(function)
    usual: Mapping[str, Any] = base.parameters if base is not None else {}
    if base is not None:
        yield TriedCall(format_call(base), base)
    names = dict.fromkeys([*function.parameters.get("properties", ()), *function.parameters.get("required", ())])
    for name in names:
        without = {other: value for other, value in usual.items() if other != name}
        for parameters in (without, *({**without, name: value} for value in VALUES)):
            if parameters != usual:
                yield _call(function, parameters)


def _call(function: Function, parameters: Mapping[str, Any]) -> TriedCall:
    written = format_call(ToolCall(function.name, parameters))
    try:
        return TriedCall(written, tool_call(function, parameters))
    except (ActionError, InputError) as error:
        return TriedCall(written, refused=str(error))
