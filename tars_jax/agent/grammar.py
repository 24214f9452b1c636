"""Reading and printing responses in either grammar."""

from __future__ import annotations

import math

from tars_jax import InputError
from tars_jax.agent.grammar_text import format_text, parse_text
from tars_jax.agent.grammar_tool import format_tool, parse_tool
from tars_jax.agent.response import ParseError, Response

GRAMMARS = ("text", "tool")


def parse_response(
    text: str,
    grammar: str = "text",
    *,
    tools: frozenset[str] = frozenset(),
    think_tag: str = "think",
    pixel_size: tuple[float, float] | None = None,
) -> Response | ParseError:
    """Reads what a policy wrote. Whatever the text, it never raises; linear in its length.

    Args:
      text: the sampled text of one turn.
      grammar: "text" (grammar_text.py) or "tool" (grammar_tool.py).
      tools: functions besides the GUI actions; they become a `ToolCall`. All others are `unknown_function`.
      think_tag: the tag around the thought in the tool form.
      pixel_size: (width, height) of the image that the policy saw, if it gives points in that image's pixels as models
        based on Qwen2.5-VL do (coordinates.py); the returned points lie on the grid of 0..1000.

    Raises:
      InputError: there is no such grammar, `think_tag` is no name, or `pixel_size` are no sides of an image.
    """
    if pixel_size is not None and not all(0 < side < math.inf for side in pixel_size):
        raise InputError(f"pixel_size takes a width and height above 0, got {pixel_size}")
    if grammar == "text":
        return parse_text(text, tools=tools, pixel_size=pixel_size)
    if grammar == "tool":
        return parse_tool(text, tools=tools, think_tag=think_tag, pixel_size=pixel_size)
    raise _unknown(grammar)


def format_response(response: Response, grammar: str = "text", *, think_tag: str = "think") -> str:
    """The canonical text of a response: `parse_response(format_response(r, g), g) == r`.

    Raises:
      InputError: there is no such grammar, or `think_tag` is no name.
    """
    if grammar == "text":
        return format_text(response)
    if grammar == "tool":
        return format_tool(response, think_tag=think_tag)
    raise _unknown(grammar)


def _unknown(grammar: str) -> InputError:
    return InputError(f"grammar takes {' or '.join(GRAMMARS)}, got {grammar!r}")
