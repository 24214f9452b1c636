"""Reading and printing responses in either grammar."""

from __future__ import annotations

import math

from tars_jax import InputError
from tars_jax.agent.grammar_plain import PLAIN, format_plain, parse_plain
from tars_jax.agent.grammar_text import format_text, parse_text
from tars_jax.agent.grammar_tool import format_tool, parse_tool
from tars_jax.agent.response import ParseError, Response
from tars_jax.environment import ActionSpace

GRAMMARS = ("text", "tool")  # of any calls
FORMS = (*GRAMMARS, PLAIN)


def parse_response(
    text: str,
    grammar: str = "text",
    *,
    space: ActionSpace | None = None,
    think_tag: str = "think",
    pixel_size: tuple[float, float] | None = None,
) -> Response | ParseError:
    """Reads what a policy wrote. Whatever the text, it never raises; linear in its length.

    Args:
      text: the sampled text of one turn.
      grammar: "text" (grammar_text.py) or "tool" (grammar_tool.py), or "plain" (grammar_plain.py).
      space: what can be done. Its functions become a `ToolCall` with typed arguments; functions and GUI actions that it
        lacks are `unknown_function`. Without a space: every GUI action, and no function.
      think_tag: the tag around the thought in the tool form and the plain one.
      pixel_size: (width, height) of the image that the policy saw, if it gives points in that image's pixels as models
        based on Qwen2.5-VL do (observations.py); the returned points lie on the grid of 0..1000.

    Raises:
      InputError: there is no such grammar, `think_tag` is no name, or `pixel_size` are no sides of an image.
    """
    if pixel_size is not None and not all(0 < side < math.inf for side in pixel_size):
        raise InputError(f"pixel_size must be a width and height above 0; got {pixel_size}")
    if grammar == "text":
        return parse_text(text, space=space, pixel_size=pixel_size)
    if grammar == "tool":
        return parse_tool(text, space=space, think_tag=think_tag, pixel_size=pixel_size)
    if grammar == PLAIN:
        return parse_plain(text, space=space, think_tag=think_tag)
    raise _unknown(grammar)


def format_response(
    response: Response,
    grammar: str = "text",
    *,
    space: ActionSpace | None = None,
    think_tag: str = "think",
    pixel_size: tuple[float, float] | None = None,
) -> str:
    """The canonical text of a response: `parse_response(format_response(r, g, space=s), g, space=s) == r`.

    With the `pixel_size` that `parse_response` takes, points are written in whole pixels of that image: what is read
    back lies within half a pixel.

    Only the tool form looks at the space: its values have no quotes, so that a text such as 5 is told from the number
    only where the schema does. Without a space it stands as it is.

    Raises:
      InputError: there is no such grammar, `think_tag` is no name, or the plain form is to say more than one text.
    """
    if grammar == "text":
        return format_text(response, pixel_size)
    if grammar == "tool":
        return format_tool(response, space=space, think_tag=think_tag, pixel_size=pixel_size)
    if grammar == PLAIN:
        return format_plain(response, think_tag)
    raise _unknown(grammar)


def _unknown(grammar: str) -> InputError:
    return InputError(f"grammar must be one of {', '.join(FORMS)}; got {grammar!r}")
