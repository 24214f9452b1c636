"""OpenAI's computer tool for our policies: their prompt, and their text as calls and calls as text.

A policy of a run of ours writes the grammar that it was trained on, and is told nothing else. One that no run of ours
has made is told what can be called as tools, and writes calls as Qwen's weights do, which the tool grammar reads.

    finished(content='42')            the words 42, and no call: so that the client's loop ends
    an action that the tool has not   a call of the function of that name, if the client has given one; else words
    a text that cannot be read        the text, as words
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tars_jax.agent.actions import FUNCTIONS, Action, ActionError, CallUser, Finished, Point, ToolCall
from tars_jax.agent.calls import actions_from_call, parameter_of_field
from tars_jax.agent.computer_tool import FORMS, Size, computer_action, read_computer_action
from tars_jax.agent.functions import check_space
from tars_jax.agent.grammar import format_response, parse_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.observations import pixel_size
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS, platform_prompt
from tars_jax.agent.response import ParseError, Response
from tars_jax.agent.schemas import to_json
from tars_jax.agent.tool_schemas import action_tools, chat_tools, tools_prompt
from tars_jax.environment import ActionSpace, Function

CALL_USER = "I cannot go on without you."


class ToolPreamble(NamedTuple):
    """Preamble that tells a policy what it can call."""

    system: str = ""  # in the system message
    before: str = ""  # before the first words of the user
    tools: tuple[dict[str, Any], ...] = ()  # as chat completions have them


class AnswerParts(NamedTuple):
    """An answer, taken apart. Calls are `{"actions": [...]}` of the computer tool, or `{"name", "arguments"}`."""

    thought: str
    words: str
    calls: tuple[dict[str, Any], ...]


@dataclasses.dataclass(frozen=True)
class ComputerForm:
    """`grammar`: that a run of ours has trained; empty: none has."""

    grammar: str = ""
    list_actions: bool = False
    in_pixels: bool = False  # it points in pixels of its picture, as Qwen2.5-VL does

    @classmethod
    def of(cls, agent: Mapping[str, Any] | None) -> ComputerForm:
        """Makes the form from the section `agent` of a run's config."""
        if not agent:
            return cls()
        return cls(agent["grammar"], agent.get("list_actions", False), agent.get("coordinates") == "pixels")

    def told(self, environment: str, tools: Sequence[Mapping[str, Any]], *, screen: bool) -> ToolPreamble:
        """Tells the policy its function `tools`, as chat completions have them, and its screen if it has one.

        `environment`: that of the display, such as browser or linux; empty: the client has not said it.
        """
        if self.grammar and not self.list_actions:  # it knows actions; functions it must be told
            return ToolPreamble(tools=tuple(dict(tool) for tool in tools if tool["function"]["name"] not in FUNCTIONS))
        platform = "tools" if not screen else "browser" if environment == "browser" else "computer"
        space = _space(PLATFORM_ACTIONS[platform], tools, platform)
        if self.grammar:
            return ToolPreamble(before=platform_prompt(self.grammar, space, pixels=self.in_pixels))
        if not screen:
            return ToolPreamble(tools=tuple(map(dict, tools)))
        shown = ActionSpace(platform, tuple(name for name in space.actions if name in FORMS), space.functions)
        own = chat_tools(action_tools(dataclasses.replace(shown, functions=())))
        return ToolPreamble(system=tools_prompt(shown), tools=(*own, *map(dict, tools)))

    def read(self, text: str, tools: Sequence[Mapping[str, Any]], size: Size | None) -> AnswerParts:
        """An answer of the policy. `size`: of the display; None: there is none."""
        space = _space(FUNCTIONS, tools)
        parsed = parse_response(text, self._grammar(text), space=space, pixel_size=self._pixel_size(size))
        if isinstance(parsed, ParseError):
            return AnswerParts("", text, ())
        names = {tool["function"]["name"] for tool in tools}
        words: list[str] = []
        calls: list[dict[str, Any]] = []
        for action in parsed.actions:
            acted = None if size is None else computer_action(action, size)
            if isinstance(action, Finished | CallUser):
                said = action.content if isinstance(action, Finished) else CALL_USER
                words.append(said or parsed.thought or action.name)
            elif acted is not None and calls and "actions" in calls[-1]:
                calls[-1]["actions"].append(acted)
            elif acted is not None:
                calls.append({"actions": [acted]})
            elif action.name in names:
                calls.append({"name": action.name, "arguments": to_json(_arguments(action))})
            else:
                words.append(format_call(action))
        return AnswerParts(parsed.thought, "\n".join(words), tuple(calls))

    def write(self, heard: AnswerParts, tools: Sequence[Mapping[str, Any]], size: Size | None) -> str:
        """An answer as the policy would have written it: of a client's history, where nobody knows what it wrote."""
        space = _space(FUNCTIONS, tools)
        actions: list[Action] = []
        try:
            for call in heard.calls:
                if "actions" in call:
                    for each in call["actions"]:
                        actions += read_computer_action(each, space, size or (0, 0))
                else:
                    actions += actions_from_call(call["name"], json.loads(call["arguments"] or "{}"), space=space)
        except (ActionError, ValueError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
            return "\n".join([heard.words, *map(to_json, heard.calls)]).strip()
        thought = "\n".join(filter(None, (heard.thought, heard.words)))
        if not actions:
            return heard.words
        return format_response(
            Response(thought, tuple(actions)), self.grammar or "tool", space=space, pixel_size=self._pixel_size(size)
        )

    def _grammar(self, text: str) -> str:
        if self.grammar:
            return self.grammar
        return "text" if "Action:" in text and "_call>" not in text else "tool"

    def _pixel_size(self, size: Size | None) -> tuple[int, int] | None:
        if not self.in_pixels or size is None:
            return None
        height, width = pixel_size(size[1], size[0])
        return width, height


def _space(actions: Any, tools: Sequence[Mapping[str, Any]], platform: str = "browser") -> ActionSpace:
    """Actions and functions; of a function with the name of an action, the action.

    Raises InputError for a function that no grammar can write.
    """
    functions = {}
    for tool in tools:
        given = tool["function"]
        if given["name"] not in FUNCTIONS:
            schema = {"type": "object", **(given.get("parameters") or {})}
            functions[given["name"]] = Function(given["name"], given.get("description") or "", schema)
    space = ActionSpace(platform, tuple(actions), tuple(functions.values()))
    check_space(space)
    return space


def _arguments(action: Action) -> dict[str, Any]:
    """Arguments of a function call, as JSON."""
    if isinstance(action, ToolCall):
        return dict(action.parameters)
    found = {}
    for field in dataclasses.fields(action):
        value = getattr(action, field.name)
        if isinstance(value, Point):
            value = [value.x, value.y]
        elif isinstance(value, tuple):
            value = " ".join(value)
        if value is not None:
            found[parameter_of_field(field.name)] = value
    return found
