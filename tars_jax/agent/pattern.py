r"""Regular expressions of well-formed responses, for engines that sample nothing else.

They describe a part of what the grammars read, near the canonical form: every text that they match is parsed to typed
actions. Left out: in a thought, further lines that begin with A or a (so no line can be taken for `Action:`); in the
tool form, in thoughts and values, any `<` but before a space, a digit or `=`: patterns that allow more of them make
outlines-core's automaton too large; NUL (inference/constraint.py says why). Syntax: what Rust's `regex` and Python's
`re` have in common, without look-around.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from tars_jax import InputError
from tars_jax.agent.actions import (
    BUTTONS,
    DIRECTIONS,
    FUNCTIONS,
    GRID,
    MAX_HOTKEY_KEYS,
    MAX_WAIT_SECONDS,
    Finished,
)
from tars_jax.agent.calls import parameter_of_field
from tars_jax.agent.functions import check_space
from tars_jax.agent.grammar import FORMS
from tars_jax.agent.grammar_plain import PLAIN, require_text_call
from tars_jax.agent.keys import NAMED_KEYS
from tars_jax.agent.schema_pattern import QUOTED_TEXT, TAGGED_TEXT, Parameter, listed, parameter_patterns
from tars_jax.agent.value_patterns import any_of
from tars_jax.environment import ActionSpace

THOUGHTS = ("optional", "required", "never")  # before calls, under a constraint
_COORDINATE = rf"(?:[0-9]{{1,{len(str(GRID)) - 1}}}|{GRID})"
_POINT = rf"<point>{_COORDINATE} {_COORDINATE}</point>"
_SECONDS = "(?:" + "|".join(str(second) for second in range(1, int(MAX_WAIT_SECONDS) + 1)) + ")"
_NAMED_KEY = "|".join(sorted(NAMED_KEYS))
_QUOTED_KEY = rf"(?:{_NAMED_KEY}|[!-&(-@\[\]-~]|\\[\\'])"
_TAGGED_KEY = rf"(?:{_NAMED_KEY}|[!-;=-@\[-~])"
_THOUGHT_LINES = r"[^\x00\n]*(?:\n[ \t]*(?:[^\x00 \t\nAa][^\x00\n]*)?)*"


def response_pattern(
    grammar: str = "text",
    *,
    space: ActionSpace | None = None,
    thought: str = "optional",
    most_calls: int = 1,
) -> str:
    """The pattern of a whole response; `parse_response(text, grammar, space=space)` reads every text that it matches.

    Args:
      grammar: "text", "tool" or "plain".
      space: what can be called; every GUI action without one. Arguments of its functions are what their schemas allow
        (schema_pattern.py).
      thought: "optional", "required" or "never".
      most_calls: in one response.

    Raises:
      InputError: an argument has an unknown or impossible value, or a function has a schema that no pattern can say.
    """
    if grammar not in FORMS:
        raise InputError(f"grammar must be one of {', '.join(FORMS)}; got {grammar!r}")
    if thought not in THOUGHTS:
        raise InputError(f"thought must be optional, required or never; got {thought!r}")
    if most_calls < 1:
        raise InputError(f"most_calls must be at least 1; got {most_calls}")
    space = space or ActionSpace(actions=tuple(FUNCTIONS))
    check_space(space)

    tagged = f"<think>{TAGGED_TEXT}*</think>"
    if grammar == PLAIN:
        return _thought(thought, tagged) + _said(space)
    is_text = grammar == "text"
    calls = [(name, _parameters(name, is_text)) for name in space.actions]
    calls += [(function.name, parameter_patterns(function, is_text)) for function in space.functions]
    call = any_of(_text_call(*each) if is_text else _tool_call(*each) for each in calls)
    if is_text:
        before, written = f"Thought: {_THOUGHT_LINES}\n", rf"Action: {call}(?:\n\n{call}){{0,{most_calls - 1}}}"
    else:
        before, written = tagged, f"<seed:tool_call>{call}{{1,{most_calls}}}</seed:tool_call>"
    return _thought(thought, before) + written


def _thought(thought: str, pattern: str) -> str:
    return {"never": "", "required": pattern, "optional": f"(?:{pattern})?"}[thought]


def _said(space: ActionSpace) -> str:
    """The text of the plain form."""
    require_text_call(space)
    ((_, said, _),) = (
        parameter_patterns(space.functions[0], is_text=False) if space.functions else _parameters(Finished.name, False)
    )
    return said


def _parameters(name: str, is_text: bool) -> list[Parameter]:
    key = _QUOTED_KEY if is_text else _TAGGED_KEY
    values = {
        "keys": rf"{key}(?: {key}){{0,{MAX_HOTKEY_KEYS - 1}}}",
        "key": key,
        "direction": any_of(DIRECTIONS),
        "button": any_of(BUTTONS),
        "seconds": _SECONDS,
        "content": f"{QUOTED_TEXT if is_text else TAGGED_TEXT}*",
        "app_name": f"{QUOTED_TEXT if is_text else TAGGED_TEXT}*",
    }
    fields, quote = dataclasses.fields(FUNCTIONS[name]), "'" if is_text else ""
    return [
        (
            parameter_of_field(field.name),
            f"{quote}{values.get(field.name, _POINT)}{quote}",
            field.default is dataclasses.MISSING and "None" not in str(field.type),
        )
        for field in fields
    ]


def _text_call(name: str, parameters: Sequence[Parameter]) -> str:
    written = [(f"{re.escape(parameter)}={value}", required) for parameter, value, required in parameters]
    return rf"{re.escape(name)}\({listed(written)}\)"


def _tool_call(name: str, parameters: Sequence[Parameter]) -> str:
    body = "".join(
        rf"(?:<parameter={re.escape(parameter)}>{value}</parameter>){'' if required else '?'}"
        for parameter, value, required in parameters
    )
    return f"<function={re.escape(name)}>{body}</function>"
