r"""Regular expressions of well-formed responses, for engines that sample nothing else.

They describe a part of what the grammars read, near the canonical form: every text that they match is parsed to typed
actions. Left out: in a thought, further lines that begin with A or a (so no line can be taken for `Action:`); in the
tool form, in thoughts and values, any `<` but before a space, a digit or `=`: patterns that allow more of them make
outlines-core's automaton too large. Syntax: what Rust's `regex` and Python's `re` have in common, without look-around.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from tars_jax import InputError
from tars_jax.agent.actions import (
    BUTTONS,
    DIRECTIONS,
    FUNCTIONS,
    GRID,
    MAX_HOTKEY_KEYS,
    MAX_WAIT_SECONDS,
    NAME_PATTERN,
)
from tars_jax.agent.calls import parameter_of_field
from tars_jax.agent.grammar import GRAMMARS
from tars_jax.agent.keys import NAMED_KEYS

_COORDINATE = rf"(?:[0-9]{{1,{len(str(GRID)) - 1}}}|{GRID})"
_POINT = rf"<point>{_COORDINATE} {_COORDINATE}</point>"
_SECONDS = "(?:" + "|".join(str(second) for second in range(1, int(MAX_WAIT_SECONDS) + 1)) + ")"
_NAMED_KEY = "|".join(sorted(NAMED_KEYS))
_QUOTED_TEXT = r"(?:[^'\\\n\r\t]|\\[\\'nrt])*"
_TAGGED_TEXT = r"(?:[^<]|<[ =0-9])*"
_QUOTED_KEY = rf"(?:{_NAMED_KEY}|[!-&(-@\[\]-~]|\\[\\'])"
_TAGGED_KEY = rf"(?:{_NAMED_KEY}|[!-;=-@\[-~])"
_THOUGHT_LINES = r"[^\n]*(?:\n[ \t]*(?:[^ \t\nAa][^\n]*)?)*"


def response_pattern(
    grammar: str = "text",
    *,
    functions: Collection[str] = tuple(FUNCTIONS),
    tools: Mapping[str, Sequence[str]] | None = None,
    thought: str = "optional",
    most_calls: int = 1,
) -> str:
    """The pattern of a whole response; `parse_response(text, grammar, tools=...)` reads every text that it matches.

    Args:
      grammar: "text" or "tool".
      functions: the GUI actions that may be called.
      tools: further functions and the names of their parameters, each of which may be left out.
      thought: "optional", "required" or "never".
      most_calls: in one response.

    Raises:
      InputError: an argument has an unknown or impossible value.
    """
    tools = tools or {}
    if grammar not in GRAMMARS:
        raise InputError(f"grammar takes {' or '.join(GRAMMARS)}, got {grammar!r}")
    if thought not in ("optional", "required", "never"):
        raise InputError(f"thought takes optional, required or never, got {thought!r}")
    if most_calls < 1 or not (functions or tools):
        raise InputError(f"a response takes a call, got most_calls {most_calls}, {len(functions)} functions")
    if unknown := sorted(set(functions) - set(FUNCTIONS)):
        raise InputError(f"functions: there is no GUI action {unknown[0]!r}")
    for name in (each for tool, parameters in tools.items() for each in (tool, *parameters)):
        if not re.fullmatch(NAME_PATTERN, name):
            raise InputError(f"tools: a name is letters, digits and . _ -, got {name!r}")

    is_text = grammar == "text"
    kinds = [(name, _parameters(name, is_text)) for name in functions]
    free = _QUOTED_TEXT if is_text else _TAGGED_TEXT
    kinds += [(name, [(parameter, free, False) for parameter in parameters]) for name, parameters in tools.items()]
    call = _any(_text_call(*kind) if is_text else _tool_call(*kind) for kind in kinds)
    if is_text:
        before, calls = f"Thought: {_THOUGHT_LINES}\n", rf"Action: {call}(?:\n\n{call}){{0,{most_calls - 1}}}"
    else:
        before, calls = f"<think>{_TAGGED_TEXT}</think>", f"<seed:tool_call>{call}{{1,{most_calls}}}</seed:tool_call>"
    return {"never": "", "required": before, "optional": f"(?:{before})?"}[thought] + calls


_Parameter = tuple[str, str, bool]  # its name, the pattern of its value, whether it must be given


def _parameters(name: str, is_text: bool) -> list[_Parameter]:
    key = _QUOTED_KEY if is_text else _TAGGED_KEY
    values = {
        "keys": rf"{key}(?: {key}){{0,{MAX_HOTKEY_KEYS - 1}}}",
        "key": key,
        "direction": _any(DIRECTIONS),
        "button": _any(BUTTONS),
        "seconds": _SECONDS,
        "content": _QUOTED_TEXT if is_text else _TAGGED_TEXT,
        "app_name": _QUOTED_TEXT if is_text else _TAGGED_TEXT,
    }
    fields = dataclasses.fields(FUNCTIONS[name])
    return [
        (
            parameter_of_field(field.name),
            values.get(field.name, _POINT),
            field.default is dataclasses.MISSING and "None" not in str(field.type),
        )
        for field in fields
    ]


def _text_call(name: str, parameters: Sequence[_Parameter]) -> str:
    written = [(f"{re.escape(parameter)}='{value}'", required) for parameter, value, required in parameters]
    return rf"{re.escape(name)}\({_listed(written)}\)"


def _tool_call(name: str, parameters: Sequence[_Parameter]) -> str:
    body = "".join(
        rf"(?:<parameter={re.escape(parameter)}>{value}</parameter>){'' if required else '?'}"
        for parameter, value, required in parameters
    )
    return f"<function={re.escape(name)}>{body}</function>"


def _listed(parameters: Sequence[tuple[str, bool]]) -> str:
    """Parameters in their order with ", " between those that are given."""
    firsts, optional = [], True
    for index, (parameter, required) in enumerate(parameters):
        rest = "".join(f"(?:, {each}){'' if needed else '?'}" for each, needed in parameters[index + 1 :])
        firsts.append(parameter + rest)
        if required:
            optional = False
            break
    return f"{_any(firsts)}{'?' if optional else ''}" if firsts else ""


def _any(patterns: Iterable[str]) -> str:
    return f"(?:{'|'.join(patterns)})"
