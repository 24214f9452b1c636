"""What policies are told can be written as it is told."""

from __future__ import annotations

import itertools
import re

import pytest

from tars_jax import InputError
from tars_jax.agent import ParseError, parse_response
from tars_jax.agent.actions import FUNCTIONS
from tars_jax.agent.grammar import GRAMMARS
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS, platform_prompt, platform_space
from tars_jax.environment import PLATFORMS, ActionSpace, Function

SEARCH = Function(
    "search",
    "Searches\nthe web.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "count": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
            "sites": {"type": "array", "items": {"type": "string"}},
            "code": {"type": "string", "pattern": "^[A-Z]{7}$"},  # no example that anybody would guess
        },
        "required": ["query"],
    },
)


def test_every_platform_has_its_actions() -> None:
    assert set(PLATFORM_ACTIONS) == set(PLATFORMS)
    assert set(itertools.chain(*PLATFORM_ACTIONS.values())) == set(FUNCTIONS)
    with pytest.raises(InputError, match="platform must be one of"):
        platform_space("fridge")


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_what_is_told_is_read(platform: str, grammar: str) -> None:
    space = platform_space(platform, (SEARCH, Function("look")))
    guide = platform_prompt(grammar, space)
    told, _, calls = guide.partition("in exactly this form:\n\n")
    example, *lists = calls.split("\n\n")
    found = parse_response(example, grammar, space=space)
    assert not isinstance(found, ParseError)
    assert ("Points are" in told) == (platform != "tools")
    if grammar == "text":
        rows = [row for row in "\n".join(lists).splitlines() if not row.startswith("  ") and not row.endswith("s:")]
        written = [f"Action: {row.split('  #')[0]}" for row in rows]
    else:
        functions = re.findall("<function=.*?</function>", "\n".join(lists), re.DOTALL)
        written = [f"<seed:tool_call>{function}</seed:tool_call>" for function in functions]
    names = []
    for text in written:
        found = parse_response(text, grammar, space=space)
        assert not isinstance(found, ParseError), (text, found)
        names.append(found.actions[0].name)
    assert sorted(names) == sorted([*space.actions, "search", "look"])


def test_functions_and_their_parameters() -> None:
    guide = platform_prompt("text", ActionSpace("tools", ("finished",), (SEARCH,)))
    assert guide == (
        "You act by calling functions, and read what they return. Answer with one action, in exactly this form:\n\n"
        "Thought: what you see and what you do next\nAction: search(query='...')\n\n"
        "Actions:\n"
        "finished(content='the answer')  # when the task is done, with the answer if one is asked for\n\n"
        "Functions:\n"
        "search(query='...')  # Searches the web.\n"
        "  query: a text; what to look for\n"
        "  count: optional, an integer of 1 to 10, 3 if left out\n"
        "  sites: optional, a list, each a text\n"
        "  code: optional, a text that matches '^[A-Z]{7}$'"
    )


def test_points_in_pixels() -> None:
    assert "Points are x y in pixels of the screenshot." in platform_prompt("text", pixels=True)
    assert "Points are x y on a grid from 0 to 1000" in platform_prompt("tool", platform_space("phone"))
